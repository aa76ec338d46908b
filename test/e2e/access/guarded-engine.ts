import type { MessageInitShape } from '@bufbuild/protobuf';
import {
  AccessService,
  type CreateTokenRequestSchema,
  CredentialRole,
} from '../../../gen/spindle/v1/access_service_pb.ts';
import type { ToolSchema } from '../../../gen/spindle/v1/tool_pb.ts';
import type { EngineOptions } from '../../../src/main.ts';
import { openEngine, type TestEngine } from '../engine.ts';
import { openClient, type RawClient } from '../raw-client.ts';
import { connectWorker, type HelloInit, helloOf, type RawWorker } from '../raw-worker.ts';

export interface TestToken {
  readonly id: string;
  readonly secret: string;
}

/** An engine that asks who comes. */
export interface GuardedEngine extends AsyncDisposable {
  readonly engine: TestEngine;
  readonly admin: RawClient;
  token(role: CredentialRole, more?: MessageInitShape<typeof CreateTokenRequestSchema>): Promise<TestToken>;
  client(token: string): RawClient;
  worker(
    token: string,
    tools: readonly MessageInitShape<typeof ToolSchema>[],
    hello?: HelloInit,
  ): Promise<RawWorker>;
}

export async function openGuardedEngine(options: EngineOptions = {}): Promise<GuardedEngine> {
  const engine = await openEngine(options);
  const clients: RawClient[] = [];
  const workers: RawWorker[] = [];
  const client = (token: string): RawClient => {
    const opened = openClient(engine.address, { token });
    clients.push(opened);
    return opened;
  };
  const admin = client(engine.running.administratorToken);
  return {
    engine,
    admin,
    client,
    async token(role, more = {}) {
      const { token, secret } = await admin.call(AccessService.method.createToken, {
        role,
        tenant: 'acme',
        ...more,
      });
      return { id: token?.tokenId ?? '', secret };
    },
    async worker(token, tools, hello) {
      const worker = await connectWorker(engine.address, helloOf(tools, hello), { token });
      workers.push(worker);
      return worker;
    },
    async [Symbol.asyncDispose]() {
      for (const worker of workers) worker.vanish();
      for (const opened of clients) opened.close();
      await engine[Symbol.asyncDispose]();
    },
  };
}

export const { WORKER, CLIENT, OPERATOR } = CredentialRole;
