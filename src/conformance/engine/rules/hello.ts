import { status } from '@grpc/grpc-js';
import { pass } from '../../deadline.ts';
import { ENGINE_QUIET_MS } from '../../limits.ts';
import { expectEqual, expectThat } from '../../rule.ts';
import { type EngineRule, expectStatus, OK, textOf } from '../rule.ts';

export const HELLO_RULES: readonly EngineRule[] = [
  {
    section: '5.1',
    title: 'a stream whose first frame is no hello ends with INVALID_ARGUMENT',
    async check({ connect }) {
      const stream = connect();
      stream.beat();
      await expectStatus(stream, status.INVALID_ARGUMENT);
    },
  },
  {
    section: '5.1',
    title: 'a hello without an instance ends with INVALID_ARGUMENT',
    async check({ connect }) {
      const stream = connect();
      stream.send({ case: 'hello', value: { streamNumber: 1 } });
      await expectStatus(stream, status.INVALID_ARGUMENT);
    },
  },
  {
    section: '5.1',
    title: 'a bad definition is refused by name, and the others serve',
    async check(peer) {
      const stream = peer.connect();
      const bad = { tool: { name: `${peer.tool}_bad`, inputSchemaJson: '{"type":"nonsense"}' } };
      const welcome = await stream.greet({ tools: [bad, { tool: { name: peer.tool } }] });
      expectEqual(
        'the refused tools',
        welcome.refusedTools.map(({ name }) => name),
        [bad.tool.name],
      );
      expectThat((welcome.refusedTools[0]?.reason ?? '') !== '', 'a reason', 'none');
      stream.beat();
      expectEqual('the text', await textOf(peer, stream), 'ok');
    },
  },
  {
    section: '5.1',
    title: 'nothing is dispatched before the first heartbeat',
    async check(peer) {
      const stream = peer.connect();
      await stream.greet();
      const call = peer.call('{}');
      await pass(ENGINE_QUIET_MS);
      expectThat(stream.taken('dispatch') === undefined, 'no dispatch before the heartbeat', 'one');
      stream.beat();
      await stream.answer((await stream.dispatch()).leaseToken, OK);
      await call;
    },
  },
];
