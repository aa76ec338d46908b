/** At most so many UTF-16 code units of a text, never half of a surrogate pair, with an ellipsis where it was cut. */
export function shortened(text: string, maxChars: number): string {
  return text.length <= maxChars ? text : `${wholeCharacters(text, maxChars - 1)}…`;
}

/** The beginning of a text that is at most so many bytes of UTF-8 long, cut between two characters (3.4). */
export function excerpt(text: string, maxBytes: number): string {
  // No character takes fewer bytes than code units, so the beginning has at most as many of these.
  const head = wholeCharacters(text, maxBytes);
  const { read } = new TextEncoder().encodeInto(head, new Uint8Array(maxBytes));
  return head.slice(0, read);
}

function wholeCharacters(text: string, units: number): string {
  const splits = (text.codePointAt(units - 1) ?? 0) > 0xffff;
  return text.slice(0, splits ? units - 1 : units);
}
