import type { Attributes, BatchObservableResult, Meter, Observable } from '@opentelemetry/api';
import type { WorkersStanding } from '../engine/ports.ts';
import * as names from './conventions.ts';

/** What stands now, counted when somebody asks. */
export interface Standing {
  /** Calls that have not ended: where each stands, and of which declared tool it is; undefined for others. */
  calls(): Iterable<{ readonly toolName: string | undefined; readonly state: CallState }>;
  workers(): WorkersStanding;
}

export type CallState = 'held' | 'queued' | 'backing_off' | 'running' | 'open' | 'interrupted';

/** Shows what stands now (8.6). Counting costs nothing between two looks, and no count can drift. */
export function observeStanding(meter: Meter, standing: Standing): void {
  const gauge = (name: string, unit: string, description: string): Observable =>
    meter.createObservableGauge(name, { unit, description });
  const inFlight = gauge(
    names.METRIC.callsInFlight,
    '{call}',
    'Tool calls that have not ended, by where they stand.',
  );
  const depth = gauge(names.METRIC.queueDepth, '{call}', 'Tool calls that could run and have no worker yet.');
  const connected = gauge(names.METRIC.workersConnected, '{worker}', 'Worker processes with a stream.');
  const slots = gauge(
    names.METRIC.slotsTotal,
    '{slot}',
    'Dispatches that the connected workers take at once.',
  );
  const used = gauge(names.METRIC.slotsUsed, '{slot}', 'Slots that are taken.');
  const stuck = gauge(
    names.METRIC.slotsStuck,
    '{slot}',
    'Slots whose handler goes on after its dispatch was ended.',
  );

  /** Series that were there once, at zero: a series that vanishes looks like one that nobody measures. */
  const seen = { inFlight: new Map<string, Attributes>(), depth: new Map<string, Attributes>() };

  const observe = (result: BatchObservableResult): void => {
    const inFlightCounts = new Map<string, number>();
    const depthCounts = new Map<string, number>();
    for (const { toolName = names.OTHER, state } of standing.calls()) {
      const key = `${state} ${toolName}`;
      const tool = { [names.TOOL_NAME]: toolName };
      inFlightCounts.set(key, (inFlightCounts.get(key) ?? 0) + 1);
      seen.inFlight.set(key, { ...tool, [names.CALL_STATE]: state });
      if (state !== 'queued') continue;
      depthCounts.set(toolName, (depthCounts.get(toolName) ?? 0) + 1);
      seen.depth.set(toolName, tool);
    }
    for (const [key, attributes] of seen.inFlight)
      result.observe(inFlight, inFlightCounts.get(key) ?? 0, attributes);
    for (const [key, attributes] of seen.depth) result.observe(depth, depthCounts.get(key) ?? 0, attributes);
    const workers = standing.workers();
    result.observe(connected, workers.connected);
    result.observe(slots, workers.slots);
    result.observe(used, workers.used);
    result.observe(stuck, workers.stuck);
  };
  meter.addBatchObservableCallback(observe, [inFlight, depth, connected, slots, used, stuck]);
}
