/** The messages of OTLP, read with the official descriptors. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { createFileRegistry, fromBinary, toJson } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';

const registry = createFileRegistry(
  fromBinary(
    FileDescriptorSetSchema,
    execFileSync(
      join(import.meta.dirname, '../../../node_modules/.bin/buf'),
      ['build', join(import.meta.dirname, 'proto'), '--as-file-descriptor-set', '-o', '-'],
      { maxBuffer: 4 * 1024 * 1024 },
    ),
  ),
);

export type Values = Readonly<Record<string, string | number | boolean | readonly string[]>>;

/** A span, as it came. */
export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** Empty for a root. */
  readonly parentSpanId: string;
  readonly name: string;
  readonly kind: string;
  /** In nanoseconds. */
  readonly start: bigint;
  readonly end: bigint;
  readonly attributes: Values;
  readonly events: readonly { readonly name: string; readonly at: bigint; readonly attributes: Values }[];
  readonly status: 'UNSET' | 'OK' | 'ERROR';
  readonly message: string;
  readonly traceState: string;
  readonly resource: Values;
  readonly scope: string;
}

/** A number of a metric, or what a histogram of it adds up to. */
export interface ReceivedPoint {
  readonly metric: string;
  readonly unit: string;
  readonly attributes: Values;
  readonly value: number;
  readonly count: number;
  readonly bounds: readonly number[];
  readonly resource: Values;
}

// What protobuf's JSON form of the messages looks like, as far as it is read here.
interface KeyValueJson {
  readonly key: string;
  readonly value: AnyValueJson;
}
interface AnyValueJson {
  readonly stringValue?: string;
  readonly intValue?: string;
  readonly doubleValue?: number;
  readonly boolValue?: boolean;
  readonly arrayValue?: { readonly values?: readonly AnyValueJson[] };
}
interface SpanJson {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name?: string;
  readonly kind?: string;
  readonly startTimeUnixNano?: string;
  readonly endTimeUnixNano?: string;
  readonly attributes?: readonly KeyValueJson[];
  readonly events?: readonly {
    readonly name: string;
    readonly timeUnixNano: string;
    readonly attributes?: readonly KeyValueJson[];
  }[];
  readonly status?: { readonly code?: string; readonly message?: string };
  readonly traceState?: string;
}
interface TracesJson {
  readonly resourceSpans?: readonly {
    readonly resource?: { readonly attributes?: readonly KeyValueJson[] };
    readonly scopeSpans?: readonly {
      readonly scope?: { readonly name?: string };
      readonly spans?: readonly SpanJson[];
    }[];
  }[];
}
interface PointJson {
  readonly attributes?: readonly KeyValueJson[];
  readonly asDouble?: number;
  readonly asInt?: string;
  readonly sum?: number;
  readonly count?: string;
  readonly explicitBounds?: readonly number[];
}
interface DataJson {
  readonly dataPoints?: readonly PointJson[];
}
interface MetricsJson {
  readonly resourceMetrics?: readonly {
    readonly resource?: { readonly attributes?: readonly KeyValueJson[] };
    readonly scopeMetrics?: readonly {
      readonly metrics?: readonly {
        readonly name: string;
        readonly unit?: string;
        readonly gauge?: DataJson;
        readonly sum?: DataJson;
        readonly histogram?: DataJson;
      }[];
    }[];
  }[];
}

/** The JSON form of a message; the bytes must be one, and nothing in it may be unknown to the official protocol. */
function read(typeName: string, bytes: Uint8Array): unknown {
  const message = registry.getMessage(typeName);
  if (message === undefined) throw new Error(`no message is called ${typeName}`);
  const value = fromBinary(message, bytes);
  if ((value.$unknown?.length ?? 0) > 0)
    throw new Error(`${typeName} has fields that the protocol does not know`);
  return toJson(message, value, { registry });
}

export function readSpans(bytes: Uint8Array): ReceivedSpan[] {
  const request = read(
    'opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest',
    bytes,
  ) as TracesJson;
  return (request.resourceSpans ?? []).flatMap(({ resource, scopeSpans = [] }) =>
    scopeSpans.flatMap(({ scope, spans = [] }) =>
      spans.map((span) => ({
        traceId: hex(span.traceId),
        spanId: hex(span.spanId),
        parentSpanId: hex(span.parentSpanId ?? ''),
        name: span.name ?? '',
        kind: (span.kind ?? '').replace('SPAN_KIND_', ''),
        start: BigInt(span.startTimeUnixNano ?? 0),
        end: BigInt(span.endTimeUnixNano ?? 0),
        attributes: valuesOf(span.attributes),
        events: (span.events ?? []).map(({ name, timeUnixNano, attributes }) => ({
          name,
          at: BigInt(timeUnixNano),
          attributes: valuesOf(attributes),
        })),
        status: STATUSES[span.status?.code ?? ''] ?? 'UNSET',
        message: span.status?.message ?? '',
        traceState: span.traceState ?? '',
        resource: valuesOf(resource?.attributes),
        scope: scope?.name ?? '',
      })),
    ),
  );
}

export function readPoints(bytes: Uint8Array): ReceivedPoint[] {
  const request = read(
    'opentelemetry.proto.collector.metrics.v1.ExportMetricsServiceRequest',
    bytes,
  ) as MetricsJson;
  return (request.resourceMetrics ?? []).flatMap(({ resource, scopeMetrics = [] }) =>
    scopeMetrics.flatMap(({ metrics = [] }) =>
      metrics.flatMap(({ name, unit = '', gauge, sum, histogram }) =>
        ((gauge ?? sum ?? histogram)?.dataPoints ?? []).map((point) => ({
          metric: name,
          unit,
          attributes: valuesOf(point.attributes),
          value: point.asDouble ?? Number(point.asInt ?? point.sum ?? 0),
          count: Number(point.count ?? 0),
          bounds: point.explicitBounds ?? [],
          resource: valuesOf(resource?.attributes),
        })),
      ),
    ),
  );
}

const STATUSES: Readonly<Record<string, ReceivedSpan['status']>> = {
  STATUS_CODE_OK: 'OK',
  STATUS_CODE_ERROR: 'ERROR',
};

function hex(base64: string): string {
  return Buffer.from(base64, 'base64').toString('hex');
}

function valuesOf(attributes: readonly KeyValueJson[] = []): Values {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, anyValueOf(value)]));
}

function anyValueOf(value: AnyValueJson): Values[string] {
  if (value.arrayValue !== undefined)
    return (value.arrayValue.values ?? []).map((item) => String(anyValueOf(item)));
  if (value.intValue !== undefined) return Number(value.intValue);
  return value.stringValue ?? value.doubleValue ?? value.boolValue ?? '';
}
