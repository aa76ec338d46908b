import { describe, expect, it } from 'vitest';
import { MAX_TRACE_CONTEXT_BYTES } from '../../src/core/limits.ts';
import { traceContextOf } from '../../src/rpc/trace-context.ts';

const TRACEPARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

function contextOf(headers: Record<string, string>) {
  return traceContextOf((name) => headers[name]);
}

describe('8.2: the trace context of a request', () => {
  it('is what the standard names, and nothing else', () => {
    const headers = {
      traceparent: TRACEPARENT,
      tracestate: 'a=1',
      baggage: 'k=v',
      authorization: 'Bearer secret',
    };
    expect(contextOf(headers)).toEqual({ traceparent: TRACEPARENT, tracestate: 'a=1', baggage: 'k=v' });
  });

  it('is empty where there is none', () => {
    expect(contextOf({})).toEqual({});
  });

  it.each([
    ['other text', 'hello'],
    ['upper case', TRACEPARENT.toUpperCase()],
    ['no trace', `00-${'0'.repeat(32)}-b7ad6b7169203331-01`],
    ['no parent', `00-0af7651916cd43dd8448eb211c80319c-${'0'.repeat(16)}-01`],
    ['the forbidden version', `ff${TRACEPARENT.slice(2)}`],
    ['a line break behind it', `${TRACEPARENT}\n`],
    ['a second one', `${TRACEPARENT},${TRACEPARENT}`],
  ])('leaves out a traceparent with %s, and the state that belongs to it', (_what, traceparent) => {
    expect(contextOf({ traceparent, tracestate: 'a=1', baggage: 'k=v' })).toEqual({ baggage: 'k=v' });
  });

  it('takes a later version with more behind it', () => {
    const traceparent = `01${TRACEPARENT.slice(2)}-more`;
    expect(contextOf({ traceparent })).toEqual({ traceparent });
  });

  it('leaves out what is not ASCII', () => {
    expect(contextOf({ traceparent: TRACEPARENT, tracestate: 'é=1', baggage: '' })).toEqual({
      traceparent: TRACEPARENT,
    });
  });

  it('leaves out what does not fit', () => {
    const baggage = 'x'.repeat(MAX_TRACE_CONTEXT_BYTES);
    expect(contextOf({ traceparent: TRACEPARENT, tracestate: 'a=1', baggage })).toEqual({
      traceparent: TRACEPARENT,
      tracestate: 'a=1',
    });
  });
});
