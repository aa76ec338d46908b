import type { Audit, Clock, Credentials, Observer, Quotas, Random, TokenStore } from '../engine/ports.ts';
import { createCertificateTable } from './certificates.ts';
import { createCredentials } from './credentials.ts';
import { openFileAudit } from './file-audit.ts';
import { openIssued } from './jwt.ts';
import { createMemoryAudit } from './memory-audit.ts';
import { createQuotas } from './quotas.ts';
import type { CertificateEntry, JwtSettings, LimitSettings } from './settings.ts';
import { openTls, type Tls, type TlsFiles } from './tls.ts';
import { openTokens, type Tokens } from './tokens.ts';

export interface AccessSettings {
  /** TLS on both ports, by these PEM files; changed files are read again. Without it both are plain text. */
  readonly tls?: TlsFiles;
  /** Whose clients' certificates are, for TLS with an authority of clients (9.2). */
  readonly certificates?: readonly CertificateEntry[];
  /** The issuer whose signed tokens are good here, beside the engine's own (9.2). */
  readonly jwt?: JwtSettings;
  /** What tenants and credentials may use. Without it, what the engine can bear. */
  readonly limits?: LimitSettings;
  /** Keep a record of who did what. Default: where callers have to prove who they are. */
  readonly audit?: boolean;
}

export interface AccessOptions {
  readonly settings: AccessSettings;
  readonly store: TokenStore;
  readonly administratorKey: Uint8Array;
  /** Where the record of who did what is kept; undefined: in memory. */
  readonly auditDirectory: string | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly observer: Observer;
}

/** Who may come, and by what they prove who they are. */
export interface Access {
  readonly tokens: Tokens;
  readonly credentials: Credentials;
  readonly tls: Tls | undefined;
  readonly quotas: Quotas | undefined;
  readonly audit: Audit | undefined;
  /** Whether callers have to prove who they are (9.1). */
  readonly asks: boolean;
  close(): Promise<void>;
}

/** Rejects with an Error for the operator where a file cannot be used, and with a JournalFault. */
export async function openAccess(options: AccessOptions): Promise<Access> {
  const { settings, store, administratorKey, clock, random, observer } = options;
  const tokens = await openTokens({ store, clock, random });
  const issued = settings.jwt && (await openIssued({ settings: settings.jwt, clock, observer }));
  const certified = settings.certificates && createCertificateTable(settings.certificates, clock);
  const tls = settings.tls && (await openTls({ files: settings.tls, clock, observer }));
  const asks = tokens.configured || issued !== undefined || certified !== undefined;
  const audit = (settings.audit ?? asks) ? await openAudit(options) : undefined;
  return {
    tokens,
    audit,
    asks,
    credentials: createCredentials({ tokens, administratorKey, issued, certified }),
    tls,
    quotas: settings.limits && createQuotas(settings.limits, clock),
    async close() {
      tls?.close();
      await audit?.close();
    },
  };
}

async function openAudit({ auditDirectory: directory, clock, observer }: AccessOptions): Promise<Audit> {
  if (directory === undefined) return createMemoryAudit(clock);
  return openFileAudit({ directory, clock, observer });
}
