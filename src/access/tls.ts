import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import { TLS_RECHECK_MS } from '../core/limits.ts';
import type { Millis } from '../core/time.ts';
import type { Clock, Observer } from '../engine/ports.ts';

/** PEM files of the engine. */
export interface TlsFiles {
  readonly certificate: string;
  readonly key: string;
  /** The authority that signs clients' certificates. Absent: none is asked for. */
  readonly clientAuthority?: string | undefined;
  /** How often they are looked at for a change. TLS_RECHECK_MS if not given. */
  readonly recheckMs?: Millis | undefined;
}

/** What the files hold. */
export interface TlsMaterial {
  readonly certificate: Buffer;
  readonly key: Buffer;
  readonly clientAuthority: Buffer | undefined;
}

/** Certificate and key of both ports, as they are now. */
export interface Tls {
  readonly current: TlsMaterial;
  /** Calls back with each change. New connections have the new certificate; others go on. */
  onChange(changed: (material: TlsMaterial) => void): void;
  close(): void;
}

export interface TlsOptions {
  readonly files: TlsFiles;
  readonly clock: Clock;
  readonly observer: Observer;
}

/**
 * Reads the files, and reads them again for as long as the engine runs: whoever renews a certificate need not know
 * of the engine. Rejects for files that cannot be read or do not fit each other; later, such files change nothing.
 */
export async function openTls({ files, clock, observer }: TlsOptions): Promise<Tls> {
  const { recheckMs = TLS_RECHECK_MS } = files;
  let current = await read(files);
  const listeners: ((material: TlsMaterial) => void)[] = [];
  let broken = false;
  let closed = false;
  let disarm: () => void;

  const look = async (): Promise<void> => {
    try {
      const found = await read(files);
      broken = false;
      if (isSame(found, current)) return;
      current = found;
      for (const changed of listeners) changed(found);
      observer.report('info', 'tls_reloaded', { certificate: files.certificate });
    } catch (error) {
      // A pair of files is replaced one after the other: between the two they do not fit.
      if (!broken) observer.report('warn', 'tls_not_reloaded', { error: messageOf(error) });
      broken = true;
    }
  };
  const arm = (): void => {
    disarm = clock.alarm(clock.now() + recheckMs, () => {
      look().finally(() => {
        if (!closed) arm();
      });
    });
  };
  arm();
  return {
    get current() {
      return current;
    },
    onChange(changed) {
      listeners.push(changed);
    },
    close() {
      closed = true;
      disarm();
    },
  };
}

async function read({ certificate, key, clientAuthority }: TlsFiles): Promise<TlsMaterial> {
  const material = {
    certificate: await readPem(certificate),
    key: await readPem(key),
    clientAuthority: clientAuthority === undefined ? undefined : await readPem(clientAuthority),
  };
  try {
    createSecureContext({ cert: material.certificate, key: material.key, ca: material.clientAuthority });
  } catch (error) {
    throw new Error(`${certificate} and ${key} cannot be used for TLS: ${messageOf(error)}`, {
      cause: error,
    });
  }
  return material;
}

async function readPem(path: string): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch (error) {
    throw new Error(`${path} cannot be read for TLS: ${messageOf(error)}`, { cause: error });
  }
}

function isSame(one: TlsMaterial, other: TlsMaterial): boolean {
  return (
    one.certificate.equals(other.certificate) &&
    one.key.equals(other.key) &&
    (one.clientAuthority ?? NOTHING).equals(other.clientAuthority ?? NOTHING)
  );
}

const NOTHING = Buffer.alloc(0);

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
