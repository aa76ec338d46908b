/** Runs turns of conversations, and costs as little as one can: `turn-caller.ts ADDRESS`. */
import { create } from '@bufbuild/protobuf';
import { Role } from '../../gen/spindle/v1/message_pb.ts';
import {
  CreateSessionRequestSchema,
  RunTurnRequestSchema,
  type RunTurnResponse,
  SessionService,
  StartTurnRequestSchema,
} from '../../gen/spindle/v1/session_service_pb.ts';
import { beginLoad, type Loading } from '../load.ts';
import { serveRole } from '../role.ts';
import { connect } from '../wire.ts';

/** A conversation that goes on for a while; each model call sends all of it. */
const TURNS_PER_SESSION = 10;
/** Requests that open sessions, under way at any moment. */
const OPENING = 64;

const [address = ''] = process.argv.slice(2);
const requests = connect(address);
let made = 0;
let opened = 0;

interface Conversation {
  readonly sessionId: string;
  turns: number;
}

async function begin(agentId: string): Promise<Conversation> {
  const sessionId = `${process.pid}-${++made}`;
  await requests.unary(
    SessionService.method.createSession,
    create(CreateSessionRequestSchema, { sessionId, agentId }),
  );
  return { sessionId, turns: 0 };
}

function turnOf(conversation: Conversation) {
  conversation.turns += 1;
  const { sessionId, turns } = conversation;
  const text = { kind: { case: 'text' as const, value: { text: 'How is the weather in Berlin?' } } };
  const message = { role: Role.USER, parts: [{ kind: { case: 'content' as const, value: text } }] };
  const input = { kind: { case: 'messages' as const, value: { messages: [message] } } };
  return create(StartTurnRequestSchema, { sessionId, turnId: `turn-${turns}`, input });
}

async function run(conversation: Conversation): Promise<void> {
  const request = create(RunTurnRequestSchema, { turn: turnOf(conversation) });
  let finished = false;
  await requests.stream(SessionService.method.runTurn, request, ({ update }: RunTurnResponse) => {
    if (update?.kind.case !== 'event') return;
    const { kind } = update.kind.value;
    finished ||= kind.case === 'turnEnded' && kind.value.outcome.case === 'finished';
  });
  if (!finished) throw new Error(`a turn of ${conversation.sessionId} did not end as it should`);
}

/** A conversation of its own for each turn that is in flight, and the next one when that has grown long. */
async function load(agentId: string, loading: () => Loading, idle: Conversation[]): Promise<void> {
  const known = idle.pop();
  const conversation = known === undefined || known.turns >= TURNS_PER_SESSION ? await begin(agentId) : known;
  const startedAt = performance.now();
  await run(conversation);
  idle.push(conversation);
  loading().ended(startedAt);
}

/** Conversations with one turn each: whole, or held by a tool that does not answer. */
async function open(agentId: string, count: number): Promise<void> {
  let left = count;
  const one = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      const conversation = await begin(agentId);
      if (agentId === 'holder') await requests.unary(SessionService.method.startTurn, turnOf(conversation));
      else await run(conversation);
      opened += 1;
    }
  };
  await Promise.all(Array.from({ length: OPENING }, one));
}

serveRole({
  load(wanted) {
    const idle: Conversation[] = [];
    const failed = Promise.withResolvers<never>();
    const loading: Loading = beginLoad(wanted, () => {
      load(wanted.tool, () => loading, idle).catch(failed.reject);
    });
    return Promise.race([loading.result, failed.promise]);
  },
  open(agentId, sessions) {
    opened = 0;
    open(agentId, sessions).catch((error: unknown) => {
      console.error(error);
      process.exit(1);
    });
  },
  count: () => opened,
});
