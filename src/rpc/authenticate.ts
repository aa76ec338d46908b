import { create } from '@bufbuild/protobuf';
import { type Caller, CallerSchema } from '../../gen/spindle/v1/call_pb.ts';
import { accepted, type Outcome } from '../core/refusal.ts';

const ANONYMOUS: Caller = create(CallerSchema, { tenant: 'default', subject: 'anonymous' });

/**
 * Says who asks, for every request of either port. No credentials can be configured yet, so everybody is the
 * anonymous caller of the default tenant; this is the one place that looks at credentials (9.2).
 */
export function authenticate(): Outcome<Caller> {
  return accepted(ANONYMOUS);
}
