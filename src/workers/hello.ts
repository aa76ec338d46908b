import type { Hello, ToolOffer } from '../../gen/spindle/v1/worker_service_pb.ts';
import {
  MAX_ID_CHARS,
  MAX_IN_FLIGHT,
  MAX_LABEL_CHARS,
  MAX_MESSAGE_BYTES,
  MAX_TOOLS_PER_WORKER,
  MIN_MESSAGE_BYTES,
} from '../core/limits.ts';
import { RESERVED_NAMES } from '../core/loop/reserved.ts';
import type { Definition } from '../schema/definition.ts';
import type { Schemas } from '../schema/schemas.ts';
import { agentsFault, reservedName } from './agents.ts';
import type { Offer } from './instance.ts';

/** What is wrong with a hello, so wrong that the stream ends; undefined where nothing is. */
export function helloFault(hello: Hello): string | undefined {
  if (hello.instanceId === '' || hello.instanceId.length > MAX_ID_CHARS) {
    return `hello.instance_id must have 1 to ${MAX_ID_CHARS} characters; make one at random when the process starts`;
  }
  if (hello.streamNumber === 0) return 'hello.stream_number must count the streams of the process from 1';
  for (const [field, text] of [
    ['worker_name', hello.workerName],
    ['build_id', hello.buildId],
    ['sdk', hello.sdk],
  ] as const) {
    if (text.length > MAX_LABEL_CHARS) return `hello.${field} is longer than ${MAX_LABEL_CHARS} characters`;
  }
  if (hello.maxMessageBytes !== 0 && hello.maxMessageBytes < MIN_MESSAGE_BYTES) {
    return `hello.max_message_bytes must be at least ${MIN_MESSAGE_BYTES}, or 0 for ${MAX_MESSAGE_BYTES}`;
  }
  return (
    capacityFault('hello.max_in_flight', hello.maxInFlight ?? 0) ??
    toolsFault('hello.tools', hello.tools) ??
    agentsFault(hello.agents)
  );
}

export function capacityFault(field: string, maxInFlight: number): string | undefined {
  return maxInFlight > MAX_IN_FLIGHT ? `${field} must be at most ${MAX_IN_FLIGHT}` : undefined;
}

export function toolsFault(field: string, tools: readonly ToolOffer[]): string | undefined {
  return tools.length > MAX_TOOLS_PER_WORKER
    ? `${field} has ${tools.length} entries, and may have ${MAX_TOOLS_PER_WORKER}; split the worker`
    : undefined;
}

export interface Offers {
  readonly offers: ReadonlyMap<string, Offer>;
  readonly definitions: readonly Definition[];
  readonly refused: readonly { readonly name: string; readonly reason: string }[];
  /** What was accepted in part: a pattern that is not enforced, say. */
  readonly remarks: readonly { readonly name: string; readonly remark: string }[];
}

/** Reads what a worker offers. A bad definition keeps its tool out, and no other (2.2). */
export function readOffers(tools: readonly ToolOffer[], schemas: Schemas): Offers {
  const offers = new Map<string, Offer>();
  const refused: { name: string; reason: string }[] = [];
  const remarks: { name: string; remark: string }[] = [];
  tools.forEach((offer, index) => {
    const name = offer.tool?.name ?? '';
    const defined = offer.tool && schemas.define(offer.tool);
    if (defined === undefined) refused.push({ name, reason: `tools[${index}] has no definition` });
    else if (RESERVED_NAMES.has(name)) refused.push({ name, reason: reservedName(name) });
    else if (defined.kind === 'refused') refused.push({ name, reason: defined.reason });
    else if (offers.has(name))
      refused.push({ name, reason: `tools[${index}]: ${name} is offered twice; the first serves` });
    else {
      offers.set(name, { definition: defined.definition, maxConcurrency: offer.maxConcurrency });
      for (const remark of defined.definition.remarks) remarks.push({ name, remark });
    }
  });
  return { offers, definitions: [...offers.values()].map(({ definition }) => definition), refused, remarks };
}
