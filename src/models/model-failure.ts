import type { Failure } from '../../gen/spindle/v1/result_pb.ts';
import { shortened } from '../core/excerpt.ts';
import { type FailureCode, failure } from '../core/failure.ts';
import { MAX_PROVIDER_MESSAGE_CHARS } from '../core/limits.ts';
import { duration } from '../core/time.ts';
import { retryAfterOf } from './retry-after.ts';

export interface FailureContext {
  /** The provider's name in the configuration. */
  readonly provider: string;
  readonly apiKeyEnv: string | undefined;
  readonly redact: (text: string) => string;
}

/** What a provider's library threw or streamed, as far as it is read. */
interface ProviderError {
  readonly name: string;
  readonly message: string;
  readonly status: number | undefined;
  /** The provider's own words for the kind of error: `type`, `code` and `status` of its body. */
  readonly kinds: string;
  readonly retryable: boolean | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

const OVERFLOW =
  /context[_ ]length|context window|maximum context|prompt is too long|too many (?:input )?tokens|input token count|exceeds? the (?:maximum number of tokens|available context|context)|request_too_large/i;
const WITHHELD = /content[_ ](?:filter|policy)|responsible ai|safety system|usage polic/i;
const NO_CREDIT = /insufficient_quota|billing|credit balance/i;

/** A model call's failure as the policy and people read it (4.8). Holds no key, no header and nothing of the request. */
export function modelFailure(error: unknown, context: FailureContext): Failure {
  const read = readError(error);
  const { code, retryable, advice } = judge(read, context);
  const said = shortened(
    context.redact(read.message.replaceAll(/\s+/g, ' ').trim()),
    MAX_PROVIDER_MESSAGE_CHARS,
  );
  const status = read.status === undefined ? '' : ` with status ${read.status}`;
  const verb = read.status === undefined && read.kinds === '' ? 'failed' : `answered${status}`;
  const message = `The provider ${context.provider} ${verb}${said === '' ? '' : `: ${said}`}${advice}`;
  const wait = retryable ? retryAfterOf(read.headers, read.body) : undefined;
  return failure(code, message, {
    retryable,
    ...(wait === undefined ? {} : { retryAfter: duration(wait) }),
  });
}

interface Judgement {
  readonly code: FailureCode;
  readonly retryable: boolean;
  readonly advice: string;
}

function judge(read: ProviderError, { apiKeyEnv }: FailureContext): Judgement {
  const { status, kinds, message } = read;
  const words = `${kinds} ${message}`;
  const verdict = (code: FailureCode, retryable: boolean, advice = ''): Judgement => ({
    code,
    retryable,
    advice,
  });
  if (status === 401 || status === 403) {
    return verdict('provider_error', false, ` (check ${apiKeyEnv ?? 'the headers of its configuration'})`);
  }
  if (status === 429 || /rate_limit|RESOURCE_EXHAUSTED/.test(kinds))
    return verdict('rate_limited', !NO_CREDIT.test(words));
  const refusesRequest = status === undefined || (status >= 400 && status < 500);
  if (status === 413 || (refusesRequest && OVERFLOW.test(words))) return verdict('context_overflow', false);
  if (refusesRequest && WITHHELD.test(words)) return verdict('refused', false);
  if (status !== undefined && status !== 200) {
    return verdict('provider_error', status === 408 || status === 409 || status >= 500);
  }
  return verdict('provider_error', read.retryable ?? true);
}

/** Errors whose message quotes what the provider sent: a value of the answer, which no error holds (9.4). */
const QUOTING: Readonly<Record<string, string>> = {
  AI_InvalidResponseDataError: 'its answer breaks its own format',
  AI_TypeValidationError: 'its answer breaks its own format',
  AI_JSONParseError: 'its answer is no JSON',
  AI_EmptyResponseBodyError: 'its answer is empty',
  AI_UnsupportedFunctionalityError: 'its library cannot send this request',
};

function readError(error: unknown): ProviderError {
  const own = record(error);
  const name = text(own['name']);
  const body =
    own['data'] ?? parsed(text(own['responseBody'])) ?? (error instanceof Error ? undefined : error);
  const inner = record(record(body)['error']);
  const nested = Object.keys(inner).length > 0 ? inner : record(body);
  const kinds = [own['type'], own['code'], nested['type'], nested['code'], nested['status']]
    .filter((kind) => typeof kind === 'string')
    .join(' ');
  const status = [own['statusCode'], nested['code']].find(isStatus) ?? statusOfKind(kinds);
  return {
    name,
    message: QUOTING[name] ?? messageOf(error, own, nested),
    status,
    kinds,
    retryable: name === 'AI_UnsupportedFunctionalityError' ? false : boolean(own['isRetryable']),
    headers: headersOf(own['responseHeaders']),
    body,
  };
}

function messageOf(
  error: unknown,
  own: Readonly<Record<string, unknown>>,
  nested: Readonly<Record<string, unknown>>,
): string {
  if (typeof error === 'string') return error;
  // The library has but the words of the status for a body that it does not know.
  const said = text(nested['message']) || text(own['message']);
  // The library's words for a failed connection have what is wrong in the cause.
  const cause = text(record(record(error)['cause'])['code']);
  return cause === '' || said.includes(cause) ? said : `${said} (${cause})`;
}

/** The kinds of errors that providers stream without a status. */
function statusOfKind(kinds: string): number | undefined {
  if (/overloaded/.test(kinds)) return 529;
  if (/rate_limit/.test(kinds)) return 429;
  if (/authentication|permission/.test(kinds)) return 401;
  return /invalid_request/.test(kinds) ? 400 : undefined;
}

function isStatus(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 400 && value < 600;
}

function headersOf(value: unknown): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(record(value)).map(([name, header]) => [name.toLowerCase(), text(header)]),
  );
}

function parsed(json: string): unknown {
  if (json === '') return undefined;
  try {
    return JSON.parse(json);
  } catch {
    // A proxy's page of HTML, say.
    return undefined;
  }
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function boolean(value: unknown): boolean | undefined {
  return typeof value === 'boolean' ? value : undefined;
}
