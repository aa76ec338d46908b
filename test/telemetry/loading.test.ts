import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../..');

/** The packages of OpenTelemetry that an engine loads which is started and stopped with these options. */
function loadedBy(options: object): readonly string[] {
  const script = `
    const { registerHooks } = await import('node:module');
    const seen = [];
    registerHooks({ load(url, context, next) { seen.push(url); return next(url, context); } });
    const { createEngine } = await import(${JSON.stringify(join(ROOT, 'src/main.ts'))});
    const engine = await createEngine({ journal: 'memory:', listen: '127.0.0.1:0', http: false, ...${JSON.stringify(options)} });
    await engine.stop(0);
    console.log(JSON.stringify(seen));
    process.exit();`;
  const run = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    encoding: 'utf8',
    cwd: ROOT,
  });
  const urls: readonly string[] = JSON.parse(run.stdout);
  const packages = urls.flatMap((url) => /node_modules\/(@opentelemetry\/[^/]+)/.exec(url)?.[1] ?? []);
  return [...new Set(packages)].toSorted();
}

describe('what telemetry loads', () => {
  it('8: nothing of OpenTelemetry where nothing is configured', () => {
    expect(loadedBy({})).toEqual([]);
    expect(loadedBy({ telemetry: { variables: { OTEL_SERVICE_NAME: 'x' } } })).not.toContain(
      '@opentelemetry/sdk-trace',
    );
  });

  it('8.7: the exporter of the protocol that is configured, and not the other', () => {
    const variables = { OTEL_TRACES_EXPORTER: 'otlp', OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf' };
    const loaded = loadedBy({ telemetry: { variables } });
    expect(loaded).toContain('@opentelemetry/exporter-trace-otlp-proto');
    expect(loaded).not.toContain('@opentelemetry/exporter-trace-otlp-grpc');
  });

  it('8: the SDK is imported by three files alone, and the API by telemetry and the worker', () => {
    const files = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' });
    const importing = (pattern: RegExp): readonly string[] =>
      files.filter(
        (name) => name.endsWith('.ts') && pattern.test(readFileSync(join(ROOT, 'src', name), 'utf8')),
      );
    expect(importing(/'@opentelemetry\/(?!api')/).toSorted()).toEqual([
      'telemetry/exporters.ts',
      'telemetry/metrics-endpoint.ts',
      'telemetry/open-telemetry.ts',
    ]);
    const others = importing(/'@opentelemetry\/api'/).filter((name) => !name.startsWith('telemetry/'));
    expect(others).toEqual(['sdk/worker/handler-spans.ts']);
  });
});
