import { describe, expect, it } from 'vitest';
import { isWanted, telemetrySettings, type Variables } from '../../src/telemetry/settings.ts';

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' };

describe('the standard variables of OpenTelemetry', () => {
  it('8.7: ask for nothing where none is set', () => {
    expect(isWanted(telemetrySettings({}))).toBe(false);
  });

  it.each<[string, Variables, object]>([
    [
      'an endpoint turns on both signals',
      ENDPOINT,
      {
        traces: { protocol: 'http/protobuf', url: 'http://collector:4318/v1/traces' },
        metrics: { protocol: 'http/protobuf', url: 'http://collector:4318/v1/metrics' },
      },
    ],
    [
      'over gRPC an endpoint has no path',
      { ...ENDPOINT, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' },
      {
        traces: { protocol: 'grpc', url: 'http://collector:4318' },
      },
    ],
    [
      'an endpoint of one signal is taken as it is',
      { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://c/x' },
      {
        traces: { url: 'http://c/x' },
        metrics: undefined,
      },
    ],
    [
      'a signal may have a protocol of its own',
      { ...ENDPOINT, OTEL_EXPORTER_OTLP_METRICS_PROTOCOL: 'grpc' },
      {
        traces: { protocol: 'http/protobuf' },
        metrics: { protocol: 'grpc', url: 'http://collector:4318' },
      },
    ],
    [
      'an exporter may be named without an endpoint',
      { OTEL_TRACES_EXPORTER: 'otlp' },
      {
        traces: { url: undefined },
        metrics: undefined,
      },
    ],
    ['none turns a signal off', { ...ENDPOINT, OTEL_TRACES_EXPORTER: 'none' }, { traces: undefined }],
    [
      'prometheus is an exporter of metrics',
      { OTEL_METRICS_EXPORTER: 'otlp,prometheus' },
      {
        metrics: { url: undefined },
        prometheus: 'localhost:9464',
      },
    ],
    [
      'all of it can be disabled',
      { ...ENDPOINT, OTEL_SDK_DISABLED: 'true' },
      {
        traces: undefined,
        metrics: undefined,
      },
    ],
    [
      'the sampler is that of the standard where none is named',
      {},
      {
        sampler: { kind: 'parentbased_always_on', ratio: 1 },
      },
    ],
    [
      'a sampler may have an argument',
      { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.25' },
      {
        sampler: { kind: 'traceidratio', ratio: 0.25 },
      },
    ],
    [
      'batches have their bounds',
      { OTEL_BSP_MAX_QUEUE_SIZE: '8', OTEL_BSP_SCHEDULE_DELAY: '10' },
      {
        batch: { maxQueueSize: 8, scheduledDelayMillis: 10, maxExportBatchSize: 512 },
      },
    ],
  ])('8.7: %s', (_, variables, expected) => {
    const settings = telemetrySettings(variables);
    expect(settings).toMatchObject(expected);
    expect(settings.ignored).toEqual([]);
  });

  it('8.7: that cannot be used are taken as not set, and named', () => {
    const { sampler, batch, traces, ignored } = telemetrySettings({
      ...ENDPOINT,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_TRACES_SAMPLER: 'jaeger_remote',
      OTEL_TRACES_SAMPLER_ARG: '7',
      OTEL_BSP_MAX_QUEUE_SIZE: '-1',
    });
    expect(sampler).toEqual({ kind: 'parentbased_always_on', ratio: 1 });
    expect(batch.maxQueueSize).toBe(16_384);
    expect(traces?.protocol).toBe('http/protobuf');
    expect(new Set(ignored.map(({ variable }) => variable))).toEqual(
      new Set([
        'OTEL_EXPORTER_OTLP_PROTOCOL',
        'OTEL_TRACES_SAMPLER',
        'OTEL_TRACES_SAMPLER_ARG',
        'OTEL_BSP_MAX_QUEUE_SIZE',
      ]),
    );
  });
});
