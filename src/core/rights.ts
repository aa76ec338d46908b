import { create } from '@bufbuild/protobuf';
import { type Caller, CallerSchema } from '../../gen/spindle/v1/call_pb.ts';
import { matchesGlob } from './globs.ts';

/**
 * What a caller may do (section 9). Rights are claims of the Caller, so they are on record with a session or a call
 * and hold for what the engine does for it later, also after a restart.
 */
export type Role =
  /** Nobody was asked: an engine without credentials, on loopback. May do everything (9.1). */
  | 'anonymous'
  /** Serves tools and agents, and settles what they deferred. */
  | 'worker'
  /** Calls tools, and has calls and sessions of its own. */
  | 'client'
  /** Sees all of its tenant, and does what clients do. */
  | 'operator'
  /** Whoever reads the engine's own files: makes and ends tokens of any tenant, and nothing else. */
  | 'administrator'
  /** On record under a role that this engine does not know. May do nothing. */
  | 'unknown';

/** Roles that a credential can be given. */
export const GRANTED_ROLES = ['worker', 'client', 'operator'] as const;
export type GrantedRole = (typeof GRANTED_ROLES)[number];

export interface Grant {
  readonly role: Exclude<Role, 'anonymous' | 'unknown'>;
  readonly tenant: string;
  readonly subject: string;
  /** Names the token, the certificate or the issuer; for the record. Never a secret. */
  readonly credentialId: string;
  /** Globs over names of tools, without white space. Empty: all. */
  readonly tools: readonly string[];
  /** Globs over ids of agents. Empty: all. */
  readonly agents: readonly string[];
}

export const ANONYMOUS: Caller = create(CallerSchema, { tenant: 'default', subject: 'anonymous' });

/** The caller that a credential makes (9.2). */
export function callerOf({ role, tenant, subject, credentialId, tools, agents }: Grant): Caller {
  return create(CallerSchema, {
    tenant,
    subject,
    claims: {
      role,
      credential: credentialId,
      ...(tools.length === 0 ? {} : { tools: tools.join(' ') }),
      ...(agents.length === 0 ? {} : { agents: agents.join(' ') }),
    },
  });
}

/** A caller without a role is anonymous: only an engine that asks nobody makes one. */
export function roleOf({ claims }: Caller): Role {
  const role = claims['role'];
  switch (role) {
    case undefined:
      return 'anonymous';
    case 'worker':
    case 'client':
    case 'operator':
    case 'administrator':
      return role;
    default:
      return 'unknown';
  }
}

/** The token, certificate or issuer; empty for an anonymous caller. */
export function credentialOf({ claims }: Caller): string {
  return claims['credential'] ?? '';
}

/** Whether it sees what others of its tenant made (9.3). */
export function seesTenant(caller: Caller): boolean {
  return roleOf(caller) === 'operator';
}

/** Whether its credential names a tool, to serve it or to call it (9.2). */
export function namesTool({ claims }: Caller, toolName: string): boolean {
  return matchesAny(claims['tools'], toolName);
}

/** Whether its credential is for some tools alone. */
export function narrows({ claims }: Caller): boolean {
  return claims['tools'] !== undefined;
}

/** The same for an agent. */
export function namesAgent({ claims }: Caller, agentId: string): boolean {
  return matchesAny(claims['agents'], agentId);
}

function matchesAny(globs: string | undefined, name: string): boolean {
  return globs === undefined || globs.split(' ').some((glob) => matchesGlob(glob, name));
}
