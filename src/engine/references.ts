import type { SessionEvent } from '../../gen/spindle/v1/event_pb.ts';
import type { ChatMessage } from '../../gen/spindle/v1/message_pb.ts';
import type { Content } from '../../gen/spindle/v1/result_pb.ts';
import type { TurnInput } from '../../gen/spindle/v1/trigger_pb.ts';
import { digestOfUri } from '../core/blob-uri.ts';
import type { Append, Digest } from './ports.ts';

export type References = Pick<Append, 'blobs' | 'definitions'>;

const NOTHING: References = {};

/** What events refer to in the blob store: the journal keeps it for as long as the session (3.3, 7.5). */
export function referencesOf(events: readonly SessionEvent[]): References {
  let definitions: Digest[] | undefined;
  let blobs: Digest[] | undefined;
  for (const { kind } of events) {
    switch (kind.case) {
      case 'toolCallRequested':
      case 'toolCallDispatched':
        if (kind.value.toolDigest !== '') definitions = withDigest(definitions, kind.value.toolDigest);
        break;
      case 'toolCallFinished':
      case 'toolCallLateAnswer':
        if (kind.value.outcome.case === 'result') blobs = withBlobs(blobs, kind.value.outcome.value.content);
        break;
      case 'modelCallRequested':
        // The set is a blob like any other. The definitions in it are claimed by the calls that name them.
        if (kind.value.toolSetDigest !== '') blobs = [...(blobs ?? []), kind.value.toolSetDigest];
        break;
      case 'modelCallFinished':
        if (kind.value.outcome.case === 'response')
          blobs = withMessage(blobs, kind.value.outcome.value.message);
        break;
      case 'messageRecorded':
        blobs = withMessage(blobs, kind.value.message);
        break;
      case 'turnQueued':
      case 'turnStarted':
        blobs = withInput(blobs, kind.value.input);
        break;
      default:
        break;
    }
  }
  // Apart, because the common append has the one and not the other.
  if (blobs === undefined) return definitions === undefined ? NOTHING : { definitions };
  return definitions === undefined ? { blobs } : { definitions, blobs };
}

function withDigest(digests: Digest[] | undefined, digest: Digest): Digest[] {
  return digests === undefined ? [digest] : [...digests, digest];
}

function withInput(found: Digest[] | undefined, input: TurnInput | undefined): Digest[] | undefined {
  return input?.kind.case === 'messages' ? input.kind.value.messages.reduce(withMessage, found) : found;
}

function withMessage(found: Digest[] | undefined, message: ChatMessage | undefined): Digest[] | undefined {
  return (message?.parts ?? []).reduce((blobs, { kind }) => {
    if (kind.case === 'content') return withBlobs(blobs, [kind.value]);
    const outcome = kind.case === 'toolResult' ? kind.value.outcome : undefined;
    return outcome?.case === 'result' ? withBlobs(blobs, outcome.value.content) : blobs;
  }, found);
}

function withBlobs(found: Digest[] | undefined, content: readonly Content[]): Digest[] | undefined {
  let blobs = found;
  for (const { kind } of content) {
    const uri =
      kind.case === 'blob'
        ? kind.value.uri
        : kind.case === 'resource' && kind.value.body.case === 'blob'
          ? kind.value.body.value.uri
          : undefined;
    const digest = uri === undefined ? undefined : digestOfUri(uri);
    if (digest !== undefined) blobs = withDigest(blobs, digest);
  }
  return blobs;
}
