import type { DescMethod, DescService, Message } from '@bufbuild/protobuf';
import { AccessService } from '../../gen/spindle/v1/access_service_pb.ts';
import { SessionService } from '../../gen/spindle/v1/session_service_pb.ts';
import { ToolService } from '../../gen/spindle/v1/tool_service_pb.ts';
import { WorkerService } from '../../gen/spindle/v1/worker_service_pb.ts';
import type { Role } from '../core/rights.ts';

/** Who may call a method (9.2). Which of the tenant's things they then see is for its handler (9.3). */
export interface Rule {
  readonly roles: ReadonlySet<Role>;
  /** It begins work that is limited as calls are. Calls themselves are counted where they are made: a stream has many. */
  readonly begins?: boolean;
}

const rule = (...roles: Role[]): Rule => ({ roles: new Set(roles) });

// Anonymous callers exist only where nobody is asked (9.1). They may everything but decide who is asked from then on.
/** Also whom the MCP gateway serves, which is no method of a contract. */
export const CALLERS = rule('anonymous', 'client', 'operator');
const BEGINNERS: Rule = { ...CALLERS, begins: true };
const WORKERS = rule('anonymous', 'worker');
const EVERYBODY_OF_THE_TENANT = rule('anonymous', 'worker', 'client', 'operator');
const OPERATORS = rule('operator', 'administrator');

type Rules<S extends DescService> = { readonly [P in keyof S['method']]: Rule };

const TOOL_RULES: Rules<typeof ToolService> = {
  listTools: CALLERS,
  searchTools: CALLERS,
  callTool: CALLERS,
  streamCallTool: CALLERS,
  streamCalls: CALLERS,
  startCall: CALLERS,
  getCall: CALLERS,
  listCalls: CALLERS,
  watchCall: CALLERS,
  // Whose answer a call waits for is known where the call is (4.9).
  settleCall: EVERYBODY_OF_THE_TENANT,
  cancelCall: CALLERS,
  readBlob: EVERYBODY_OF_THE_TENANT,
};

const SESSION_RULES: Rules<typeof SessionService> = {
  createSession: BEGINNERS,
  getSession: CALLERS,
  listSessions: CALLERS,
  startTurn: BEGINNERS,
  runTurn: BEGINNERS,
  watchSession: CALLERS,
  getTurn: CALLERS,
  resumeInterrupt: CALLERS,
  cancelTurn: CALLERS,
  deleteSession: CALLERS,
};

const WORKER_RULES: Rules<typeof WorkerService> = { connect: WORKERS };

const ACCESS_RULES: Rules<typeof AccessService> = {
  createToken: OPERATORS,
  listTokens: OPERATORS,
  revokeToken: OPERATORS,
  readAudit: OPERATORS,
};

const RULES = new Map<DescMethod, Rule>([
  ...rows(ToolService, TOOL_RULES),
  ...rows(SessionService, SESSION_RULES),
  ...rows(WorkerService, WORKER_RULES),
  ...rows(AccessService, ACCESS_RULES),
]);

/** A method without a rule is not served: this throws when its service is. */
export function ruleOf(method: DescMethod): Rule {
  const found = RULES.get(method);
  if (found === undefined)
    throw new Error(`${method.toString()} has no rule in rpc/rules.ts: who may call it?`);
  return found;
}

function rows<S extends DescService>(service: S, rules: Rules<S>): [DescMethod, Rule][] {
  // Each method has its row, or the table would not compile; names and rows are paired by the local name.
  const byName: Readonly<Record<string, Rule>> = rules;
  return service.methods.flatMap((method): [DescMethod, Rule][] => {
    const row = byName[method.localName];
    return row === undefined ? [] : [[method, row]];
  });
}

/** What a request names, for its caller's rights and for the record. Fields that it lacks are empty. */
export interface Named {
  readonly tool: string;
  readonly agent: string;
  readonly callId: string;
  readonly sessionId: string;
}

/** Reads the names from any request of the contracts: the fields are called the same in all of them. */
export function namedBy(request: Message): Named {
  const call = member(request, 'call');
  const turn = member(request, 'turn');
  const owner = call ?? turn ?? request;
  const isCall = request.$typeName === 'spindle.v1.CallToolRequest' || call !== undefined;
  return {
    tool: isCall ? text(owner, 'name') : '',
    agent: text(owner, 'agentId'),
    callId: text(owner, 'callId'),
    sessionId: text(owner, 'sessionId'),
  };
}

function member(owner: object, name: string): object | undefined {
  const value: unknown = Reflect.get(owner, name);
  return typeof value === 'object' && value !== null ? value : undefined;
}

function text(owner: object, name: string): string {
  const value: unknown = Reflect.get(owner, name);
  return typeof value === 'string' ? value : '';
}
