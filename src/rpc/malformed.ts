import type { DescMessage } from '@bufbuild/protobuf';
import { type Refusal, refused } from '../core/refusal.ts';

/** The refusal of bytes that are no message. It quotes nothing of them (9.4). */
export function malformed(
  schema: DescMessage,
  fault: string,
): { readonly ok: false; readonly refusal: Refusal } {
  return refused(
    'malformed_message',
    `The request is ${fault} of the type ${schema.typeName}. Its strings have to be UTF-8. ` +
      'Compare the client with the .proto files of the engine, or ask its reflection service.',
    { type: schema.typeName },
  );
}
