/**
 * A piece of a log is what one append wrote of it: the bytes of one event alone, or those of several, each in a
 * frame: the tag of a field, its length, and the event.
 */

/** Takes a piece apart. Throws a RangeError for bytes that do not hold so many events. */
export function splitPiece(piece: Uint8Array, count: number): Uint8Array[] {
  if (count === 1) return [piece];
  const events: Uint8Array[] = [];
  for (let offset = 0; offset < piece.length; ) {
    const { start, end } = frameAt(piece, offset);
    events.push(piece.subarray(start, end));
    offset = end;
  }
  if (events.length !== count) throw new RangeError(`${events.length} events stand where ${count} belong`);
  return events;
}

/** Where the event lies whose frame begins at the offset. Throws a RangeError where that is beyond the bytes. */
export function frameAt(bytes: Uint8Array, offset: number): { readonly start: number; readonly end: number } {
  // Behind the tag, one byte, comes the length, seven bits a byte and the lowest first.
  let start = offset + 1;
  let size = 0;
  let factor = 1;
  let byte: number;
  do {
    byte = bytes[start] ?? 0;
    start += 1;
    size += (byte & 0x7f) * factor;
    factor *= 0x80;
  } while (byte > 0x7f);
  const end = start + size;
  if (end > bytes.length) throw new RangeError(`an event should end at ${end} of ${bytes.length} bytes`);
  return { start, end };
}
