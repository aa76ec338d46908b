import { status } from '@grpc/grpc-js';
import type { CallToolResponse } from '../../../gen/spindle/v1/tool_service_pb.ts';
import type { Dispatch } from '../../../gen/spindle/v1/worker_service_pb.ts';
import { within } from '../deadline.ts';
import { FRAME_TIMEOUT_MS } from '../limits.ts';
import { expectEqual, Mismatch } from '../rule.ts';
import type { Outcome, Peer, RawStream } from './peer.ts';

/** One thing that workers and callers may rely on from an engine. */
export interface EngineRule {
  readonly section: string;
  readonly title: string;
  readonly check: (peer: Peer) => Promise<void>;
}

export const OK: Outcome = { case: 'valueJson', value: '"ok"' };

/** The trigger of a dispatch, which is tool.execute. */
export function execute(dispatch: Dispatch) {
  const kind = dispatch.trigger?.kind;
  if (kind?.case !== 'toolExecute') throw new Mismatch('the trigger tool.execute', String(kind?.case));
  return kind.value;
}

export function resultOf({ outcome }: CallToolResponse) {
  return outcome.case === 'result' ? outcome.value : undefined;
}

export function failureOf({ outcome }: CallToolResponse) {
  return outcome.case === 'error' ? outcome.value : undefined;
}

/** Calls the tool, answers `ok`, and gives the text that came to the caller. */
export async function textOf(peer: Peer, stream: RawStream): Promise<string> {
  const call = peer.call('{}');
  await stream.answer((await stream.dispatch()).leaseToken, OK);
  const [block] = resultOf(await call)?.content ?? [];
  return block?.kind.case === 'text' ? block.kind.value.text : '';
}

/** Waits for the stream to end with a status. */
export async function expectStatus(stream: RawStream, code: number): Promise<void> {
  const ended = await within(
    FRAME_TIMEOUT_MS,
    `status ${status[code]}`,
    stream.status,
    () => 'an open stream',
  );
  expectEqual('the status', status[ended.code], status[code]);
}

/** Waits for a request to end with a status. */
export async function expectRefused(request: Promise<unknown>, code: number): Promise<void> {
  const refused: unknown = await request.then(
    () => undefined,
    (error: unknown) => error,
  );
  const came = refused instanceof Error && 'code' in refused ? status[Number(refused.code)] : 'an answer';
  expectEqual('the status', came, status[code]);
}
