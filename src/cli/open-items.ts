import { type OpenItem, OpenReason } from '../sdk/index.ts';
import { columnsOf, cut, oneLine, styled } from './style.ts';

/** What waits for somebody, two lines each: what it is, and the command that answers it. */
export function openItemsText(
  sessionId: string,
  items: readonly OpenItem[],
  stream: NodeJS.WriteStream,
): string {
  const columns = columnsOf(stream);
  return items
    .map((item) => {
      const what = cut(`${whatOf(item)}  ${oneLine(item.payloadJson)}`.trimEnd(), columns - 4);
      return `  ${styled(stream, 'yellow', '?')} ${what}\n      ${commandOf(sessionId, item)}`;
    })
    .join('\n');
}

function whatOf({ name, reason }: OpenItem): string {
  const who = name === '' ? 'the turn' : oneLine(name);
  switch (reason) {
    case OpenReason.CLIENT:
      return `${who} is for the client to run`;
    case OpenReason.DEFERRED:
      return `${who} waits for an answer from outside`;
    case OpenReason.INTERRUPT:
      return `${who} waits for a person`;
    default:
      return `${who} waits`;
  }
}

function commandOf(sessionId: string, { id, reason }: OpenItem): string {
  return reason === OpenReason.INTERRUPT
    ? `spindle resume ${sessionId} ${id}`
    : `spindle settle ${id} --session ${sessionId} --result JSON`;
}
