import { RE2JS } from 're2js';
import { MAX_PATTERN_CHARS, MAX_PATTERN_INSTRUCTIONS } from '../core/limits.ts';
import { type Budget, spend } from './budget.ts';
import { linearSyntax } from './pattern-syntax.ts';

/** A regular expression of a schema, on an engine that takes time linear in the string (2.3). */
export interface Pattern {
  readonly source: string;
  readonly program: RE2JS;
  /** Steps for each character of a string, at worst. */
  readonly weight: number;
}

export type PatternReading =
  | { readonly kind: 'pattern'; readonly pattern: Pattern }
  /** No regular expression at all. */
  | { readonly kind: 'invalid' }
  /** A regular expression that cannot run in linear time, or is too large; it is not enforced. */
  | { readonly kind: 'unenforced'; readonly reason: string };

export function compilePattern(source: string): PatternReading {
  if (source.length > MAX_PATTERN_CHARS) {
    return { kind: 'unenforced', reason: `it is longer than ${MAX_PATTERN_CHARS} characters` };
  }
  const flags = dialectFlags(source);
  if (flags === undefined) return { kind: 'invalid' };
  const translated = linearSyntax(source, flags === 'u');
  if (translated.kind === 'unsupported') return { kind: 'unenforced', reason: translated.reason };
  try {
    const program = RE2JS.compile(translated.syntax);
    if (program.programSize() > MAX_PATTERN_INSTRUCTIONS) {
      return { kind: 'unenforced', reason: `it compiles to over ${MAX_PATTERN_INSTRUCTIONS} instructions` };
    }
    // An instruction costs about two steps for each character where the automaton cannot be cached.
    return { kind: 'pattern', pattern: { source, program, weight: 2 * program.programSize() } };
  } catch {
    return {
      kind: 'unenforced',
      reason:
        'it repeats or nests more than the linear engine can, or names a property that it does not know',
    };
  }
}

/** Whether the pattern occurs in the text: patterns of JSON Schema are not anchored. */
export function matchesPattern(pattern: Pattern, text: string, budget: Budget): boolean {
  spend(budget, pattern.weight * (text.length + 1));
  return pattern.program.test(text);
}

/**
 * JSON Schema recommends Unicode mode. Many published patterns hold escapes that only the older mode
 * knows, such as `\@`, so that one is the second try. The expression is parsed and never run.
 */
function dialectFlags(source: string): 'u' | '' | undefined {
  for (const flags of ['u', ''] as const) {
    try {
      new RegExp(source, flags);
      return flags;
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
    }
  }
  return undefined;
}
