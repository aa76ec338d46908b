/** An IANA media type without its parameters, in lower case. */
export function mediaType(mimeType: string): string {
  return (mimeType.split(';')[0] ?? '').trim().toLowerCase();
}

/** Whether bytes of this type can be shown as text. */
export function isText(type: string): boolean {
  return (
    type.startsWith('text/') ||
    /^application\/(?:json|xml|yaml|x-yaml|javascript|.*\+(?:json|xml))$/.test(type)
  );
}
