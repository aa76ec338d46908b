import { MAX_JSON_DEPTH, MAX_REPAIR_BYTES } from '../core/limits.ts';
import { ARGUMENT_LIMITS } from './argument-limits.ts';
import { readJson } from './json-text.ts';
import { readSloppyObject } from './sloppy-json.ts';

/** The steps of the repair ladder in its order (1.7); `empty` stands apart, for it needs no consent (1.3). */
export const REPAIR_STEPS = [
  'fence',
  'encoded',
  'trailing_text',
  'commas',
  'quotes',
  'comments',
  'closed',
] as const;

export type RepairStep = (typeof REPAIR_STEPS)[number];

export interface Repaired {
  /** An object, by the strict reader. */
  readonly json: string;
  /** Those that were needed, in the ladder's order. */
  readonly steps: readonly RepairStep[];
}

/**
 * Tries the ladder on text that the strict reader refused (1.7). Undefined where it leads to no object, and
 * where the only way there would complete a text that the model stopped writing for length (1.8).
 */
export function repairObject(text: string, stoppedForLength: boolean): Repaired | undefined {
  if (Buffer.byteLength(text) > MAX_REPAIR_BYTES) return undefined;
  const used = new Set<RepairStep>();
  // White space at the end stays: it tells a whole number from one that was cut (1.8).
  let inner = text;
  const fenced = unfence(text.trim());
  if (fenced !== undefined) {
    used.add('fence');
    inner = fenced;
  }
  const decoded = decodeString(inner);
  if (decoded !== undefined) {
    used.add('encoded');
    inner = decoded;
  }
  const sloppy = readSloppyObject(inner, MAX_JSON_DEPTH);
  if (sloppy === undefined) return undefined;
  for (const step of sloppy.used) used.add(step);
  if (used.has('closed') && stoppedForLength) return undefined;
  // Text behind the object that ends a fence and starts another is no prose.
  if (used.has('fence') && used.has('trailing_text') && inner.includes('```')) return undefined;
  const reading = readJson(sloppy.json, ARGUMENT_LIMITS);
  if (used.size === 0 || reading.kind === 'refused' || reading.root !== 'object') return undefined;
  return { json: sloppy.json, steps: REPAIR_STEPS.filter((step) => used.has(step)) };
}

/** What one fence around the whole text holds, without the info word; on one line or on several. */
function unfence(text: string): string | undefined {
  const mark = /^`{3,}/.exec(text)?.[0];
  if (mark === undefined || text.length < 2 * mark.length || !text.endsWith(mark)) return undefined;
  return text.slice(mark.length, -mark.length).replace(/^[\w+.-]+/, '');
}

/** What a JSON string holds; undefined where the text is none. */
function decodeString(text: string): string | undefined {
  if (!text.trimStart().startsWith('"')) return undefined;
  const reading = readJson(text, ARGUMENT_LIMITS);
  return reading.kind === 'json' && reading.root === 'string' ? String(JSON.parse(text)) : undefined;
}
