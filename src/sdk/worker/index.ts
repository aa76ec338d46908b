/** What a worker imports, as `spindle/worker`: it loads no engine, and imports in a moment. */

export * from '../agents.ts';
export * from '../definitions.ts';
export { type ConnectOptions, DEFAULT_ADDRESS, type TlsOptions } from '../grpc/connect-options.ts';
export { SpindleError, type StatusName } from '../spindle-error.ts';
export type { WorkerStatus } from './status.ts';
export { createWorker, type Worker, type WorkerOptions } from './worker.ts';
