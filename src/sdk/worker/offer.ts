import { create, toBinary } from '@bufbuild/protobuf';
import {
  SetToolsSchema,
  type ToolOffer,
  ToolOfferSchema,
} from '../../../gen/spindle/v1/worker_service_pb.ts';
import { MAX_MESSAGE_BYTES, MAX_TOOLS_PER_WORKER, MIN_MESSAGE_BYTES } from '../../core/limits.ts';
import type { Tool } from '../tool.ts';
import { flatten, type Toolchain } from '../toolchain.ts';

export function offerOf(tool: Tool): ToolOffer {
  return create(ToolOfferSchema, { tool: tool.definition, maxConcurrency: tool.maxConcurrency });
}

/**
 * The tools that a worker offers, in order. Throws an Error where two have one name, one has no handler, or
 * all together would not fit the hello that has to carry them.
 */
export function offered(entries: readonly (Tool | Toolchain)[]): readonly Tool[] {
  const tools = flatten(entries, 'the tools of a worker');
  for (const { name, handle } of tools) {
    if (handle === undefined) throw new Error(`tool ${name} is run by a client: a worker cannot offer it`);
  }
  if (tools.length > MAX_TOOLS_PER_WORKER) {
    throw new Error(`a worker offers at most ${MAX_TOOLS_PER_WORKER} tools, and these are ${tools.length}`);
  }
  const bytes = toBinary(SetToolsSchema, create(SetToolsSchema, { tools: tools.map(offerOf) })).length;
  // What is left is for the other fields of the hello.
  if (bytes > MAX_MESSAGE_BYTES - MIN_MESSAGE_BYTES) {
    throw new Error(
      `the definitions of ${tools.length} tools have ${bytes} bytes, and one message has to carry them: at most ${MAX_MESSAGE_BYTES - MIN_MESSAGE_BYTES}`,
    );
  }
  return tools;
}
