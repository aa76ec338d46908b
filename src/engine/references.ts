import type { SessionEvent } from '../../gen/spindle/v1/event_pb.ts';
import type { ToolResult } from '../../gen/spindle/v1/result_pb.ts';
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
        if (kind.value.outcome.case === 'result') blobs = withBlobs(blobs, kind.value.outcome.value);
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

function withBlobs(found: Digest[] | undefined, { content }: ToolResult): Digest[] | undefined {
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
