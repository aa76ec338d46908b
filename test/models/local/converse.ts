import { create } from '@bufbuild/protobuf';
import { type ChatMessage, ChatMessageSchema, Role } from '../../../gen/spindle/v1/message_pb.ts';
import { type Tool, type ToolInput, ToolSchema } from '../../../gen/spindle/v1/tool_pb.ts';
import { createLocalModel } from '../../../src/models/local.ts';
import { checkArguments } from '../../../src/schema/arguments.ts';
import { compileSchema } from '../../../src/schema/compile.ts';
import { explainInput } from '../../../src/schema/explain.ts';
import { modelCall } from '../model-call.ts';

/** What a tool of a test answers: a JSON value, or an error. */
export type Answer = unknown;

export class ToolFailure extends Error {
  readonly code: string;
  constructor(message: string, code = 'tool_error') {
    super(message);
    this.code = code;
  }
}

export interface TestTool {
  readonly tool: Tool;
  readonly run: (args: Record<string, never>) => Answer;
}

export interface ToolShape {
  readonly properties?: Record<string, unknown>;
  readonly required?: readonly string[];
  readonly schema?: unknown;
  readonly output?: unknown;
  readonly readOnly?: boolean;
  readonly destructive?: boolean;
  readonly run?: (args: Record<string, never>) => Answer;
}

/** A tool for a conversation; all its properties are required unless it says which. */
export function tool(name: string, description: string, shape: ToolShape = {}): TestTool {
  const { properties = {}, required = Object.keys(properties), output, readOnly, destructive } = shape;
  const schema = shape.schema ?? { type: 'object', properties, required, additionalProperties: false };
  const annotations = {
    ...(readOnly === undefined ? {} : { readOnly }),
    ...(destructive === undefined ? {} : { destructive }),
  };
  return {
    tool: create(ToolSchema, {
      name,
      description,
      inputSchemaJson: JSON.stringify(schema),
      outputSchemaJson: output === undefined ? '' : JSON.stringify(output),
      annotations,
    }),
    run: shape.run ?? (() => 'done'),
  };
}

export interface Told {
  /** Each call as `name {json}`, one list for each iteration. */
  readonly steps: readonly (readonly string[])[];
  /** The model's last words. */
  readonly answer: string;
  readonly messages: readonly ChatMessage[];
}

const MAX_ITERATIONS = 20;

/** Speaks with the local model about tools until it makes no more calls, running each call it makes. */
export async function converse(
  tools: readonly TestTool[],
  said: string | readonly string[],
  { system = '', history = [] }: { readonly system?: string; readonly history?: readonly ChatMessage[] } = {},
): Promise<Told> {
  const model = createLocalModel();
  const messages: ChatMessage[] = [...history];
  if (system !== '') messages.push(message(Role.SYSTEM, system));
  const steps: string[][] = [];
  let answer = '';
  for (const text of [said].flat()) {
    messages.push(message(Role.USER, text));
    for (let iteration = 0; ; iteration += 1) {
      if (iteration === MAX_ITERATIONS) throw new Error(`still calling: ${JSON.stringify(steps)}`);
      const request = { model: 'local/demo', messages, tools: tools.map((each) => each.tool) };
      const answered = await model(modelCall(request, { callId: `m${steps.length}` }));
      if (answered.kind === 'failure') throw new Error(answered.failure.message);
      const spoken = answered.response.message;
      if (spoken === undefined) throw new Error('a response without a message');
      messages.push(spoken);
      const calls = spoken.parts.flatMap(({ kind }) => (kind.case === 'toolCall' ? [kind.value] : []));
      answer = spoken.parts
        .flatMap(({ kind }) =>
          kind.case === 'content' && kind.value.kind.case === 'text' ? [kind.value.kind.value.text] : [],
        )
        .join('');
      if (calls.length === 0) break;
      steps.push(calls.map((call) => `${call.name} ${call.arguments}`));
      for (const call of calls) {
        const called = tools.find((each) => each.tool.name === call.name);
        if (called === undefined) throw new Error(`the model called ${call.name}, which nobody offered`);
        const verdict = checkCall(called.tool, call.arguments);
        if (verdict.status.case !== 'valid') throw new Error(explainInput(call.name, verdict));
        messages.push(resultMessage(call, called));
      }
    }
  }
  return { steps, answer, messages };
}

/** The engine's verdict (1.2), also on its own tools, whose names nobody may register. */
export function checkCall(called: Tool, text: string): ToolInput {
  const compiled = compileSchema(called.inputSchemaJson);
  if (compiled.kind === 'faulty') throw new Error(compiled.fault.problem);
  return checkArguments(compiled.validator, text, { repair: false, stoppedForLength: false });
}

function message(role: Role, text: string): ChatMessage {
  return create(ChatMessageSchema, {
    role,
    parts: [{ kind: { case: 'content', value: { kind: { case: 'text', value: { text } } } } }],
  });
}

function resultMessage(
  call: { readonly callId: string; readonly name: string; readonly arguments: string },
  { run }: TestTool,
): ChatMessage {
  const ended = (): Parameters<typeof create<typeof ChatMessageSchema>>[1] => {
    try {
      const value = run(JSON.parse(call.arguments));
      const text = typeof value === 'string' ? value : JSON.stringify(value);
      const structured = typeof value === 'string' ? {} : { structuredJson: text };
      const result = { content: [{ kind: { case: 'text' as const, value: { text } } }], ...structured };
      return part({ case: 'result', value: result });
    } catch (error) {
      if (!(error instanceof ToolFailure)) throw error;
      return part({ case: 'error', value: { code: error.code, message: error.message } });
    }
  };
  const part = (outcome: object) => ({
    role: Role.TOOL,
    parts: [
      {
        kind: {
          case: 'toolResult' as const,
          value: { callId: call.callId, name: call.name, outcome: outcome as never },
        },
      },
    ],
  });
  return create(ChatMessageSchema, ended());
}
