import { z } from 'zod';
import { breaches, GOOGLE_RULES } from '../../schema/projection/schema-rules.ts';
import type { Answer } from './conversation.ts';
import type { Wire, WireEvent } from './server.ts';

/** https://ai.google.dev/api/generate-content */
const thoughtSignature = z.string().optional();
const inlineData = z.strictObject({ mimeType: z.string(), data: z.base64() });
const textPart = z.strictObject({ text: z.string(), thought: z.boolean().optional(), thoughtSignature });
const imagePart = z.strictObject({ inlineData });
const callPart = z.strictObject({
  functionCall: z.strictObject({
    id: z.string().optional(),
    name: z.string(),
    args: z.record(z.string(), z.unknown()),
  }),
  thoughtSignature,
});
const responsePart = z.strictObject({
  functionResponse: z.strictObject({
    id: z.string().optional(),
    name: z.string(),
    response: z.record(z.string(), z.unknown()),
    parts: z.array(z.strictObject({ inlineData })).optional(),
  }),
});
const content = z.discriminatedUnion('role', [
  z.strictObject({
    role: z.literal('user'),
    parts: z.array(z.union([textPart, imagePart, responsePart])).min(1),
  }),
  z.strictObject({ role: z.literal('model'), parts: z.array(z.union([textPart, callPart])).min(1) }),
]);
const body = z.strictObject({
  contents: z.array(content).min(1),
  systemInstruction: z
    .strictObject({ parts: z.array(z.strictObject({ text: z.string().min(1) })) })
    .optional(),
  generationConfig: z.record(z.string(), z.unknown()).optional(),
  tools: z
    .array(
      z.strictObject({
        functionDeclarations: z.array(
          z.strictObject({
            name: z.string().regex(/^[A-Za-z_][\w.:-]{0,63}$/),
            description: z.string(),
            parametersJsonSchema: z.unknown(),
          }),
        ),
      }),
    )
    .optional(),
  toolConfig: z.unknown().optional(),
});

type Body = z.output<typeof body>;

const FINISH = { stop: 'STOP', calls: 'STOP', length: 'MAX_TOKENS', filter: 'SAFETY' } as const;

export function googleWire(): Wire {
  // What Google documents for calls that came from elsewhere, and so have no signature.
  const issued = new Set(['skip_thought_signature_validator']);
  const remember = ({ reasoning }: Answer): void => {
    if (reasoning) issued.add(reasoning.signature);
  };
  return {
    check({ path, headers, body: given }) {
      if (!/^\/v1beta\/models\/[\w.-]+:(?:streamGenerateContent\?alt=sse|generateContent)$/.test(path))
        return [`no such path: ${path}`];
      if (headers['x-goog-api-key'] === undefined) return ['API key missing'];
      const parsed = body.safeParse(given);
      if (!parsed.success) return [z.prettifyError(parsed.error)];
      return [...conversationFaults(parsed.data, issued), ...toolFaults(parsed.data)];
    },
    wantsStream: ({ path }) => path.includes(':streamGenerateContent'),
    events(answer) {
      remember(answer);
      return eventsOf(answer);
    },
    terminator: '',
    whole(answer) {
      remember(answer);
      const parts = partsOf(answer, true);
      return chunk(answer, parts, true);
    },
    error: (status, message) => ({
      error: { code: status, message, status: status === 429 ? 'RESOURCE_EXHAUSTED' : 'INVALID_ARGUMENT' },
    }),
    errorEvent: (message) => ({ data: { error: { code: 503, message, status: 'UNAVAILABLE' } } }),
  };
}

function conversationFaults({ contents }: Body, issued: ReadonlySet<string>): string[] {
  const faults: string[] = [];
  if (contents[0]?.role !== 'user') faults.push('the first content must be of the user');
  for (const [at, { role, parts }] of contents.entries()) {
    const before = contents[at - 1];
    const called =
      before?.role === 'model'
        ? before.parts.flatMap((part) => ('functionCall' in part ? part.functionCall : []))
        : [];
    const answered = parts.flatMap((part) => ('functionResponse' in part ? part.functionResponse : []));
    if (role === 'user' && called.length !== answered.length) {
      faults.push(
        `contents[${at}]: the number of function response parts must equal the number of function call parts of the function call turn`,
      );
    }
    for (const [index, { name, id }] of answered.entries()) {
      if (called[index]?.name !== name || called[index]?.id !== id)
        faults.push(`contents[${at}]: a function response answers no function call`);
    }
    for (const part of parts) {
      if (
        'thoughtSignature' in part &&
        part.thoughtSignature !== undefined &&
        !issued.has(part.thoughtSignature)
      ) {
        faults.push(`contents[${at}]: thought signature is not valid`);
      }
    }
    const first = parts.find((part) => 'functionCall' in part);
    if (
      issued.size > 0 &&
      first !== undefined &&
      'functionCall' in first &&
      first.thoughtSignature === undefined
    ) {
      faults.push(`contents[${at}]: function call is missing a thought_signature`);
    }
    if (role === 'model' && parts.some((part) => 'functionCall' in part) && contents[at + 1] === undefined) {
      faults.push(`contents[${at}]: a function call turn must be followed by a function response turn`);
    }
  }
  return faults;
}

function toolFaults({ tools = [] }: Body): string[] {
  const declarations = tools.flatMap(({ functionDeclarations }) => functionDeclarations);
  const names = declarations.map(({ name }) => name);
  return [
    ...(new Set(names).size < names.length ? ['duplicate function declaration'] : []),
    ...declarations.flatMap(({ name, parametersJsonSchema }) =>
      breaches(parametersJsonSchema, GOOGLE_RULES, name),
    ),
  ];
}

function chunk({ id, finish, usage }: Answer, parts: readonly object[], last: boolean): object {
  return {
    candidates: [
      { content: { role: 'model', parts }, index: 0, ...(last ? { finishReason: FINISH[finish] } : {}) },
    ],
    usageMetadata: {
      promptTokenCount: usage.input,
      candidatesTokenCount: usage.output - usage.reasoning,
      thoughtsTokenCount: usage.reasoning,
      cachedContentTokenCount: usage.cached,
      totalTokenCount: usage.input + usage.output,
    },
    modelVersion: 'gemini-test',
    responseId: id,
  };
}

/** The signature of reasoning is on the first call, or on the text. */
function partsOf({ reasoning, text, calls }: Answer, joined: boolean): object[] {
  const texts = joined ? [text.join('')].filter((piece) => piece !== '') : text;
  const signed = reasoning ? { thoughtSignature: reasoning.signature } : {};
  return [
    ...(reasoning?.text ?? []).map((piece) => ({ text: piece, thought: true })),
    ...texts.map((piece, at) => ({
      text: piece,
      ...(calls.length === 0 && at === texts.length - 1 ? signed : {}),
    })),
    ...calls.map(({ id, name, arguments: pieces }, at) => ({
      functionCall: { ...(id === '' ? {} : { id }), name, args: JSON.parse(pieces.join('') || '{}') },
      ...(at === 0 ? signed : {}),
    })),
  ];
}

function eventsOf(answer: Answer): WireEvent[] {
  const parts = partsOf(answer, false);
  return [
    ...parts.map((part) => ({ data: chunk(answer, [part], false) })),
    { data: chunk(answer, [{ text: '' }], true) },
  ];
}
