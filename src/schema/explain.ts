import type { SchemaViolation, ToolInput } from '../../gen/spindle/v1/tool_pb.ts';
import {
  MAX_EXPLAINED_LIST_CHARS,
  MAX_EXPLAINED_VIOLATION_CHARS,
  MAX_EXPLAINED_VIOLATIONS,
  MAX_EXPLANATION_CHARS,
} from '../core/limits.ts';
import { quotedName, shortened } from './violation.ts';

/** Keys and patterns are foreign words: none of them starts a line of its own. */
const UNPRINTABLE = /[\p{Cc}\u2028\u2029]+/gu;

/**
 * The error that a model reads for arguments that are invalid or malformed (1.9): what is wrong, and that it
 * should call again. It holds no argument values, and fewer than MAX_EXPLANATION_CHARS UTF-16 code units.
 */
export function explainInput(toolName: string, input: ToolInput): string {
  const tool = quotedName(toolName);
  switch (input.status.case) {
    case 'invalid':
      return bounded(
        `The arguments for ${tool} do not match its schema: ${listViolations(input.status.value.violations)} ` +
          'Correct them and call the tool again.',
      );
    case 'malformed':
      return bounded(
        `The arguments for ${tool} are malformed: ${shortened(input.status.value.error, MAX_EXPLAINED_LIST_CHARS)}. ` +
          'Call the tool again with one complete JSON object.',
      );
    case 'valid':
    case undefined:
      return `The arguments for ${tool} are valid.`;
  }
}

/** At most five violations with their pointers, and how many more there are. Ends with a full stop. */
export function listViolations(violations: readonly SchemaViolation[]): string {
  const lines: string[] = [];
  let length = 0;
  for (const { instancePath, message } of violations.slice(0, MAX_EXPLAINED_VIOLATIONS)) {
    const place = instancePath === '' ? 'the root' : shortened(instancePath);
    const line = `${place} ${shortened(message, MAX_EXPLAINED_VIOLATION_CHARS)}`.replace(UNPRINTABLE, ' ');
    length += line.length + 2;
    if (length > MAX_EXPLAINED_LIST_CHARS) break;
    lines.push(line);
  }
  const more = violations.length - lines.length;
  return `${lines.join('; ')}${more > 0 ? `; and ${more} more` : ''}.`;
}

function bounded(text: string): string {
  return shortened(text, MAX_EXPLANATION_CHARS - 1);
}
