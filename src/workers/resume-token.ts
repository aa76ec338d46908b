import { createHmac, timingSafeEqual } from 'node:crypto';

/** Proof that a hello comes from the process that an earlier welcome went to (5.5). */
export interface ResumeTokens {
  issue(tenant: string, instanceId: string): string;
  isValid(tenant: string, instanceId: string, token: string): boolean;
}

/**
 * The token is a keyed hash of the instance: nothing has to be stored for each worker, and an engine that
 * restarts with the same secret knows its workers again (5.8).
 */
export function createResumeTokens(secret: Uint8Array): ResumeTokens {
  const digest = (tenant: string, instanceId: string): Buffer =>
    createHmac('sha256', secret)
      .update(JSON.stringify([tenant, instanceId]))
      .digest();
  return {
    issue: (tenant, instanceId) => digest(tenant, instanceId).toString('base64url'),
    isValid(tenant, instanceId, token) {
      const given = Buffer.from(token, 'base64url');
      const expected = digest(tenant, instanceId);
      return given.length === expected.length && timingSafeEqual(given, expected);
    },
  };
}
