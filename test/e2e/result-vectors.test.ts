import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { AnswerVerdict, type Content, type ContentSchema } from '../../gen/spindle/v1/result_pb.ts';
import type { CallToolResponse } from '../../gen/spindle/v1/tool_service_pb.ts';
import { text } from '../../src/sdk/index.ts';
import { createWorker, defineTool, type Worker } from '../../src/sdk/worker/index.ts';
import { openEngine, type TestEngine } from './engine.ts';
import { method } from './raw-client.ts';
import type { Outcome, RawWorker } from './raw-worker.ts';

// Strict: a vector of a new shape must fail here until this file knows it.
const TextBlock = z.strictObject({ text: z.string() });
const ImageBlock = z.strictObject({
  image: z.strictObject({ data_base64: z.string(), mime_type: z.string() }),
});
const ResourceBlock = z.strictObject({
  resource: z.strictObject({ uri: z.string(), mime_type: z.string(), data_base64: z.string() }),
});
const Block = z.union([TextBlock, ImageBlock, ResourceBlock]);
const Blob = z.strictObject({ uri: z.string(), mime_type: z.string(), size_bytes: z.number() });
const ExpectedBlock = z.union([
  TextBlock,
  z.strictObject({ blob: Blob }),
  z.strictObject({ resource: z.strictObject({ uri: z.string(), mime_type: z.string(), blob: Blob }) }),
]);
const Result = z.strictObject({
  content: z.array(Block).optional(),
  structured_json: z.string().optional(),
  is_error: z.boolean().optional(),
});
const Named = { name: z.string().min(1), rule: z.string().regex(/^3\.\d$/) };
const Expected = z.discriminatedUnion('end', [
  z.strictObject({
    end: z.literal('result'),
    content: z.array(ExpectedBlock).optional(),
    structured_json: z.string().optional(),
    is_error: z.boolean().optional(),
  }),
  z.strictObject({ end: z.literal('error'), code: z.string(), retryable: z.boolean() }),
  z.strictObject({ end: z.literal('refused'), names: z.array(z.string()).min(1) }),
]);
const Answered = z.strictObject({
  ...Named,
  answer: z.union([z.strictObject({ value_json: z.string() }), z.strictObject({ result: Result })]),
  output_schema: z.union([z.null(), z.record(z.string(), z.unknown())]),
  expect: Expected,
});
const Texts = z.strictObject({ content: z.array(TextBlock) });
const Returned = z.strictObject({
  ...Named,
  returned: z.strictObject({ content: z.array(TextBlock), result: Texts.optional() }),
  output_schema: z.null(),
  expect: Expected,
});
const vectors = z
  .strictObject({ about: z.string(), vectors: z.array(z.union([Answered, Returned])).min(1) })
  .parse(JSON.parse(readFileSync(join(import.meta.dirname, '../vectors/results.json'), 'utf8'))).vectors;
const answered = vectors.flatMap((vector, index) => ('answer' in vector ? [{ ...vector, index }] : []));
const returned = vectors.flatMap((vector, index) => ('returned' in vector ? [{ ...vector, index }] : []));

let engine: TestEngine;
let worker: RawWorker;
let sdkWorker: Worker;
let running: Promise<void>;

beforeAll(async () => {
  engine = await openEngine();
  worker = await engine.worker(
    answered.map(({ index, output_schema }) => ({
      name: `vector-${index}`,
      outputSchemaJson: output_schema === null ? '' : JSON.stringify(output_schema),
    })),
  );
  sdkWorker = createWorker({
    address: engine.address,
    tools: returned.map(({ index, returned: value }) =>
      defineTool({
        name: `vector-${index}`,
        description: 'Returns what the vector says.',
        jsonSchema: { type: 'object' },
        execute: () => ({
          content: value.content.map((block) => text(block.text)),
          ...(value.result === undefined ? {} : { result: value.result }),
        }),
      }),
    ),
    onStatus: () => undefined,
    signals: [],
  });
  running = sdkWorker.run();
  await sdkWorker.ready;
});
afterAll(async () => {
  await sdkWorker.stop();
  await running;
  await engine[Symbol.asyncDispose]();
});

function outcomeOf(answer: z.infer<typeof Answered>['answer']): Outcome {
  if ('value_json' in answer) return { case: 'valueJson', value: answer.value_json };
  const { content = [], structured_json: structuredJson, is_error: isError = false } = answer.result;
  return {
    case: 'result',
    value: {
      content: content.map(blockOf),
      isError,
      ...(structuredJson === undefined ? {} : { structuredJson }),
    },
  };
}

