import type { DescMessage } from '@bufbuild/protobuf';
import { type Refusal, refused } from '../core/refusal.ts';

/** What broken bytes are told; protobuf-es refuses strings that are not UTF-8 as well (1.1). */
export const NO_PROTOBUF = 'its bytes are no protobuf of that type, or a string in it is not UTF-8';

type Refused = { readonly ok: false; readonly refusal: Refusal };

/** The refusal of bytes that are no message. It quotes nothing of them (9.4). */
export function malformed(schema: DescMessage, fault: string): Refused {
  return refused(
    'malformed_message',
    `The request is no ${schema.typeName}: ${fault}. Compare the client with the engine's .proto files.`,
    { type: schema.typeName },
  );
}

/** The same for JSON that does not fit, from what protobuf-es threw: of its text only the place is kept. */
export function misfit(schema: DescMessage, error: unknown): Refused {
  const text = error instanceof Error ? error.message : '';
  const place = /^cannot decode (?:field|message) ([\w.]+) from JSON/.exec(text)?.[1] ?? schema.typeName;
  const form = HOLDS_JSON.test(place) ? `. It is a string that holds JSON: ${AS_TEXT}` : '';
  return malformed(schema, `${place} has an unknown key or a value of another type${form}`);
}

/** Fields that carry JSON byte for byte (1.1), where a value of JSON's own is the likeliest mistake. */
const HOLDS_JSON = /(?:\.arguments|_json|Json)$/;
const AS_TEXT = '"{\\"city\\":\\"Tokyo\\"}" in place of {"city":"Tokyo"}';
