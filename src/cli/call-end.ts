import { type Call, type CallResult, CallStatus, type Content } from '../sdk/index.ts';
import { EXIT } from './exit-code.ts';
import { harmless, oneLine, shown, styled } from './style.ts';

/** A block of a result, in MCP's shape; `blob` names bytes that `spindle blob` writes. */
function blockJson({ kind }: Content): object {
  switch (kind.case) {
    case 'text':
      return { type: 'text', text: kind.value.text, ...optional('mimeType', kind.value.mimeType) };
    case 'image':
    case 'audio':
      return {
        type: kind.case,
        mimeType: kind.value.mimeType,
        data: Buffer.from(kind.value.data).toString('base64'),
      };
    case 'blob': {
      const { uri, mimeType, sizeBytes } = kind.value;
      return { type: 'blob', uri, mimeType, sizeBytes: Number(sizeBytes) };
    }
    case 'resource': {
      const { uri, mimeType, body } = kind.value;
      const held =
        body.case === 'text'
          ? { text: body.value }
          : body.case === 'blob'
            ? { blob: body.value.uri, sizeBytes: Number(body.value.sizeBytes) }
            : {};
      return { type: 'resource', uri, ...optional('mimeType', mimeType), ...held };
    }
    case 'resourceLink': {
      const { uri, name, mimeType } = kind.value;
      return { type: 'resource_link', uri, ...optional('name', name), ...optional('mimeType', mimeType) };
    }
    case undefined:
      return { type: 'unknown' };
  }
}

function optional(name: string, value: string): object {
  return value === '' ? {} : { [name]: value };
}

/** How a call ended, for programs: docs/cli.md documents the shape. */
export function endJson(end: CallResult): object {
  const { callId, ok, attempts } = end;
  const content = end.result === undefined ? {} : { content: end.result.content.map(blockJson) };
  if (!end.ok) return { callId, ok, attempts, error: end.error, ...content };
  return { callId, ok, attempts, ...(end.value === undefined ? {} : { value: end.value }), ...content };
}

const STATES: Readonly<Record<CallStatus, string>> = {
  [CallStatus.UNSPECIFIED]: 'ended',
  [CallStatus.QUEUED]: 'queued',
  [CallStatus.RUNNING]: 'running',
  [CallStatus.BACKING_OFF]: 'backing_off',
  [CallStatus.OPEN]: 'open',
  [CallStatus.INTERRUPTED]: 'interrupted',
  [CallStatus.DAMAGED]: 'damaged',
};

export function stateOf(call: Call): string {
  // A newer engine may know more states.
  return STATES[call.status] ?? 'unknown';
}

/** A call as it stands, for programs; `end` where it has ended. */
export function callJson(call: Call, end: CallResult | undefined): object {
  const { callId, sessionId, name, attempt, requestedAt, deadline } = call;
  return {
    callId,
    ...optional('sessionId', sessionId),
    name,
    arguments: call.arguments,
    state: stateOf(call),
    attempts: attempt,
    ...(requestedAt === undefined ? {} : { requestedAt: isoTime(requestedAt) }),
    ...(deadline === undefined || end !== undefined ? {} : { deadline: isoTime(deadline) }),
    ...(end === undefined ? {} : { end: endJson(end) }),
  };
}

export function isoTime({ seconds, nanos }: { readonly seconds: bigint; readonly nanos: number }): string {
  return new Date(Number(seconds) * 1_000 + nanos / 1_000_000).toISOString();
}

/** Shows an end to a person, the result on standard output and a failure on standard error, and sets the exit code. */
export function showEnd(end: CallResult): void {
  if (end.result !== undefined && end.ok) {
    for (const block of end.result.content)
      process.stdout.write(`${shown(blockText(block), process.stdout)}\n`);
    if (end.result.content.length === 0 && end.value !== undefined) {
      process.stdout.write(`${JSON.stringify(end.value, undefined, 2)}\n`);
    }
    return;
  }
  if (!end.ok) process.stderr.write(`${failureText(end)}\n`);
  process.exitCode = EXIT.toolFailed;
}

export function failureText({ attempts, error }: Extract<CallResult, { ok: false }>): string {
  const tries = attempts > 1 ? ` after ${attempts} attempts` : '';
  const code = styled(process.stderr, ['red', 'bold'], oneLine(error.code));
  return `${code}${tries}: ${harmless(error.message)}`;
}

/** Text as it is, the rest as one line that says what it is and where its bytes are. */
function blockText(block: Content): string {
  const { kind } = block;
  switch (kind.case) {
    case 'text':
      return kind.value.text;
    case 'blob':
      return `[${kind.value.mimeType}, ${kind.value.sizeBytes} bytes: spindle blob ${kind.value.uri}]`;
    case 'resourceLink':
      return `[${kind.value.uri}${kind.value.name === '' ? '' : ` ${oneLine(kind.value.name)}`}]`;
    case 'resource':
      if (kind.value.body.case === 'text') return kind.value.body.value;
      return `[${kind.value.uri}${kind.value.body.case === 'blob' ? `: spindle blob ${kind.value.body.value.uri}` : ''}]`;
    default:
      return `[${kind.case ?? 'a block that this version does not know'}]`;
  }
}
