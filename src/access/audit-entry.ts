import { z } from 'zod';
import { credentialOf, roleOf } from '../core/rights.ts';
import type { Instant } from '../core/time.ts';
import type { AuditEntry, AuditFact } from '../engine/ports.ts';

export function entryOf(fact: AuditFact, sequence: number, at: Instant): AuditEntry {
  const { caller, method, callId = '', sessionId = '', name = '', outcome, peer } = fact;
  return {
    sequence,
    at,
    tenant: caller?.tenant ?? '',
    subject: caller?.subject ?? '',
    role: caller === undefined ? '' : roleOf(caller),
    credential: caller === undefined ? '' : credentialOf(caller),
    method,
    callId,
    sessionId,
    name,
    outcome,
    peer,
  };
}

const text = z.string();
const EntrySchema = z.object({
  sequence: z.int().positive(),
  at: z.number(),
  tenant: text,
  subject: text,
  role: text,
  credential: text,
  method: text,
  callId: text,
  sessionId: text,
  name: text,
  outcome: text,
  peer: text,
});

/** A line of the record; undefined for what is none: the end of a file that a power cut tore, say. */
export function parseEntry(line: string): AuditEntry | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return undefined;
  }
  return EntrySchema.safeParse(value).data;
}
