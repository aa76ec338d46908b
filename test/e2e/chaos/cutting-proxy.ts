import { connect, createServer, type Socket } from 'node:net';

/** Stands between processes and an engine, and cuts connections. */
export interface CuttingProxy extends AsyncDisposable {
  /** HOST:PORT to connect to. */
  readonly address: string;
  readonly cuts: number;
  /** Cuts a connection that is open, by a draw from [0, 1). Both ends see a reset. */
  cut(draw: number): void;
}

export async function openCuttingProxy(target: string): Promise<CuttingProxy> {
  const [host = '', port = ''] = target.split(':');
  const pairs = new Set<readonly [Socket, Socket]>();
  let cuts = 0;
  const sever = (pair: readonly [Socket, Socket]): void => {
    pairs.delete(pair);
    for (const socket of pair) socket.resetAndDestroy();
  };
  const server = createServer((inner) => {
    const outer = connect(Number(port), host);
    const pair = [inner, outer] as const;
    pairs.add(pair);
    for (const socket of pair) {
      socket.setNoDelay(true);
      // A reset of one end is told to the other.
      socket.on('error', () => sever(pair));
      socket.on('close', () => sever(pair));
    }
    inner.pipe(outer).pipe(inner);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const bound = server.address();
  if (bound === null || typeof bound === 'string') throw new Error('the proxy has no port');
  return {
    address: `127.0.0.1:${bound.port}`,
    get cuts() {
      return cuts;
    },
    cut(draw) {
      const pair = [...pairs][Math.floor(draw * pairs.size)];
      if (pair === undefined) return;
      cuts += 1;
      sever(pair);
    },
    async [Symbol.asyncDispose]() {
      // First of all it takes no more: who was cut would be back before the last one is.
      const closed = new Promise((resolve) => server.close(resolve));
      for (const pair of [...pairs]) sever(pair);
      await closed;
    },
  };
}
