import { create } from '@bufbuild/protobuf';
import {
  AccessService,
  type AuditEntry as AuditEntryMessage,
  AuditEntrySchema,
  CreateTokenResponseSchema,
  CredentialRole,
  ListTokensResponseSchema,
  ReadAuditResponseSchema,
  RevokeTokenResponseSchema,
  type Token,
  TokenSchema,
} from '../../gen/spindle/v1/access_service_pb.ts';
import type { Caller } from '../../gen/spindle/v1/call_pb.ts';
import type { Tokens } from '../access/tokens.ts';
import { AUDIT_PAGE_ENTRIES } from '../core/limits.ts';
import { accepted, type Outcome, type Refusal, refused } from '../core/refusal.ts';
import { type GrantedRole, roleOf } from '../core/rights.ts';
import { millisOf, timestamp } from '../core/time.ts';
import type { Audit, AuditEntry, TokenRecord } from '../engine/ports.ts';
import { type Service, service } from './service.ts';

const ROLES: Readonly<Record<GrantedRole, CredentialRole>> = {
  worker: CredentialRole.WORKER,
  client: CredentialRole.CLIENT,
  operator: CredentialRole.OPERATOR,
};

export interface AccessServiceOptions {
  readonly tokens: Tokens;
  /** Absent where no record is kept. */
  readonly audit: Audit | undefined;
  /** What a caller is told of a fault of the journal; undefined for what is none. */
  readonly refuse: (error: unknown) => Refusal | undefined;
}

/** Tokens and the record of who did what, for operators of their tenant and for the administrator (AccessService). */
export function accessService({ tokens, audit, refuse }: AccessServiceOptions): Service {
  const guarded = async <T>(run: () => Promise<Outcome<T>>): Promise<Outcome<T>> => {
    try {
      return await run();
    } catch (error) {
      const refusal = refuse(error);
      if (refusal === undefined) throw error;
      return { ok: false, refusal };
    }
  };
  return service(
    AccessService,
    {
      createToken: ({ role: wanted, tenant, subject, tools, agents, lifetime }, { caller }) =>
        guarded(async () => {
          const role = grantedRole(wanted);
          if (role === undefined) return NO_ROLE;
          const refusal = tenantFault(caller, tenant);
          if (refusal !== undefined) return { ok: false, refusal };
          const created = await tokens.create({
            role,
            tenant: tenant === '' ? caller.tenant || DEFAULT_TENANT : tenant,
            subject,
            tools,
            agents,
            lifetimeMs: lifetime && millisOf(lifetime),
          });
          if (!created.ok) return created;
          const { record, secret } = created.value;
          return accepted(create(CreateTokenResponseSchema, { token: tokenMessage(record), secret }));
        }),

      async listTokens({ tenant }, { caller }) {
        const refusal = tenantFault(caller, tenant);
        if (refusal !== undefined) return { ok: false, refusal };
        const whose = tenant === '' ? ownTenant(caller) : tenant;
        return accepted(create(ListTokensResponseSchema, { tokens: tokens.list(whose).map(tokenMessage) }));
      },

      revokeToken: ({ tokenId }, { caller }) =>
        guarded(async () => {
          const revoked = await tokens.revoke(tokenId, ownTenant(caller));
          return revoked.ok
            ? accepted(create(RevokeTokenResponseSchema, { token: tokenMessage(revoked.value) }))
            : revoked;
        }),

      async readAudit({ afterSequence }, out, { caller, signal }) {
        if (audit === undefined) return NO_AUDIT;
        const tenant = ownTenant(caller);
        let page: AuditEntryMessage[] = [];
        const send = async (): Promise<void> => {
          const entries = page;
          page = [];
          if (entries.length > 0) await out.write(create(ReadAuditResponseSchema, { entries }));
        };
        for await (const entry of audit.read(Number(afterSequence))) {
          if (signal.aborted) break;
          if (tenant !== undefined && entry.tenant !== tenant) continue;
          page.push(auditMessage(entry));
          if (page.length >= AUDIT_PAGE_ENTRIES) await send();
        }
        await send();
        return accepted(undefined);
      },
    },
    { http: true },
  );
}

/** Where an administrator names no tenant: the one of anonymous callers. */
const DEFAULT_TENANT = 'default';

/** The tenant that a caller is held to; undefined for an administrator, who is of none. */
function ownTenant(caller: Caller): string | undefined {
  return roleOf(caller) === 'administrator' ? undefined : caller.tenant;
}

function tenantFault(caller: Caller, tenant: string): Refusal | undefined {
  const own = ownTenant(caller);
  if (own === undefined || tenant === '' || tenant === own) return undefined;
  return refused(
    'not_permitted',
    'An operator makes and sees tokens of its own tenant alone. The administrator of the engine may do this.',
  ).refusal;
}

const NO_AUDIT = refused(
  'not_implemented',
  'This engine keeps no record of who did what: the setting audit is off, or nobody is asked who they are.',
);

function auditMessage({ sequence, at, credential, ...texts }: AuditEntry): AuditEntryMessage {
  return create(AuditEntrySchema, {
    ...texts,
    sequence: BigInt(sequence),
    occurredAt: timestamp(at),
    credentialId: credential,
  });
}

const NO_ROLE = refused('invalid_request', 'role must be worker, client or operator');

function grantedRole(role: CredentialRole): GrantedRole | undefined {
  switch (role) {
    case CredentialRole.WORKER:
      return 'worker';
    case CredentialRole.CLIENT:
      return 'client';
    case CredentialRole.OPERATOR:
      return 'operator';
    default:
      return undefined;
  }
}

function tokenMessage(record: TokenRecord): Token {
  const { id, role, tenant, subject, tools, agents, createdAt, expiresAt, revokedAt } = record;
  return create(TokenSchema, {
    tokenId: id,
    role: ROLES[role],
    tenant,
    subject,
    tools: [...tools],
    agents: [...agents],
    createdAt: timestamp(createdAt),
    ...(expiresAt === undefined ? {} : { expiresAt: timestamp(expiresAt) }),
    ...(revokedAt === undefined ? {} : { revokedAt: timestamp(revokedAt) }),
  });
}
