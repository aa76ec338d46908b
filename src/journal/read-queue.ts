import { JournalError } from './journal-error.ts';
import type { JournalThread } from './thread-client.ts';
import type { EventPage, ReadQuery } from './thread-protocol.ts';

interface Waiting {
  readonly query: ReadQuery;
  readonly resolve: (page: EventPage) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Reads that are made in the same tick travel together: recovery makes many, and a message to the thread and back
 * costs more than a short log. Rejects with a JournalError.
 */
export function createReadQueue(thread: JournalThread): (query: ReadQuery) => Promise<EventPage> {
  let queue: Waiting[] = [];

  async function flush(): Promise<void> {
    let waiting = queue;
    queue = [];
    try {
      while (waiting.length > 0) {
        const answer = await thread.ask({ kind: 'read', queries: waiting.map(({ query }) => query) });
        if (answer.kind !== 'events')
          throw new Error(`the journal's thread answered ${answer.kind} to a read`);
        for (const [index, page] of answer.pages.entries()) {
          if ('bytes' in page) waiting[index]?.resolve(page);
          else waiting[index]?.reject(new JournalError(page.kind, page.message));
        }
        waiting = waiting.slice(answer.pages.length);
      }
    } catch (error) {
      for (const { reject } of waiting) reject(error);
    }
  }

  return (query) => {
    const { promise, resolve, reject } = Promise.withResolvers<EventPage>();
    queue.push({ query, resolve, reject });
    if (queue.length === 1) queueMicrotask(flush);
    return promise;
  };
}
