import type { Server } from '@grpc/grpc-js';
import { HealthImplementation } from 'grpc-health-check';
import type { Service } from './service.ts';

/** The standard health service, for load balancers and orchestrators. */
export interface Health {
  /** Answers NOT_SERVING from now on, so that nobody sends new work to an engine that drains. */
  stop(): void;
}

/** Answers for the whole server, under the empty name, and for each service. */
export function addHealth(server: Server, services: readonly Service[]): Health {
  const names = ['', ...services.map(({ desc }) => desc.typeName)];
  const health = new HealthImplementation(Object.fromEntries(names.map((name) => [name, 'SERVING'])));
  health.addToServer(server);
  return {
    stop() {
      for (const name of names) health.setStatus(name, 'NOT_SERVING');
    },
  };
}
