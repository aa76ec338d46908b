import type { ReceivedSpan } from './otlp/messages.ts';
import type { Receiver } from './otlp/receiver.ts';

/** The spans of a call, once it has ended: its own, and those of its attempts in their order. */
export async function spansOf(receiver: Receiver, callId: string) {
  const mine = (span: ReceivedSpan): boolean => span.attributes['gen_ai.tool.call.id'] === callId;
  const isCall = (span: ReceivedSpan): boolean => mine(span) && span.name.startsWith('execute_tool');
  await receiver.until(({ spans }) => spans.some(isCall));
  const spans = receiver.spans.filter(mine);
  const [call, ...more] = spans.filter(isCall);
  if (call === undefined || more.length > 0) throw new Error('a call has one span');
  const attempts = spans
    .filter(({ attributes }) => 'spindle.attempt.number' in attributes)
    .sort(
      (a, b) =>
        Number(a.attributes['spindle.attempt.number']) - Number(b.attributes['spindle.attempt.number']),
    );
  return { call, attempts };
}
