import type { Message } from '@bufbuild/protobuf';
import type { Caller } from '../../gen/spindle/v1/call_pb.ts';
import { type Outcome, type Refusal, refused } from '../core/refusal.ts';
import { namesAgent, roleOf } from '../core/rights.ts';
import { unreachable } from '../core/unreachable.ts';
import type { Lifetime } from '../engine/ports.ts';
import { nameOf } from './invoke.ts';
import { namedBy, type Rule, ruleOf } from './rules.ts';
import type { Method, MethodOf, Service } from './service.ts';

/** The service with its methods behind their rules. Both ports serve nothing else. */
export function guarded(service: Service): Service {
  return { ...service, methods: service.methods.map((method) => guard(method, ruleOf(method.desc))) };
}

function guard(method: Method, rule: Rule): Method {
  switch (method.kind) {
    case 'unary':
      return { ...method, handle: guardUnary(method, rule) };
    case 'server_streaming':
      return { ...method, handle: guardServerStream(method, rule) };
    case 'bidi_streaming':
      return { ...method, handle: guardBidi(method, rule) };
    default:
      return unreachable(method);
  }
}

function guardUnary({ desc, handle }: MethodOf<'unary'>, rule: Rule): MethodOf<'unary'>['handle'] {
  return async (request, context) => {
    const { caller, lifetime } = context;
    const refusal = rightsFault(nameOf(desc), rule, caller) ?? agentFault(caller, request);
    if (refusal !== undefined) return { ok: false, refusal };
    return whileGood(lifetime, handle(request, context));
  };
}

type ServerStream = MethodOf<'server_streaming'>;

function guardServerStream({ desc, handle }: ServerStream, rule: Rule): ServerStream['handle'] {
  return async (request, out, context) => {
    const { caller, lifetime } = context;
    const refusal = rightsFault(nameOf(desc), rule, caller) ?? agentFault(caller, request);
    if (refusal !== undefined) return { ok: false, refusal };
    if (lifetime === undefined) return handle(request, out, context);
    // The handler stops with its credential, as it would with its reader.
    const over = new AbortController();
    const signal = AbortSignal.any([context.signal, over.signal]);
    const outcome = await whileGood(lifetime, handle(request, out, { ...context, signal }));
    over.abort();
    return outcome;
  };
}

/** What its messages name, and what has to be settled when its credential ends, the handler knows. */
function guardBidi(
  { desc, handle }: MethodOf<'bidi_streaming'>,
  rule: Rule,
): MethodOf<'bidi_streaming'>['handle'] {
  return (duplex, context) => {
    const refusal = rightsFault(nameOf(desc), rule, context.caller);
    if (refusal === undefined) handle(duplex, context);
    else duplex.end(refusal);
  };
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
