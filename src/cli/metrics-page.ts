import { get } from 'node:http';
import { get as getSecurely } from 'node:https';
import type { ConnectOptions } from '../sdk/index.ts';
import { CommandError } from './command-error.ts';
import { EXIT } from './exit-code.ts';

/** What proves to an engine who asks, and to us which engine answers. */
export type Introduction = Pick<ConnectOptions, 'token' | 'tls'>;

interface Answer {
  readonly status: number;
  readonly text: string;
}

/** The metrics of an engine, as Prometheus reads them. Rejects with a CommandError. */
export async function readMetrics(address: string, introduction: Introduction): Promise<string> {
  const url = `${isPlain(introduction.tls) ? 'http' : 'https'}://${address}/metrics`;
  const { status, text } = await ask(url, introduction).catch((error: unknown) => {
    throw new CommandError(
      EXIT.unreachable,
      'no_metrics',
      `There are no metrics at ${url}: ${error instanceof Error ? error.message : String(error)}`,
      `Start the engine with --metrics ${address}, or say with --metrics where they are.`,
    );
  });
  if (status === 200) return text;
  if (status === 401 || status === 403)
    throw new CommandError(EXIT.refused, 'no_metrics', text.trim(), 'Put the token in SPINDLE_TOKEN.');
  throw new CommandError(EXIT.unreachable, 'no_metrics', `${url} answers with status ${status}.`);
}

function isPlain(tls: Introduction['tls']): boolean {
  return tls === undefined || tls === false;
}

const bufferOf = (bytes: Uint8Array | undefined): Buffer | undefined => bytes && Buffer.from(bytes);

async function ask(url: string, { token, tls }: Introduction): Promise<Answer> {
  const bearer = typeof token === 'function' ? await token() : token;
  const headers = bearer === undefined ? {} : { authorization: `Bearer ${bearer}` };
  const { authority, certificate, key } = typeof tls === 'object' ? tls : {};
  const files = { ca: bufferOf(authority), cert: bufferOf(certificate), key: bufferOf(key) };
  return new Promise((resolve, reject) => {
    const request = isPlain(tls) ? get(url, { headers }) : getSecurely(url, { headers, ...files });
    request.once('error', reject);
    request.once('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.once('error', reject);
      response.once('end', () =>
        resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString('utf8') }),
      );
    });
  });
}
