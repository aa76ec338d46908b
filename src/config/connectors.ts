/** The settings of an MCP server: a table `[connectors.ID]` of the configuration's file. */
import { z } from 'zod';
import { MAX_IN_FLIGHT } from '../core/limits.ts';

const EXPECTED = {
  text: 'a text that is not empty',
  texts: 'an array of texts',
  secret: '{ variable = "NAME" } or { file = "PATH" }: credentials are named here, and kept elsewhere',
  environment: 'a table of texts, { variable = "NAME" } or { file = "PATH" }',
  url: 'a URL that begins with https:// or http://',
  auth: '"none", "token", "client_credentials" or "authorization_code"',
  header: 'the name of a header',
  port: 'a port: an integer from 0 to 65535',
  flag: 'true or false',
  count: `an integer from 1 to ${MAX_IN_FLIGHT}`,
  table: 'a table',
};

const text = z.string(EXPECTED.text).min(1, EXPECTED.text);
const texts = z.array(z.string(EXPECTED.texts), EXPECTED.texts);
const flag = z.boolean(EXPECTED.flag);

/** Where a credential is, in place of the credential. */
const SecretSchema = z.union(
  [z.strictObject({ variable: text }), z.strictObject({ file: text })],
  EXPECTED.secret,
);
export type SecretReference = z.output<typeof SecretSchema>;

const AUTHS = ['none', 'token', 'client_credentials', 'authorization_code'] as const;

const FieldsSchema = z.strictObject(
  {
    command: text.optional(),
    args: texts.optional(),
    directory: text.optional(),
    environment: z
      .record(z.string(), z.union([z.string(), SecretSchema], EXPECTED.environment), EXPECTED.environment)
      .optional(),
    url: z.url({ protocol: /^https?$/, error: EXPECTED.url }).optional(),
    private: flag.optional(),
    auth: z.enum(AUTHS, EXPECTED.auth).optional(),
    token: SecretSchema.optional(),
    header: z
      .string(EXPECTED.header)
      .regex(/^[\w!#$%&'*+.^`|~-]+$/, EXPECTED.header)
      .optional(),
    client_id: text.optional(),
    client_secret: SecretSchema.optional(),
    issuer: z.url({ protocol: /^https?$/, error: EXPECTED.url }).optional(),
    scope: text.optional(),
    redirect_port: z.int(EXPECTED.port).min(0, EXPECTED.port).max(65_535, EXPECTED.port).optional(),
    prefix: flag.optional(),
    tenants: texts.optional(),
    trusted: flag.optional(),
    pinned: flag.optional(),
    max_in_flight: z.int(EXPECTED.count).min(1, EXPECTED.count).max(MAX_IN_FLIGHT, EXPECTED.count).optional(),
  },
  { error: () => EXPECTED.table },
);
type Fields = z.output<typeof FieldsSchema>;

/** What belongs to which kind of server: a setting without effect is a mistake. */
const STDIO = ['args', 'directory', 'environment'] as const;
const HTTP = [
  'private',
  'auth',
  'token',
  'header',
  'client_id',
  'client_secret',
  'issuer',
  'scope',
  'redirect_port',
] as const;
/** What each way to authenticate takes; what it needs stands first. */
const AUTH_FIELDS: Readonly<
  Record<
    (typeof AUTHS)[number],
    { readonly needs: readonly (keyof Fields)[]; readonly takes: readonly (keyof Fields)[] }
  >
> = {
  none: { needs: [], takes: [] },
  token: { needs: ['token'], takes: ['header'] },
  client_credentials: { needs: ['client_id', 'client_secret', 'issuer'], takes: ['scope'] },
  authorization_code: {
    needs: [],
    takes: ['client_id', 'client_secret', 'issuer', 'scope', 'redirect_port'],
  },
};

/** The ways in which the fields do not fit together: which field, and what is expected in its place. */
function misfits(fields: Fields): [field: keyof Fields, expected: string][] {
  const has = (field: keyof Fields): boolean => fields[field] !== undefined;
  if (has('command') === has('url')) return [['command', 'either a command or a url']];
  const found: [keyof Fields, string][] = [];
  for (const field of has('command') ? HTTP : STDIO)
    if (has(field)) found.push([field, `nothing: it belongs to ${has('command') ? 'a url' : 'a command'}`]);
  if (found.length > 0) return found;
  const { auth = 'none' } = fields;
  const { needs, takes } = AUTH_FIELDS[auth];
  for (const field of needs) if (!has(field)) found.push([field, `a value, for auth = "${auth}"`]);
  for (const field of HTTP) {
    if (field === 'private' || field === 'auth' || !has(field)) continue;
    if (!needs.includes(field) && !takes.includes(field))
      found.push([field, `nothing: it has no meaning for auth = "${auth}"`]);
  }
  if (auth === 'authorization_code' && has('client_id') && !has('issuer'))
    found.push(['issuer', 'the authorization server that knows the client_id']);
  return found;
}

export const ConnectorSchema = FieldsSchema.superRefine((fields, context) => {
  for (const [field, message] of misfits(fields))
    context.addIssue({ code: 'custom', path: [field], message });
});

/** One server, as it was configured. */
export type ConnectorSettings = z.output<typeof ConnectorSchema>;
