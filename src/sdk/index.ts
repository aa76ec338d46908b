/** What a service imports to call tools, and to define them. Workers import `spindle/worker`. */

export { type Call, CallStatus } from '../../gen/spindle/v1/call_pb.ts';
export type { SessionEvent } from '../../gen/spindle/v1/event_pb.ts';
export type { Content, ToolResult } from '../../gen/spindle/v1/result_pb.ts';
export { type OpenItem, OpenReason, type Session } from '../../gen/spindle/v1/session_service_pb.ts';
export type { ServedTool } from '../../gen/spindle/v1/tool_service_pb.ts';
export {
  type Administrator,
  type AuditInfo,
  createAdministrator,
  type TokenInfo,
  type TokenOptions,
} from './administrator.ts';
export * from './agents.ts';
export type { CallEvent } from './client/call-event.ts';
export type {
  AnyArguments,
  CallOptions,
  RawArguments,
  ToolReference,
  WaitOptions,
} from './client/call-request.ts';
export { type CallFailure, type CallResult, callEnd } from './client/call-result.ts';
export {
  type CallAddress,
  type Client,
  type ClientOptions,
  createClient,
  type EventsOptions,
  type ListOptions,
  type Settlement,
  type SettleOptions,
  type Verdict,
} from './client/client.ts';
export * from './definitions.ts';
export { type ConnectOptions, DEFAULT_ADDRESS, type TlsOptions } from './grpc/connect-options.ts';
export type { Interrupt, InterruptAnswer, InterruptHandler } from './session/interrupt.ts';
export type {
  DeltaEvent,
  LogEvent,
  PausedEvent,
  SessionUpdateEvent,
  TurnEvent,
} from './session/session-event.ts';
export type {
  AgentReference,
  CreateSessionOptions,
  RunOptions,
  RunTurnOptions,
  SessionState,
  StartedTurn,
  TurnState,
  WatchOptions,
} from './session/session-options.ts';
export type { Sessions } from './session/sessions.ts';
export type { ActionInput, StartTurnOptions, TurnInput } from './session/turn-input.ts';
export type { TurnResult } from './session/turn-result.ts';
export { SpindleError, type StatusName } from './spindle-error.ts';
