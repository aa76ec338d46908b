import { z } from 'zod';
import { GRANTED_ROLES } from '../core/rights.ts';
import { grantFault } from './grant.ts';

/** What a table of the configuration grants; the words follow `expected`. */
const EXPECTED = {
  role: '"worker", "client" or "operator"',
  text: 'a text that is not empty',
  globs: 'a list of globs',
  table: 'a table',
  certificate: 'exactly one of fingerprint, common_name and alternative_name, beside role and tenant',
  fingerprint: 'SHA-256 as 64 hexadecimal digits, with or without colons',
  count: 'a positive integer',
  rate: 'a positive number',
  jwks: 'an https: URL, an http: URL of this machine, or the path of a file',
};

const text = z.string(EXPECTED.text).min(1, EXPECTED.text);
const globs = z.array(text, EXPECTED.globs).default([]);
const role = z.enum(GRANTED_ROLES, EXPECTED.role);
const tableError = (): string => EXPECTED.table;

const fingerprint = z
  .string(EXPECTED.fingerprint)
  .transform((digits) => digits.replaceAll(':', '').toLowerCase())
  .refine((digits) => /^[0-9a-f]{64}$/.test(digits), EXPECTED.fingerprint);

const CertificateSchema = z
  .strictObject(
    {
      fingerprint: fingerprint.optional(),
      common_name: text.optional(),
      alternative_name: text.optional(),
      role,
      tenant: text,
      subject: text.optional(),
      tools: globs,
      agents: globs,
    },
    { error: tableError },
  )
  .transform((entry, context) => {
    const names = [entry.fingerprint, entry.common_name, entry.alternative_name].filter(
      (name) => name !== undefined,
    );
    const [name] = names;
    if (name === undefined || names.length !== 1) {
      context.addIssue({ code: 'custom', message: EXPECTED.certificate });
      return z.NEVER;
    }
    const grant = { ...entry, subject: entry.subject ?? name };
    const fault = grantFault(grant);
    if (fault === undefined)
      return { ...grant, commonName: entry.common_name, alternativeName: entry.alternative_name };
    context.addIssue({ code: 'custom', message: fault });
    return z.NEVER;
  });

/** Whose a client's certificate is: `[[certificates]]`. */
export const CertificatesSchema = z.array(CertificateSchema);
export type CertificateEntry = z.output<typeof CertificateSchema>;

/** Remote keys in plain text could be anybody's, unless nobody is between. */
function isJwksPlace(place: string): boolean {
  if (!/^https?:/.test(place)) return true;
  if (!URL.canParse(place)) return false;
  const { protocol, hostname } = new URL(place);
  return protocol === 'https:' || ['localhost', '127.0.0.1', '[::1]'].includes(hostname);
}

/** What an issuer's tokens say: `[jwt]`. */
export const JwtSchema = z
  .strictObject(
    {
      issuer: text,
      audience: text,
      jwks: text.refine(isJwksPlace, EXPECTED.jwks),
      role: role.optional(),
      tenant: text.optional(),
      role_claim: text.default('spindle_role'),
      tenant_claim: text.default('spindle_tenant'),
      tools_claim: text.default('spindle_tools'),
      agents_claim: text.default('spindle_agents'),
    },
    { error: tableError },
  )
  .transform((table) => ({
    issuer: table.issuer,
    audience: table.audience,
    jwks: table.jwks,
    role: table.role,
    tenant: table.tenant,
    claims: {
      role: table.role_claim,
      tenant: table.tenant_claim,
      tools: table.tools_claim,
      agents: table.agents_claim,
    },
  }));
export type JwtSettings = z.output<typeof JwtSchema>;

const count = z.int(EXPECTED.count).positive(EXPECTED.count);

const LimitsSchema = z
  .strictObject(
    {
      calls_per_second: z.number(EXPECTED.rate).positive(EXPECTED.rate).optional(),
      calls_in_flight: count.optional(),
      streams: count.optional(),
      sessions: count.optional(),
      blob_bytes_per_day: count.optional(),
    },
    { error: tableError },
  )
  .transform((table) => ({
    /** Calls and turns, with room for one second's worth at once. */
    callsPerSecond: table.calls_per_second,
    /** Direct calls, and turns, that have not ended. */
    callsInFlight: table.calls_in_flight,
    /** Open streams: of workers, of calls, of who watches. */
    streams: table.streams,
    /** Sessions that are kept, those of subagents among them; of a credential: those of its subject. */
    sessions: table.sessions,
    /** Bytes that go to the blob store: of results, inputs and long texts. Of tenants alone. */
    blobBytesPerDay: table.blob_bytes_per_day,
  }));
export type Limits = z.output<typeof LimitsSchema>;

const UNLIMITED: Limits = {
  callsPerSecond: undefined,
  callsInFlight: undefined,
  streams: undefined,
  sessions: undefined,
  blobBytesPerDay: undefined,
};

/** What each tenant and each credential may use: `[limits]`. */
export const LimitSettingsSchema = z
  .strictObject(
    {
      tenant: LimitsSchema.optional(),
      credential: LimitsSchema.optional(),
      tenants: z.record(z.string(), LimitsSchema, { error: tableError }).optional(),
    },
    { error: tableError },
  )
  .transform(({ tenant = UNLIMITED, credential = UNLIMITED, tenants = {} }) => ({
    /** Of each tenant … */
    tenant,
    /** … but these. */
    tenants,
    /** Of each token, certificate, or subject of an issuer. */
    credential,
  }));
export type LimitSettings = z.output<typeof LimitSettingsSchema>;
