import { request as httpRequest } from 'node:http';
import { create } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { CallToolResponseSchema } from '../../../gen/spindle/v1/tool_service_pb.ts';
import { accepted } from '../../../src/core/refusal.ts';
import { post, serve } from '../serve.ts';

const echo = {
  callTool: async (request: { name: string }) =>
    accepted(create(CallToolResponseSchema, { callId: request.name })),
};

/** Raw, for headers that fetch does not let through. */
function get(url: string, headers: Record<string, string>): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    httpRequest(url, { headers }, async (response) => {
      let body = '';
      for await (const part of response) body += part;
      resolve({ status: response.statusCode ?? 0, body });
    })
      .on('error', reject)
      .end();
  });
}

describe('what else the HTTP port answers', () => {
  it('says at / what it is', async () => {
    await using served = await serve({});
    const response = await fetch(`${served.url}/`);
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ name: 'spindle', services: ['spindle.v1.ToolService'] });
    expect([...response.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
  });

  it.each([
    ['GET', '/nothing', 404, 'GET / lists'],
    ['POST', '/', 404, 'GET / lists'],
    ['POST', '/spindle.v1.WorkerService/Connect', 404, 'GET / lists'],
    ['GET', '/spindle.v1.ToolService/CallTool', 405, 'POST'],
    ['OPTIONS', '/spindle.v1.ToolService/CallTool', 405, 'POST'],
  ])('answers %s %s with %i and says where to look', async (method, path, status, text) => {
    await using served = await serve({});
    const response = await fetch(served.url + path, { method });
    expect(response.status).toBe(status);
    expect(((await response.json()) as { message: string }).message).toContain(text);
  });

  it.each([
    ['CallTool', 'text/plain'],
    ['CallTool', 'application/x-www-form-urlencoded'],
    ['ReadBlob', 'application/json'],
  ])('answers %s in %s with 415 and the types that it takes', async (method, type) => {
    await using served = await serve(echo);
    const response = await post(served, method, '{}', { 'content-type': type });
    expect(response.status).toBe(415);
    expect(await response.text()).toContain('application/connect+json');
  });

  it('refuses, on loopback, names that a rebound DNS entry would have', async () => {
    await using served = await serve(echo);
    const port = served.url.split(':').at(-1);
    const answers: [string, number][] = [];
    for (const host of [
      `localhost:${port}`,
      '127.0.0.1',
      `[::1]:${port}`,
      'LOCALHOST',
      'evil.example',
      '127.0.0.1.evil.example',
      '[',
      'a b',
      '10.0.0.1',
    ]) {
      answers.push([host, (await get(served.url, { host })).status]);
    }
    expect(answers.map(([, status]) => status)).toEqual([200, 200, 200, 200, 403, 403, 403, 403, 403]);
    expect((await get(served.url, { host: 'evil.example' })).body).toContain('localhost');
  });
});
