/** Dates and times of day as people write them in English, made what JSON Schema's formats want. */

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const MONTH =
  '(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\\.?';
const DAY = '(\\d{1,2})(?:st|nd|rd|th)?';

export interface Stretch {
  readonly start: number;
  readonly end: number;
  /** YYYY-MM-DD or HH:MM, by what was looked for. */
  readonly iso: string;
}

/** Dates with a year. One without is no date: nobody says which year it is. */
export function datesIn(text: string): Stretch[] {
  const found: Stretch[] = [];
  const take = (
    pattern: RegExp,
    read: (groups: readonly string[]) => readonly [string, string, string],
  ): void => {
    for (const match of text.matchAll(pattern)) {
      const iso = isoDate(read(match.slice(1)));
      if (iso !== undefined) found.push({ start: match.index, end: match.index + match[0].length, iso });
    }
  };
  take(/\b(\d{4})-(\d{2})-(\d{2})\b/g, ([year = '', month = '', day = '']) => [year, month, day]);
  take(/\b(\d{1,2})\.(\d{1,2})\.(\d{4})\b/g, ([day = '', month = '', year = '']) => [year, month, day]);
  take(new RegExp(`\\b${DAY}(?: of)? ${MONTH},? (\\d{4})\\b`, 'gi'), ([day = '', month = '', year = '']) => [
    year,
    monthOf(month),
    day,
  ]);
  take(new RegExp(`\\b${MONTH} ${DAY},? (\\d{4})\\b`, 'gi'), ([month = '', day = '', year = '']) => [
    year,
    monthOf(month),
    day,
  ]);
  return found;
}

function monthOf(name: string): string {
  return String(MONTHS.indexOf(name.slice(0, 3).toLowerCase()) + 1);
}

/** Undefined for a day that no calendar has. */
function isoDate([year, month, day]: readonly [string, string, string]): string | undefined {
  const iso = `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`;
  const parsed = new Date(`${iso}T00:00:00Z`);
  return !Number.isNaN(parsed.getTime()) && parsed.toISOString().startsWith(iso) ? iso : undefined;
}

/** Times of day: 15:30, 15:30:10, 3pm, 3:30 p.m., noon, midnight. */
export function timesIn(text: string): Stretch[] {
  const found: Stretch[] = [];
  for (const match of text.matchAll(
    /\b(\d{1,2})(?::(\d{2}))?(?::\d{2})? ?([ap])\.?m\b\.?|\b(\d{1,2}):(\d{2})(?::\d{2})?\b/gi,
  )) {
    const [whole, hour12, minute12 = '00', half, hour24, minute24 = ''] = match;
    const minute = hour12 === undefined ? minute24 : minute12;
    const hour =
      hour12 === undefined ? Number(hour24) : (Number(hour12) % 12) + (half?.toLowerCase() === 'p' ? 12 : 0);
    if (hour > 23 || Number(minute) > 59 || Number(hour12 ?? 1) > 12) continue;
    const iso = `${String(hour).padStart(2, '0')}:${minute}`;
    found.push({ start: match.index, end: match.index + whole.length, iso });
  }
  for (const match of text.matchAll(/\b(noon|midnight)\b/gi)) {
    const iso = match[1]?.toLowerCase() === 'noon' ? '12:00' : '00:00';
    found.push({ start: match.index, end: match.index + match[0].length, iso });
  }
  return found;
}

const DAY_MS = 86_400_000;
const WEEKDAYS = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'];

/** Words for a day that need to know which day it is. */
export const RELATIVE_DAYS =
  /\b(?:(?:today|tonight|now|tomorrow|yesterday)|(?:(?:on|next|this) )?(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday)|next (?:week|month|year)|this (?:week|month|year|morning|afternoon|evening))\b/gi;

/**
 * The date that relative words name, where `today` is known: a model has no clock, so instructions or results
 * have to say. Undefined where it is not known, or where the words name more than a day.
 */
export function resolveRelative(words: string, today: string | undefined): string | undefined {
  if (today === undefined) return undefined;
  const lower = words.toLowerCase();
  const base = Date.parse(`${today}T00:00:00Z`);
  const iso = (days: number): string => new Date(base + days * DAY_MS).toISOString().slice(0, 10);
  if (/^(?:today|tonight|now|this (?:morning|afternoon|evening))$/.test(lower)) return iso(0);
  if (lower === 'tomorrow') return iso(1);
  if (lower === 'yesterday') return iso(-1);
  const weekday = WEEKDAYS.findIndex((name) => lower.endsWith(name));
  if (weekday === -1) return undefined;
  return iso(((weekday - new Date(base).getUTCDay() + 6) % 7) + 1);
}

/** The date that instructions give as today's: "Today is 2026-03-01." */
export function todayIn(text: string): string | undefined {
  const match = /\b(?:today|current date|date today)\b[^.\n]{0,40}?(\d{4}-\d{2}-\d{2})/i.exec(text);
  return match?.[1];
}
