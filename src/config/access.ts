/** Who may connect, and by what they prove who they are: of an engine, and of its clients and workers. */
import { z } from 'zod';
import { CertificatesSchema, JwtSchema, LimitSettingsSchema } from '../access/settings.ts';
import { flag, listOf } from './values.ts';

const EXPECTED = {
  file: 'the path of a file',
  secret: 'a text that is not empty',
  tenant: 'the name of a tenant',
  agents: 'ids of agents, as in ["clerk"] or clerk,support',
  hosts: 'names of hosts, as in ["spindle.example"] or spindle.example,spindle',
};

const file = z.string(EXPECTED.file).min(1, EXPECTED.file);

export const ACCESS_FIELDS = {
  http_hosts: listOf(EXPECTED.hosts).optional(),
  metrics_tenant: z.string(EXPECTED.tenant).min(1, EXPECTED.tenant).optional(),
  open_metrics: flag.optional(),
  privileged_agents: listOf(EXPECTED.agents).optional(),
  audit: flag.optional(),
  reflection: flag.optional(),
  health: flag.optional(),
  tls_certificate: file.optional(),
  tls_key: file.optional(),
  tls_client_authority: file.optional(),
  certificates: CertificatesSchema.optional(),
  jwt: JwtSchema.optional(),
  limits: LimitSettingsSchema.optional(),
  token: z.string(EXPECTED.secret).min(1, EXPECTED.secret).optional(),
  token_file: file.optional(),
  tls: flag.optional(),
  tls_authority: file.optional(),
  client_certificate: file.optional(),
  client_key: file.optional(),
};

export const ACCESS_VARIABLES = {
  http_hosts: 'SPINDLE_HTTP_HOSTS',
  metrics_tenant: 'SPINDLE_METRICS_TENANT',
  open_metrics: 'SPINDLE_OPEN_METRICS',
  privileged_agents: 'SPINDLE_PRIVILEGED_AGENTS',
  audit: 'SPINDLE_AUDIT',
  reflection: 'SPINDLE_REFLECTION',
  health: 'SPINDLE_HEALTH',
  tls_certificate: 'SPINDLE_TLS_CERTIFICATE',
  tls_key: 'SPINDLE_TLS_KEY',
  tls_client_authority: 'SPINDLE_TLS_CLIENT_AUTHORITY',
  token: 'SPINDLE_TOKEN',
  token_file: 'SPINDLE_TOKEN_FILE',
  tls: 'SPINDLE_TLS',
  tls_authority: 'SPINDLE_TLS_AUTHORITY',
  client_certificate: 'SPINDLE_CLIENT_CERTIFICATE',
  client_key: 'SPINDLE_CLIENT_KEY',
} as const;

const FieldsSchema = z.object(ACCESS_FIELDS);
type AccessFields = z.output<typeof FieldsSchema>;

/** Where the first is set, the second has to be. */
const PAIRS = [
  ['tls_certificate', 'tls_key'],
  ['tls_key', 'tls_certificate'],
  ['tls_client_authority', 'tls_certificate'],
  ['certificates', 'tls_client_authority'],
  ['client_certificate', 'client_key'],
  ['client_key', 'client_certificate'],
] as const;

/** Half of a pair would be a port in plain text, or a client without its certificate, that nobody asked for. */
export function checkAccess(settings: AccessFields, context: z.RefinementCtx): void {
  for (const [one, other] of PAIRS) {
    if (settings[one] !== undefined && settings[other] === undefined)
      context.addIssue({ code: 'custom', path: [one], message: `${other} beside it` });
  }
}

export function accessOf(settings: AccessFields) {
  const { tls_certificate: certificate, tls_key: key, tls_client_authority: clientAuthority } = settings;
  const { tls, tls_authority: authority, client_certificate: shown, client_key: shownKey } = settings;
  const speaksTls = tls === true || authority !== undefined || shown !== undefined;
  return {
    /** What the engine shows and asks for (9.2); undefined: plain text. */
    serverTls:
      certificate === undefined || key === undefined
        ? undefined
        : { certificate, key, ...(clientAuthority === undefined ? {} : { clientAuthority }) },
    certificates: settings.certificates,
    jwt: settings.jwt,
    /** What tenants and credentials may use. */
    limits: settings.limits,
    /** Names under which the HTTP port answers. */
    httpHosts: settings.http_hosts,
    /** Whose operators read the metrics, and whether anybody may. */
    metricsTenant: settings.metrics_tenant,
    openMetrics: settings.open_metrics,
    /** Agents that call their tools for whoever talks to them. */
    privilegedAgents: settings.privileged_agents,
    /** Keep a record of who did what. */
    audit: settings.audit,
    reflection: settings.reflection,
    health: settings.health,
    /** What clients and workers prove who they are with. */
    token: settings.token,
    tokenFile: settings.token_file,
    /** How clients and workers check who the engine is; any of the files means TLS. */
    clientTls: speaksTls ? { authority, certificate: shown, key: shownKey } : undefined,
  };
}
