/** Times of the suite, in milliseconds. Short where the rules let the engine choose, so that a run is short. */

/** How long the worker has for its next frame or connection, unless a rule says otherwise. */
export const FRAME_TIMEOUT_MS = 10_000;
/** How long the command has to connect at first: it may have to be compiled. */
export const START_TIMEOUT_MS = 120_000;
/** How long an engine has to take a connection. */
export const REACH_TIMEOUT_MS = 5_000;
/** What the welcome says about heartbeats, silence and grace. */
export const HEARTBEAT_MS = 250;
export const SILENCE_MS = 2_000;
export const RESUME_GRACE_MS = 30_000;
/** Nothing may come for so long where a rule forbids it. */
export const QUIET_MS = 1_500;
/** The same for what an engine must not do: it is quicker than a worker in any language. */
export const ENGINE_QUIET_MS = 300;
/** How long a process has to end, after SIGTERM and by itself. */
export const EXIT_TIMEOUT_MS = 35_000;
/** What is kept of what the worker prints, to be shown when a rule fails. */
export const MAX_OUTPUT_BYTES = 16 * 1024;
