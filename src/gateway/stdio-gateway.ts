import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { MAX_MESSAGE_BYTES } from '../core/limits.ts';
import { type GatewaySessionOptions, openGatewaySession } from './session.ts';

export interface StdioGatewayOptions extends GatewaySessionOptions {
  readonly input: Readable;
  readonly output: Writable;
}

/** Serves one MCP client over a pair of streams, until the client closes its own. Calls go on (4.10). */
export async function serveStdio({ input, output, ...options }: StdioGatewayOptions): Promise<void> {
  const transport = new StdioServerTransport(input, output, { maxBufferSize: MAX_MESSAGE_BYTES });
  const over = Promise.race([once(input, 'end'), once(input, 'close')]);
  const closed = Promise.withResolvers<void>();
  transport.onclose = closed.resolve;
  const session = await openGatewaySession(transport as Transport, options);
  // The transport closes by itself where a message is larger than it may be.
  await Promise.race([over, closed.promise]);
  await session.close();
}
