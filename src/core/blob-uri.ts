/** A blob reference's uri is `blob:sha256-<hex>`: the same bytes have the same name (BlobReference.uri). */
export const BLOB_URI_PREFIX = 'blob:';

/** The digest in a blob's uri; undefined for another uri. */
export function digestOfUri(uri: string): string | undefined {
  return /^blob:sha256-[0-9a-f]{64}$/.test(uri) ? uri.slice(BLOB_URI_PREFIX.length) : undefined;
}
