import { readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { create, type DescFile, type DescMethod } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { CreateSessionRequestSchema, RunTurnRequestSchema } from '../../gen/spindle/v1/session_service_pb.ts';
import {
  CallToolRequestSchema,
  GetCallRequestSchema,
  StartCallRequestSchema,
} from '../../gen/spindle/v1/tool_service_pb.ts';
import { namedBy, ruleOf } from '../../src/rpc/rules.ts';

const CONTRACTS = resolve(import.meta.dirname, '../../gen/spindle/v1');

/** Every method of every service in the contracts, found in the generated files and not in a list of ours. */
async function methods(): Promise<readonly DescMethod[]> {
  const modules = await Promise.all(
    readdirSync(CONTRACTS).map((name): Promise<Record<string, unknown>> => import(join(CONTRACTS, name))),
  );
  return modules
    .flatMap((module) => Object.values(module).filter(isFile))
    .flatMap(({ services }) => services)
    .flatMap((service) => service.methods);
}

function isFile(value: unknown): value is DescFile {
  return typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'file';
}

describe('who may call what', () => {
  it('9.2: every method of every service of the contracts has a rule', async () => {
    const found = await methods();
    expect(found.length).toBeGreaterThan(25);
    const without = found.filter((method) => {
      try {
        return ruleOf(method).roles.size === 0;
      } catch {
        return true;
      }
    });
    expect(without.map(String)).toEqual([]);
  });

  it('9.2: what a credential is not for is open to no other role by mistake', async () => {
    const table = new Map((await methods()).map((method) => [method.name, [...ruleOf(method).roles].sort()]));
    expect(table.get('Connect')).toEqual(['anonymous', 'worker']);
    expect(table.get('SettleCall')).toEqual(['anonymous', 'client', 'operator', 'worker']);
    for (const name of ['CreateToken', 'ListTokens', 'RevokeToken', 'ReadAudit'])
      expect(table.get(name), name).toEqual(['administrator', 'operator']);
    for (const name of ['CallTool', 'CreateSession', 'DeleteSession', 'ResumeInterrupt', 'ListCalls'])
      expect(table.get(name), name).toEqual(['anonymous', 'client', 'operator']);
    const forAdministrators = [...table].filter(([, roles]) => roles.includes('administrator'));
    expect(forAdministrators).toHaveLength(4);
    expect([...table].filter(([, roles]) => roles.includes('unknown'))).toEqual([]);
  });

  it.each([
    [create(CallToolRequestSchema, { name: 't', callId: 'c' }), { tool: 't', callId: 'c' }],
    [create(StartCallRequestSchema, { call: { name: 't', callId: 'c' } }), { tool: 't', callId: 'c' }],
    [create(GetCallRequestSchema, { callId: 'c', sessionId: 's' }), { callId: 'c', sessionId: 's' }],
    [create(CreateSessionRequestSchema, { agentId: 'a', sessionId: 's' }), { agent: 'a', sessionId: 's' }],
    [create(RunTurnRequestSchema, { turn: { sessionId: 's' } }), { sessionId: 's' }],
  ])('names what %s names', (request, named) => {
    expect(namedBy(request)).toEqual({ tool: '', agent: '', callId: '', sessionId: '', ...named });
  });
});
