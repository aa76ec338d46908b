import type { Caller } from '../../gen/spindle/v1/call_pb.ts';
import type { Engine } from '../engine/engine.ts';
import type { CatalogWatch } from './catalog-watch.ts';
import type { HttpGateway, HttpGatewayOptions } from './http-gateway.ts';

export interface LazyGatewayOptions extends Omit<HttpGatewayOptions, 'sourceFor'> {
  readonly engine: Engine;
  readonly catalog: CatalogWatch;
}

/** The gateway over an engine in this process. Its library is loaded with the first request of an MCP client. */
export function lazyGateway({ engine, catalog, ...options }: LazyGatewayOptions): HttpGateway {
  let loading: Promise<HttpGateway> | undefined;
  const load = async (): Promise<HttpGateway> => {
    const { createHttpGateway } = await import('./http-gateway.ts');
    const { engineSource } = await import('./engine-source.ts');
    const sourceFor = (caller: Caller) => engineSource(engine, catalog, caller);
    return createHttpGateway({ ...options, sourceFor });
  };
  return {
    async handle(request, response, caller) {
      loading ??= load();
      await (await loading).handle(request, response, caller);
    },
    async close() {
      await (await loading)?.close();
    },
  };
}
