import { type Mutation, mutation } from './mutation.ts';

const CONNECT = 'src/workers/connect.ts';
const FRAMES = 'src/workers/frames.ts';
const REGISTRY = 'src/workers/registry.ts';

/** Rules of section 5 on the engine's side: streams, leases and slots. */
export const STREAMS: readonly Mutation[] = [
  {
    rule: '5.6',
    name: 'requeues a lease that a heartbeat crossed',
    edits: [
      {
        file: FRAMES,
        find: 'const over = read ? lease.sequence <= receivedThrough : lease.stuck;',
        replace: 'const over = read || lease.stuck;',
      },
      {
        file: FRAMES,
        find: "listener.lost(instance, lease.leaseToken, 'lost');",
        replace: "listener.lost(instance, lease.leaseToken, 'never_held');",
      },
    ],
  },
  mutation(
    '5.6',
    'counts a lease that a heartbeat crossed as lost',
    FRAMES,
    'const over = read ? lease.sequence <= receivedThrough : lease.stuck;',
    'const over = read || lease.stuck;',
  ),
  {
    rule: '5.5',
    name: 'accepts a hello without the resume token as the same process',
    edits: [
      {
        file: CONNECT,
        find: 'const process = proven ?? options.random.token();',
        replace: "const process = proven ?? 'same';",
      },
      {
        file: CONNECT,
        find: 'if (earlier !== undefined && hello.streamNumber <= earlier.streamNumber) {',
        replace:
          'if (proven !== undefined && earlier !== undefined && hello.streamNumber <= earlier.streamNumber) {',
      },
      {
        file: CONNECT,
        find: 'if (proven === undefined) supersede(registry, caller, hello.instanceId);',
        replace: '',
      },
    ],
  },
  mutation(
    '5.5',
    'gives every process of a name the same resume token',
    CONNECT,
    'const process = proven ?? options.random.token();',
    "const process = proven ?? 'same';",
  ),
  mutation(
    '4.6',
    'lets a process live on under a name that a new one took',
    CONNECT,
    'if (proven === undefined) supersede(registry, caller, hello.instanceId);',
    '',
  ),
  {
    rule: '4.3',
    name: 'writes a dispatch to a newer stream than the one it is bound to',
    edits: [
      {
        file: REGISTRY,
        find: 'if (instance === undefined || link === undefined || link.streamNumber !== held.streamNumber) return;',
        replace: 'if (instance === undefined || link === undefined) return;',
      },
      {
        file: REGISTRY,
        find: 'if (held.sequence === 0) {\n          registry.free',
        replace: 'if (held.sequence < 0) {\n          registry.free',
      },
      {
        file: CONNECT,
        find: 'if (held.has(lease.leaseToken)) {',
        replace: 'if (held.has(lease.leaseToken) || lease.sequence === 0) {',
      },
    ],
  },
  mutation(
    '5.4',
    'forgets to free the slot of an answered dispatch',
    FRAMES,
    '        registry.free(instance, leaseToken);\n        instance.answering.add(leaseToken);',
    '        instance.answering.add(leaseToken);',
  ),
  mutation(
    '4.4',
    'frees the slot at the cancel',
    REGISTRY,
    '      held.stuck = true;\n',
    '      registry.free(instance, leaseToken);\n',
  ),
  mutation(
    '4.4',
    'forgets, after a restart, what workers still run',
    CONNECT,
    '  occupy(registry, instance, hello);\n',
    '',
  ),
  mutation(
    '5.6',
    'takes what a hello leaves out for lost',
    CONNECT,
    "lease.sequence === 0 ? 'never_sent' : 'never_held'",
    "'lost'",
  ),
  mutation(
    '5.6',
    'takes what a hello names for never held',
    CONNECT,
    'if (held.has(lease.leaseToken)) {',
    'if (held.has(lease.leaseToken) && lease.stuck) {',
  ),
  mutation(
    '5.3',
    'gives a worker that is away no grace',
    REGISTRY,
    'clock.alarm(clock.now() + resumeGraceMs,',
    'clock.alarm(clock.now() + resumeGraceMs / 10,',
  ),
  mutation(
    '5.1',
    'dispatches before the first heartbeat',
    'src/workers/stream.ts',
    '    ready: false,',
    '    ready: true,',
  ),
  mutation('5.9', 'dispatches to a worker that drains', FRAMES, '        instance.draining = true;\n', ''),
];
