import { fromBinary } from '@bufbuild/protobuf';
import { ToolSchema } from '../../gen/spindle/v1/tool_pb.ts';
import { MAX_CACHED_DEFINITIONS } from '../core/limits.ts';
import type { Definition } from '../schema/definition.ts';
import type { Schemas } from '../schema/schemas.ts';
import type { Blobs } from './ports.ts';

/** Tool definitions by digest: each is stored once, and the log names it (7.5). */
export interface Definitions {
  /** Resolves when they are durable. */
  store(tenant: string, definitions: readonly Definition[]): Promise<void>;
  /** One that is in memory, so that the common case needs no promise. */
  cached(tenant: string, digest: string): Definition | undefined;
  /** Undefined where there is none, or none that can be read. */
  load(tenant: string, digest: string): Promise<Definition | undefined>;
}

export function createDefinitions(blobs: Blobs, schemas: Schemas): Definitions {
  /** In order of use, the longest unused first. */
  const cache = new Map<string, Definition>();
  /** What was asked for last: the calls of a busy tool come one after the other. */
  let last: { readonly tenant: string; readonly definition: Definition } | undefined;

  const find = (tenant: string, digest: string): Definition | undefined => {
    if (last?.definition.digest === digest && last.tenant === tenant) return last.definition;
    const definition = cache.get(keyOf(tenant, digest));
    if (definition !== undefined) last = { tenant, definition };
    return definition;
  };

  const remember = (tenant: string, definition: Definition): void => {
    const key = keyOf(tenant, definition.digest);
    cache.delete(key);
    cache.set(key, definition);
    const [oldest] = cache.keys();
    if (cache.size <= MAX_CACHED_DEFINITIONS || oldest === undefined) return;
    cache.delete(oldest);
    last = undefined;
  };

  return {
    async store(tenant, definitions) {
      const unknown = definitions.filter(({ digest }) => !cache.has(keyOf(tenant, digest)));
      await Promise.all(unknown.map(({ bytes }) => blobs.put(tenant, bytes)));
      for (const definition of definitions) remember(tenant, definition);
    },
    cached: find,
    async load(tenant, digest) {
      const known = cache.get(keyOf(tenant, digest));
      if (known !== undefined || digest === '') return known;
      const chunks = await blobs.read(tenant, digest);
      if (chunks === undefined) return undefined;
      const bytes: Uint8Array[] = [];
      for await (const chunk of chunks) bytes.push(chunk);
      const defined = schemas.define(fromBinary(ToolSchema, Buffer.concat(bytes)));
      if (defined.kind === 'refused') return undefined;
      remember(tenant, defined.definition);
      return defined.definition;
    },
  };
}

function keyOf(tenant: string, digest: string): string {
  return `${tenant}\n${digest}`;
}
