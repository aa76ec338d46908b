import { isConnectorInstance } from '../core/connector-instance.ts';
import type { ExpectedLease, Workers } from '../engine/ports.ts';

/** What connectors do of the port Workers: they decide nothing, and an answer of theirs is never sent again. */
export interface ConnectorWorkers
  extends Pick<
    Workers,
    'find' | 'knows' | 'served' | 'reserve' | 'release' | 'dispatch' | 'stop' | 'expect' | 'listen'
  > {
  /** Whether a connector has this name for itself. */
  offers(tenant: string, toolName: string): boolean;
  /** Whether a call of a connector holds this lease. */
  holds(leaseToken: string): boolean;
}

export interface JoinedWorkersOptions {
  readonly connected: Workers;
  /** Undefined where no connector is configured. */
  readonly connectors: ConnectorWorkers | undefined;
  /** Hears whenever what a tenant is offered may have changed. */
  readonly touched: (tenant: string) => void;
}

/** Connected workers and connectors as one. A name that both have is the connector's (4.11). */
export function joinWorkers({ connected, connectors, touched }: JoinedWorkersOptions): Workers {
  const holderOf = (leaseToken: string): Pick<Workers, 'release' | 'dispatch' | 'stop'> =>
    connectors?.holds(leaseToken) === true ? connectors : connected;

  return {
    find: (tenant, toolName) => connectors?.find(tenant, toolName) ?? connected.find(tenant, toolName),
    knows: (tenant, digest) => connectors?.knows(tenant, digest) === true || connected.knows(tenant, digest),
    served(tenant) {
      if (connectors === undefined) return connected.served(tenant);
      const others = connected
        .served(tenant)
        .filter(({ definition }) => !connectors.offers(tenant, definition.tool.name));
      return [...connectors.served(tenant), ...others];
    },
    offered(tenant) {
      if (connectors === undefined) return connected.offered(tenant);
      const others = connected.offered(tenant).filter(({ tool }) => !connectors.offers(tenant, tool.name));
      return [...connectors.served(tenant).map(({ definition }) => definition), ...others];
    },
    reserve(tenant, toolName, sessionId, last) {
      const side = connectors?.offers(tenant, toolName) === true ? connectors : connected;
      return side.reserve(tenant, toolName, sessionId, last);
    },
    isBound: (tenant, instanceId, agentId) => connected.isBound(tenant, instanceId, agentId),
    binding: (tenant, agentId) => connected.binding(tenant, agentId),
    reserveDecider: (tenant, agentId, trigger, sessionId, last) =>
      connected.reserveDecider(tenant, agentId, trigger, sessionId, last),
    contextOf: (leaseToken) => connected.contextOf(leaseToken),
    release: (leaseToken) => holderOf(leaseToken).release(leaseToken),
    dispatch: (leaseToken, dispatch) => holderOf(leaseToken).dispatch(leaseToken, dispatch),
    stop: (leaseToken, reason) => holderOf(leaseToken).stop(leaseToken, reason),
    acknowledge(tenant, instanceId, leaseToken, verdict, reason) {
      if (isConnectorInstance(instanceId)) return;
      connected.acknowledge(tenant, instanceId, leaseToken, verdict, reason);
    },
    expect(leases) {
      const ofConnector = ({ instanceId }: ExpectedLease): boolean => isConnectorInstance(instanceId);
      connectors?.expect(leases.filter(ofConnector));
      // Without a connector nobody will ever answer for its leases: they are as lost as those of a worker.
      connected.expect(connectors === undefined ? leases : leases.filter((lease) => !ofConnector(lease)));
    },
    listen(listener) {
      const heard = {
        ...listener,
        available(tenant: string) {
          listener.available(tenant);
          touched(tenant);
        },
      };
      connected.listen(heard);
      connectors?.listen(heard);
    },
  };
}
