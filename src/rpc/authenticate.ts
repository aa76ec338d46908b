import { accepted } from '../core/refusal.ts';
import { ANONYMOUS } from '../core/rights.ts';
import type { Credentials } from '../engine/ports.ts';

const EVERYBODY = accepted({ caller: ANONYMOUS });

/** Asks nobody: every caller is the anonymous one of the default tenant (9.1). */
export const NO_CREDENTIALS: Credentials = { authenticate: () => EVERYBODY };
