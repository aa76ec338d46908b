import type { ToolResult } from '../../gen/spindle/v1/result_pb.ts';
import { MAX_RECORDED_CONTENT_CHARS } from '../core/limits.ts';

/** Arguments and results as spans may have them: redacted and capped (8.5). */
export interface ContentRecorder {
  /** Of arguments, as JSON text, or of anything else that was sent in their place. */
  text(text: string): string;
  result(result: ToolResult): string;
}

export interface ContentOptions {
  /** Members of JSON objects with such a name are left out, whatever the case: `password`, say. */
  readonly redact: readonly string[];
}

/** What is withheld where nobody says otherwise; a part of the name is enough. */
export const REDACTED_NAMES = [
  'password',
  'passwd',
  'secret',
  'token',
  'authorization',
  'apikey',
  'api_key',
  'api-key',
  'cookie',
  'credential',
  'private_key',
] as const;

const WITHHELD = '[redacted]';

export function createContentRecorder({ redact }: ContentOptions): ContentRecorder {
  const withheld = redact.map((name) => name.toLowerCase());
  const isWithheld = (key: string): boolean => {
    const name = key.toLowerCase();
    return withheld.some((part) => name.includes(part));
  };
  const text = (json: string): string => {
    if (withheld.length === 0) return capped(json);
    try {
      return capped(
        JSON.stringify(JSON.parse(json), (key, value) => (key !== '' && isWithheld(key) ? WITHHELD : value)),
      );
    } catch {
      // Nobody can tell where a name ends in what is no JSON: if one occurs, nothing of the text is recorded.
      return isWithheld(json) ? WITHHELD : capped(json);
    }
  };
  return {
    text,
    result({ structuredJson, content }) {
      if (structuredJson !== undefined) return text(structuredJson);
      // Bytes are references, and stay out (3.3).
      return capped(
        content
          .map(({ kind }) => (kind.case === 'text' ? text(kind.value.text) : `[${kind.case}]`))
          .join('\n'),
      );
    },
  };
}

function capped(text: string): string {
  return text.length > MAX_RECORDED_CONTENT_CHARS
    ? `${text.slice(0, MAX_RECORDED_CONTENT_CHARS - 1)}…`
    : text;
}
