import { createHmac, timingSafeEqual } from 'node:crypto';

/** Proof that a hello comes from the process that an earlier welcome went to (5.5). */
export interface ResumeTokens {
  /** @param process what tells this process from all others that name themselves alike; holds no dot */
  issue(tenant: string, instanceId: string, process: string): string;
  /** The process that a token was issued to; undefined where it is none of this tenant and instance. */
  processOf(tenant: string, instanceId: string, token: string): string | undefined;
}

/**
 * The token names its process and carries a keyed hash of it: nothing has to be stored for each worker, and an
 * engine that restarts with the same secret knows its workers again (5.8).
 */
export function createResumeTokens(secret: Uint8Array): ResumeTokens {
  const digest = (tenant: string, instanceId: string, process: string): Buffer =>
    createHmac('sha256', secret)
      .update(JSON.stringify([tenant, instanceId, process]))
      .digest();
  return {
    issue: (tenant, instanceId, process) =>
      `${process}.${digest(tenant, instanceId, process).toString('base64url')}`,
    processOf(tenant, instanceId, token) {
      const [process = '', hash = ''] = token.split('.');
      const given = Buffer.from(hash, 'base64url');
      const expected = digest(tenant, instanceId, process);
      return given.length === expected.length && timingSafeEqual(given, expected) ? process : undefined;
    },
  };
}
