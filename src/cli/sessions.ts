import type { Command } from 'commander';
import type { Session } from '../sdk/index.ts';
import { openItemJson } from '../sdk/session/event-json.ts';
import { isoTime } from './call-end.ts';
import { addConnectionOptions, type ConnectionFlags, withEngine } from './connection.ts';
import { openItemsText } from './open-items.ts';
import { countOption } from './option-value.ts';
import { styled, table } from './style.ts';

interface SessionsFlags extends ConnectionFlags {
  readonly waiting?: boolean;
  readonly limit: number;
}

export function defineSessions(command: Command): void {
  addConnectionOptions(command)
    .description('Lists sessions, newest first.')
    .option('--waiting', 'only those that wait for somebody: what for, and how to answer')
    .option('--limit <n>', 'the most sessions', countOption, 20)
    .action(sessions);
}

async function sessions(flags: SessionsFlags): Promise<void> {
  const { waiting = false, json, limit } = flags;
  const found = await withEngine(flags, async (client) => {
    const page: Session[] = [];
    for await (const session of client.sessions.list({ onlyWaiting: waiting })) {
      page.push(session);
      if (page.length === limit) break;
    }
    return page;
  });
  const { stdout, stderr } = process;
  if (json === true) {
    stdout.write(`${JSON.stringify(found.map(sessionJson))}\n`);
    return;
  }
  if (found.length === 0) {
    stderr.write(`${styled(stderr, 'dim', waiting ? 'Nothing waits.' : 'No sessions.')}\n`);
    return;
  }
  if (waiting) {
    const blocks = found.map(
      ({ sessionId, agentId, openItems }) =>
        `${table([[sessionId, agentId]], stdout)}\n${openItemsText(sessionId, openItems, stdout)}`,
    );
    stdout.write(`${blocks.join('\n')}\n`);
    return;
  }
  const rows = found.map((session) => [
    session.sessionId,
    session.agentId,
    // To the second: a line has to hold it.
    session.createdAt === undefined ? '' : isoTime(session.createdAt).replace(/\.\d+/, ''),
    stateOf(session),
  ]);
  stdout.write(`${table([['SESSION', 'AGENT', 'CREATED', 'STATE'], ...rows], stdout)}\n`);
}

function stateOf({ openItems, runningTurnId, queuedTurnIds }: Session): string {
  const queued = queuedTurnIds.length === 0 ? '' : `, ${queuedTurnIds.length} queued`;
  if (openItems.length > 0) return `waits${queued}`;
  return `${runningTurnId === '' ? 'idle' : 'runs'}${queued}`;
}

function sessionJson(session: Session): object {
  const { sessionId, agentId, createdAt, lastSequence, runningTurnId, queuedTurnIds, metadata } = session;
  return {
    sessionId,
    agentId,
    ...(createdAt === undefined ? {} : { createdAt: isoTime(createdAt) }),
    lastSequence,
    ...(runningTurnId === '' ? {} : { runningTurnId }),
    queuedTurnIds,
    openItems: session.openItems.map(openItemJson),
    metadata,
  };
}