function blockOf(block: z.infer<typeof Block>): MessageInitShape<typeof ContentSchema> {
  if ('text' in block) return { kind: { case: 'text', value: { text: block.text } } };
  if ('image' in block) {
    const { data_base64, mime_type: mimeType } = block.image;
    return { kind: { case: 'image', value: { data: Buffer.from(data_base64, 'base64'), mimeType } } };
  }
  const { uri, mime_type: mimeType, data_base64 } = block.resource;
  const body = { case: 'data', value: Buffer.from(data_base64, 'base64') } as const;
  return { kind: { case: 'resource', value: { uri, mimeType, body } } };
}

/** A recorded block in the words of the vectors. */
function wordsOf({ kind }: Content): unknown {
  const blob = ({ uri, mimeType, sizeBytes }: { uri: string; mimeType: string; sizeBytes: bigint }) => ({
    uri,
    mime_type: mimeType,
    size_bytes: Number(sizeBytes),
  });
  switch (kind.case) {
    case 'text':
      return { text: kind.value.text };
    case 'blob':
      return { blob: blob(kind.value) };
    case 'resource': {
      const { uri, mimeType, body } = kind.value;
      return {
        resource: { uri, mime_type: mimeType, ...(body.case === 'blob' ? { blob: blob(body.value) } : {}) },
      };
    }
    default:
      return kind.case;
  }
}

/** The end of a call in the words of the vectors. */
function endOf({ outcome }: CallToolResponse) {
  if (outcome.case !== 'result') {
    return { end: outcome.case, code: outcome.value?.code, retryable: outcome.value?.retryable };
  }
  const { content, structuredJson, isError } = outcome.value;
  return { end: 'result', content: content.map(wordsOf), structured_json: structuredJson, is_error: isError };
}

/** The bytes that an answer carries. */
function bytesOf({ answer }: (typeof answered)[number]): Buffer[] {
  const blocks = 'result' in answer ? (answer.result.content ?? []) : [];
  return blocks.flatMap((block) => {
    const media = 'image' in block ? block.image : 'resource' in block ? block.resource : undefined;
    return media === undefined ? [] : [Buffer.from(media.data_base64, 'base64')];
  });
}

describe('the vectors of results, from a raw worker to a raw client', () => {
  it.each(answered.map((vector) => [vector.rule, vector.name, vector] as const))(
    '%s: %s',
    async (_, __, vector) => {
      const name = `vector-${vector.index}`;
      const calling = engine.client.call(method.callTool, { name, arguments: '{}', callId: name });
      const { leaseToken } = await worker.work(name);
      const ack = await worker.answer(leaseToken, outcomeOf(vector.answer));
      const end = await calling;
      expect(endOf(end)).toMatchObject(vector.expect);
      expect(ack.verdict).toBe(
        vector.expect.end === 'result' ? AnswerVerdict.RECORDED : AnswerVerdict.REFUSED,
      );

      for (const bytes of bytesOf(vector)) {
        const uri = `blob:sha256-${createHash('sha256').update(bytes).digest('hex')}`;
        expect(JSON.stringify(endOf(end))).toContain(uri);
        const reading = engine.client.stream(method.readBlob, { uri });
        expect((await reading.status).code).toBe(0);
        expect(Buffer.concat(reading.all.map(({ data }) => data))).toEqual(bytes);
      }
    },
  );

  it('3.3: two of them carry bytes', () => {
    expect(answered.flatMap(bytesOf)).toHaveLength(2);
  });
});

describe('the vectors of returned values, through a worker of the SDK', () => {
  it.each(returned.map((vector) => [vector.rule, vector.name, vector] as const))(
    '%s: %s',
    async (_, __, vector) => {
      const end = await engine.client.call(method.callTool, {
        name: `vector-${vector.index}`,
        arguments: '{}',
      });
      const message = end.outcome.case === 'error' ? end.outcome.value.message : '';
      const { expect: expected } = vector;
      const isRefused = expected.end === 'refused';
      expect(endOf(end)).toMatchObject(isRefused ? { end: 'error', code: 'tool_error' } : expected);
      for (const name of isRefused ? expected.names : []) expect(message).toContain(name);
    },
  );

  it('are some', () => {
    expect(returned.length).toBeGreaterThanOrEqual(2);
  });
});
