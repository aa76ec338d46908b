import type { DescMethod, Message } from '@bufbuild/protobuf';
import type { Caller } from '../../gen/spindle/v1/call_pb.ts';
import { accepted, type Outcome, type Refusal, refused } from '../core/refusal.ts';
import { namesAgent, roleOf } from '../core/rights.ts';
import { unreachable } from '../core/unreachable.ts';
import type { Lifetime } from '../engine/ports.ts';
import type { Duplex, RequestContext } from './handlers.ts';
import { nameOf } from './invoke.ts';
import { namedBy, type Rule, ruleOf } from './rules.ts';
import type { Method, MethodOf, Service } from './service.ts';

/** What tenants and credentials may use. */
export interface Admission {
  /** Whether a caller may begin a turn, or a session, now; undefined where it may. */
  begin(caller: Caller): Refusal | undefined;
  /** A stream that a caller opens; the result closes it. */
  stream(caller: Caller): Outcome<() => void>;
}

/** No bounds but those of the engine. */
export const UNBOUNDED: Admission = { begin: () => undefined, stream: () => UNCOUNTED };

const UNCOUNTED = accepted((): void => undefined);

/** The service with its methods behind their rules. Both ports serve nothing else. */
export function guarded(service: Service, admission: Admission): Service {
  return {
    ...service,
    methods: service.methods.map((method) => guard(method, ruleOf(method.desc), admission)),
  };
}

function guard(method: Method, rule: Rule, admission: Admission): Method {
  switch (method.kind) {
    case 'unary':
      return { ...method, handle: guardUnary(method, rule, admission) };
    case 'server_streaming':
      return { ...method, handle: guardServerStream(method, rule, admission) };
    case 'bidi_streaming':
      return { ...method, handle: guardBidi(method, rule, admission) };
    default:
      return unreachable(method);
  }
}

function guardUnary(
  { desc, handle }: MethodOf<'unary'>,
  rule: Rule,
  admission: Admission,
): MethodOf<'unary'>['handle'] {
  return async (request, context) => {
    const { caller, lifetime } = context;
    const refusal = faultOf(desc, rule, caller, request, admission);
    if (refusal !== undefined) return recorded(desc, context, request, { ok: false, refusal });
    const outcome = whileGood(lifetime, handle(request, context));
    return context.record === undefined ? outcome : recorded(desc, context, request, await outcome);
  };
}

type ServerStream = MethodOf<'server_streaming'>;

function guardServerStream(
  { desc, handle }: ServerStream,
  rule: Rule,
  admission: Admission,
): ServerStream['handle'] {
  return async (request, out, context) => {
    const { caller, lifetime } = context;
    const refusal = faultOf(desc, rule, caller, request, admission);
    recorded(desc, context, request, refusal === undefined ? BEGUN : { ok: false, refusal });
    if (refusal !== undefined) return { ok: false, refusal };
    const opened = admission.stream(caller);
    if (!opened.ok) return opened;
    if (lifetime === undefined) return handle(request, out, context).finally(opened.value);
    // The handler stops with its credential, as it would with its reader.
    const over = new AbortController();
    const signal = AbortSignal.any([context.signal, over.signal]);
    const outcome = await whileGood(lifetime, handle(request, out, { ...context, signal }));
    over.abort();
    opened.value();
    return outcome;
  };
}

/** What its messages name, and what has to be settled when its credential ends, the handler knows. */
function guardBidi(
  { desc, handle }: MethodOf<'bidi_streaming'>,
  rule: Rule,
  admission: Admission,
): MethodOf<'bidi_streaming'>['handle'] {
  return (duplex, context) => {
    const refusal = rightsFault(nameOf(desc), rule, context.caller);
    context.record?.({ method: nameOf(desc), outcome: refusal?.reason ?? 'ok' });
    if (refusal !== undefined) {
      duplex.end(refusal);
      return;
    }
    const opened = admission.stream(context.caller);
    if (!opened.ok) duplex.end(opened.refusal);
    else handle(opened === UNCOUNTED ? duplex : closing(duplex, opened.value), context);
  };
}

const BEGUN = accepted(undefined);

/** Puts into the record what was asked, and what became of it; a stream when it begins. */
function recorded<T>(
  desc: DescMethod,
  { record }: RequestContext,
  request: Message,
  outcome: Outcome<T>,
): Outcome<T> {
  if (record === undefined) return outcome;
  const { tool, agent, callId, sessionId } = namedBy(request);
  const name = tool === '' ? agent : tool;
  record({
    method: nameOf(desc),
    callId,
    sessionId,
    name,
    outcome: outcome.ok ? 'ok' : outcome.refusal.reason,
  });
  return outcome;
}

/** Hears of the end of a stream, whichever side ends it. */
function closing(duplex: Duplex<Message, Message>, closed: () => void): Duplex<Message, Message> {
  return {
    ...duplex,
    onGone: (gone) =>
      duplex.onGone((reason) => {
        closed();
        gone(reason);
      }),
    end(refusal) {
      closed();
      duplex.end(refusal);
    },
  };
}

function faultOf(
  desc: DescMethod,
  rule: Rule,
  caller: Caller,
  request: Message,
  admission: Admission,
): Refusal | undefined {
  const fault = rightsFault(nameOf(desc), rule, caller) ?? agentFault(caller, request);
  return fault ?? (rule.begins ? admission.begin(caller) : undefined);
}

/** Why a caller may not call a method at all; undefined where it may. */
export function rightsFault(method: string, { roles }: Rule, caller: Caller): Refusal | undefined {
  const role = roleOf(caller);
  if (roles.has(role)) return undefined;
  const wanted = [...roles].filter((other) => other !== 'anonymous').join(' or ');
  return refused('not_permitted', `${method} is for ${wanted} credentials; yours is ${role}.`, {
    method,
    role,
  }).refusal;
}

/** Tools are held to in the engine, which calls them on several ways; agents are named by requests alone (9.2). */
function agentFault(caller: Caller, request: Message): Refusal | undefined {
  if (roleOf(caller) === 'anonymous') return undefined;
  const { agent } = namedBy(request);
  if (agent === '' || namesAgent(caller, agent)) return undefined;
  return refused('not_permitted', `Your credential does not name the agent ${agent}.`, { agent }).refusal;
}

/** What is told where a credential ended while its request was being answered. */
export const CREDENTIAL_ENDED = refused(
  'credential_expired',
  'The credential expired or was revoked. What was asked for may go on; ask for it with another credential.',
).refusal;

/** The outcome, or that the credential ended before there was one. */
function whileGood<T>(lifetime: Lifetime | undefined, outcome: Promise<Outcome<T>>): Promise<Outcome<T>> {
  if (lifetime === undefined) return outcome;
  return new Promise((resolve, reject) => {
    const stop = lifetime.whenOver(() => resolve({ ok: false, refusal: CREDENTIAL_ENDED }));
    outcome.then(resolve, reject).finally(stop);
  });
}
