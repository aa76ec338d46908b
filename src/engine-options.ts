import type { MessageInitShape } from '@bufbuild/protobuf';
import type { AgentConfigSchema } from '../gen/spindle/v1/agent_pb.ts';
import type { RetryPoliciesSchema } from '../gen/spindle/v1/retry_pb.ts';
import type { AccessSettings } from './access/access.ts';
import type { ConnectorOptions } from './connectors/options.ts';
import type { Observer } from './engine/ports.ts';
import type { ModelProvider } from './models/model-provider.ts';
import type { ProviderSettings } from './models/provider-settings.ts';
import type { TelemetryOptions } from './telemetry/telemetry.ts';

/** What an engine is started with. All of it has a default. */
export interface EngineOptions extends AccessSettings {
  /** HOST:PORT of the gRPC port, for workers and services. Port 0 lets the system choose. Default 127.0.0.1:7433. */
  readonly listen?: string;
  /** HOST:PORT for gRPC-Web, Connect and JSON, or false for no such port. Default 127.0.0.1:7434. */
  readonly http?: string | false;
  /** Where calls are kept: `memory:`, or `sqlite:PATH`. Default sqlite:./spindle-data/spindle.db. */
  readonly journal?: string;
  /** Retry policies of the deployment, between the engine's own and those of tools and calls. */
  readonly retry?: MessageInitShape<typeof RetryPoliciesSchema>;
  /**
   * Listen on an address that other machines reach, though nobody has to prove who they are, or in plain text.
   * Without it such an address is refused (9.1).
   */
  readonly insecure?: boolean;
  /**
   * Names under which the HTTP port answers, beside addresses and those of loopback. Without it: no other, so that no
   * page in a browser reaches it by a name of its own; or any, where tokens alone let somebody in.
   */
  readonly httpHosts?: readonly string[];
  /** Whether the gRPC port tells its contracts by reflection. Default true, to whoever has a credential. */
  readonly reflection?: boolean;
  /** Whether the gRPC port answers health checks, of anybody. Default true. */
  readonly health?: boolean;
  /**
   * How long a worker that is away keeps what it holds, in milliseconds (5.3). Shorter, a worker that died is
   * known as lost sooner; longer, one that is only cut off has more time to come back. Default 30,000.
   */
  readonly resumeGraceMs?: number;
  /** How long calls are kept after their end, in milliseconds; then their ids are free again (4.12). Default 7 days. */
  readonly retainMs?: number;
  /** Model providers by name, for models that are named provider/model. */
  readonly providers?: Readonly<Record<string, ProviderSettings>>;
  /** Model providers that this program brings itself, by name: a scripted one for tests, say. */
  readonly models?: Readonly<Record<string, ModelProvider>>;
  /** The files of scripted models, by the names of their providers (docs/local-model.md). */
  readonly scripts?: Readonly<Record<string, string>>;
  /** Agents by their ids, for sessions that no worker configures. */
  readonly agents?: Readonly<Record<string, MessageInitShape<typeof AgentConfigSchema>>>;
  /**
   * Ids of agents that may call their tools for callers whose credentials name others alone, as a clerk does what a
   * customer may not. Default: none, so that an agent never does for somebody what they may not do themselves (9.2).
   */
  readonly privilegedAgents?: readonly string[];
  /** MCP servers whose tools the engine calls, by their ids. */
  readonly connectors?: Readonly<Record<string, ConnectorOptions>>;
  /** Spans and metrics (8). Default: none, and their libraries are not loaded. */
  readonly telemetry?: TelemetryOptions;
  /** Hears what an operator should know. Default: nobody. */
  readonly observer?: Observer;
}

/** An engine in this process. */
export interface RunningEngine {
  /** HOST:PORT, with the port that the system chose. */
  readonly grpcAddress: string;
  readonly httpAddress: string | undefined;
  /** Where Prometheus finds /metrics. */
  readonly metricsAddress: string | undefined;
  readonly journal: string;
  /** The bearer token that makes and ends tokens of any tenant (AccessService), and can do nothing else. A secret. */
  readonly administratorToken: string;
  /** Resolves with the reason when the engine cannot go on: its journal failed (7.4). Call `stop` then. */
  readonly failed: Promise<Error>;
  /** Takes no more calls, gives running ones this long, in milliseconds, and closes. */
  stop(graceMs?: number): Promise<void>;
}
