import { fromBinary } from '@bufbuild/protobuf';
import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import { describe, expect, it } from 'vitest';
import { bytesOf, openSlowly, type Served, serve, settled } from './serve.ts';

const VERSIONS = ['grpc.reflection.v1', 'grpc.reflection.v1alpha'];
// Fields of ServerReflectionRequest and ServerReflectionResponse.
const BY_SYMBOL = 4;
const LIST = 7;
const FILES = 4;
const SERVICES = 6;
const ERROR = 7;

function question(field: number, text: string): Buffer {
  return Buffer.from(new BinaryWriter().tag(field, WireType.LengthDelimited).string(text).finish());
}

/** The embedded messages of a field. */
function fieldsOf(bytes: Uint8Array, field: number): Uint8Array[] {
  const reader = new BinaryReader(bytes);
  const found: Uint8Array[] = [];
  while (reader.pos < reader.len) {
    const [number, type] = reader.tag();
    if (number === field && type === WireType.LengthDelimited) found.push(reader.bytes());
    else reader.skip(type, number);
  }
  return found;
}

function ask({ client }: Served, version: string, request: Buffer): Promise<Buffer> {
  const stream = client.makeBidiStreamRequest(
    `/${version}.ServerReflection/ServerReflectionInfo`,
    bytesOf,
    bytesOf,
  );
  return new Promise((resolve, reject) => {
    stream.on('data', resolve);
    stream.on('error', reject);
    stream.end(request);
  });
}

describe.each(VERSIONS)('reflection by %s', (version) => {
  it('lists the services', async () => {
    await using served = await serve({});
    const answer = await ask(served, version, question(LIST, '*'));
    const names = fieldsOf(answer, SERVICES)
      .flatMap((list) => fieldsOf(list, 1))
      .flatMap((service) => fieldsOf(service, 1))
      .map((name) => Buffer.from(name).toString());
    expect(names).toEqual(['spindle.v1.ToolService']);
  });

  it.each(['spindle.v1.ToolService', 'spindle.v1.CallToolRequest', 'google.rpc.ErrorInfo'])(
    'knows the file of %s and every file that it imports',
    async (symbol) => {
      await using served = await serve({});
      const answer = await ask(served, version, question(BY_SYMBOL, symbol));
      const files = fieldsOf(answer, FILES)
        .flatMap((list) => fieldsOf(list, 1))
        .map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes));
      const names = new Set(files.map((file) => file.name));
      expect(names.size).toBeGreaterThan(0);
      expect(files.flatMap((file) => file.dependency).filter((name) => !names.has(name))).toEqual([]);
    },
  );

  it('answers a question about what it does not know with an error', async () => {
    await using served = await serve({});
    expect(fieldsOf(await ask(served, version, question(BY_SYMBOL, 'no.Such')), ERROR)).toHaveLength(1);
  });

  it('does not read a peer that asks and never reads', async () => {
    await using served = await serve({});
    const path = `/${version}.ServerReflection/ServerReflectionInfo`;
    using reader = openSlowly(served, path);
    const total = 20_000;
    const ask = framedQuestion();
    let taken = 0;
    for (let index = 0; index < total; index += 1) {
      reader.stream.write(ask, () => {
        taken += 1;
      });
    }
    expect(await settled(served, () => taken)).toBeLessThan(total);
  });
});

function framedQuestion(): Buffer {
  const message = question(BY_SYMBOL, 'spindle.v1.ToolService');
  const frame = Buffer.alloc(5 + message.byteLength);
  frame.writeUInt32BE(message.byteLength, 1);
  message.copy(frame, 5);
  return frame;
}
