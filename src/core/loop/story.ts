import type { SessionEvent } from '../../../gen/spindle/v1/event_pb.ts';
import { type Draft, record } from '../event.ts';
import { evolve } from '../evolve.ts';
import type { Session } from '../session.ts';
import type { Instant } from '../time.ts';

/** Events of one append while they are being decided, and the session as it stands after them. */
export interface Story {
  readonly at: Instant;
  readonly session: Session;
  readonly events: readonly SessionEvent[];
}

export function begin(session: Session, at: Instant): Story {
  return { at, session, events: [] };
}

/** The story with more events. Each is decided on the session as those before it left it. */
export function tell(story: Story, ...drafts: readonly Draft[]): Story {
  if (drafts.length === 0) return story;
  const events = record(story.session, story.at, drafts);
  return {
    at: story.at,
    session: events.reduce(evolve, story.session),
    events: [...story.events, ...events],
  };
}
