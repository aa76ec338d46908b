import { create } from '@bufbuild/protobuf';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Role } from '../../gen/spindle/v1/message_pb.ts';
import { ToolSchema } from '../../gen/spindle/v1/tool_pb.ts';
import { ownMetadata } from '../../src/core/own-metadata.ts';
import { createToolNames } from '../../src/models/tool-names.ts';
import { ask, callsIn, message, OPENING, textPart, toolsOf } from './driver.ts';
import { KINDS, modelOf, serveProvider } from './providers.ts';
import { answer } from './wire/conversation.ts';

const TAKES = /^[\w-]{1,64}$/;

describe('6.6: names', () => {
  it.each([
    [['weather'], ['weather']],
    [['files.read'], ['files_read']],
    [
      ['files.read', 'files/read'],
      [/^files_read_[0-9a-f]{8}$/, /^files_read_[0-9a-f]{8}$/],
    ],
    [
      ['files.read', 'files_read'],
      [/^files_read_[0-9a-f]{8}$/, 'files_read'],
    ],
    [['9lives.x'], ['t_9lives_x']],
    [['日本'], ['__']],
    [[`${'a'.repeat(70)}.b`], [/^a{55}_[0-9a-f]{8}$/]],
  ] as const)('%j are sent as %j', (names, expected) => {
    const mapping = createToolNames(names, TAKES);
    for (const [at, name] of names.entries()) {
      expect(mapping.toProvider(name)).toMatch(new RegExp(expected[at] ?? /$^/));
      expect(mapping.fromProvider(mapping.toProvider(name))).toBe(name);
    }
  });

  it('come back, whatever they are, in any order, and are taken by the provider', () => {
    const name = fc.oneof(
      fc.string({ minLength: 1, maxLength: 90, unit: 'binary' }),
      fc.stringMatching(/^[a_]{1,3}[./]?[a_]{0,2}$/),
      fc.stringMatching(/^a{60,70}[.b]?$/),
    );
    fc.assert(
      fc.property(fc.uniqueArray(name, { maxLength: 30 }), (names) => {
        const mapping = createToolNames(names, TAKES);
        const sent = names.map(mapping.toProvider);
        expect(new Set(sent).size).toBe(names.length);
        expect(sent.every((each) => TAKES.test(each))).toBe(true);
        expect(sent.map(mapping.fromProvider)).toEqual(names);
        const reversed = createToolNames(names.toReversed(), TAKES);
        expect(names.map(reversed.toProvider)).toEqual(sent);
      }),
    );
  });
});

const PICKY = JSON.stringify({
  type: 'object',
  properties: {
    city: { type: 'string', minLength: 1, description: 'A town.' },
    days: { type: 'integer', minimum: 1 },
    unit: { enum: ['c', 'f'] },
    near: { anyOf: [{ type: 'string' }, { type: 'number' }] },
    when: { type: ['string', 'null'], format: 'date' },
  },
  required: ['city'],
  additionalProperties: false,
});

const strictTool = create(ToolSchema, { name: 'picky', inputSchemaJson: PICKY, strict: true });

describe('2.6: a strict tool', () => {
  it.each(['openai', 'openai-chat'] as const)(
    '%s: has every property required, and null for those that are not',
    async (kind) => {
      const calls = [
        {
          id: 'c1',
          name: 'picky',
          arguments: ['{"city":"Oslo","days":null,"unit":null,"near":null,"when":null}'],
        },
      ];
      await using served = await serveProvider(kind, [answer({ calls, finish: 'calls' })]);
      const given = await ask(served.models, modelOf(kind), { tools: [strictTool] });
      const sent = JSON.stringify(served.server.requests[0]?.body['tools']);
      expect(sent).toContain('"strict":true');
      expect(sent).toContain('"required":["city","days","unit","near","when"]');
      expect(sent).toContain('"type":["integer","null"]');
      expect(sent).not.toContain('minLength');
      const part = given.kind === 'response' ? given.response.message?.parts[0] : undefined;
      expect(ownMetadata(part?.providerMetadataJson ?? '')).toEqual({ nullForAbsent: true });
    },
  );

  it.each(['anthropic', 'google'] as const)('%s: leaves optional properties optional', async (kind) => {
    const calls = [{ id: 'c1', name: 'picky', arguments: ['{"city":"Oslo"}'] }];
    await using served = await serveProvider(kind, [answer({ calls, finish: 'calls' })]);
    const given = await ask(served.models, modelOf(kind), { tools: [strictTool] });
    expect(JSON.stringify(served.server.requests[0]?.body['tools'])).toContain('"required":["city"]');
    const part = given.kind === 'response' ? given.response.message?.parts[0] : undefined;
    expect(ownMetadata(part?.providerMetadataJson ?? '')).toEqual({});
  });

  it('that the form cannot express is sent without it', async () => {
    const open = create(ToolSchema, {
      name: 'open',
      inputSchemaJson: '{"type":"object","additionalProperties":{"type":"string"}}',
      strict: true,
    });
    await using served = await serveProvider('openai', [answer({ text: ['hi'] })]);
    await ask(served.models, modelOf('openai'), { tools: [open] });
    expect(JSON.stringify(served.server.requests[0]?.body['tools'])).toContain('"strict":false');
  });

  it('anthropic: is one of at most 20 in a request', async () => {
    const tools = Array.from({ length: 25 }, (_, at) =>
      create(ToolSchema, { ...strictTool, name: `picky_${at}` }),
    );
    await using served = await serveProvider('anthropic', [answer({ text: ['hi'] })]);
    await ask(served.models, modelOf('anthropic'), { tools });
    const sent = served.server.requests[0]?.body['tools'] as { strict: boolean }[];
    expect(sent.filter(({ strict }) => strict)).toHaveLength(20);
  });
});

describe('2.6: a tool that the provider cannot be told about', () => {
  const odd = create(ToolSchema, {
    name: 'odd',
    inputSchemaJson: '{"type":"object","properties":{"a b":{"type":"string"}},"required":["a b"]}',
  });

  it('is left out with a reason that is reported once, and the turn goes on with the others', async () => {
    await using served = await serveProvider('anthropic', [
      answer({ text: ['hi'] }),
      answer({ text: ['hi'] }),
    ]);
    const tools = [odd, ...toolsOf({ tools: [] })];
    const reason = 'the required property "a b" has a name that the provider refuses';
    expect(served.models.toolsLeftOut(modelOf('anthropic'), tools)).toEqual([{ name: 'odd', reason }]);
    for (const _ of [1, 2])
      expect(await ask(served.models, modelOf('anthropic'), { tools })).toMatchObject({ kind: 'response' });
    expect(JSON.stringify(served.server.requests[0]?.body['tools'])).not.toContain('odd');
    expect(served.reports).toEqual([
      ['warn', 'model_tool_left_out', { model: modelOf('anthropic'), tool: 'odd', reason }],
    ]);
  });

  it('is offered to a provider that takes it', async () => {
    await using served = await serveProvider('openai', [answer({ text: ['hi'] })]);
    expect(served.models.toolsLeftOut(modelOf('openai'), [odd])).toEqual([]);
  });
});

describe('tools in a group', () => {
  it('openai: go under the name of the group; elsewhere they stand alone', async () => {
    const tools = ['read', 'write'].map((name) =>
      create(ToolSchema, {
        name,
        namespace: 'files',
        namespaceDescription: name === 'read' ? 'Files of the project.' : '',
      }),
    );
    await using grouped = await serveProvider('openai', [answer({ text: ['hi'] })]);
    await ask(grouped.models, modelOf('openai'), { tools });
    expect(grouped.server.requests[0]?.body['tools']).toMatchObject([
      {
        type: 'namespace',
        name: 'files',
        description: 'Files of the project.',
        tools: [{ name: 'read' }, { name: 'write' }],
      },
    ]);
    await using alone = await serveProvider('anthropic', [answer({ text: ['hi'] })]);
    await ask(alone.models, modelOf('anthropic'), { tools });
    expect(alone.server.requests[0]?.body['tools']).toMatchObject([{ name: 'read' }, { name: 'write' }]);
  });
});

describe.each(KINDS)('%s', (kind) => {
  it('6.4: takes a request without tools after calls', async () => {
    const calls = [{ id: 'c1', name: 'look', arguments: ['{"where":"Oslo"}'] }];
    await using served = await serveProvider(kind, [
      answer({ calls, finish: 'calls' }),
      answer({ text: ['Rain.'] }),
    ]);
    const first = await ask(served.models, modelOf(kind));
    const said = first.kind === 'response' ? first.response.message : undefined;
    if (said === undefined || first.kind !== 'response') throw new Error('no answer');
    const [call] = callsIn(first.response);
    const outcome = {
      case: 'result' as const,
      value: { content: [{ kind: { case: 'text' as const, value: { text: 'Rain.' } } }] },
    };
    const result = message(Role.TOOL, {
      kind: { case: 'toolResult', value: { callId: call?.callId ?? '', name: 'look', outcome } },
    });
    const messages = [...OPENING, said, result];
    expect(await ask(served.models, modelOf(kind), { messages, tools: [] })).toMatchObject({
      kind: 'response',
    });
  });

  it('takes instructions that come later, and a conversation that the agent begins', async () => {
    await using served = await serveProvider(kind, [answer({ text: ['hi'] })]);
    const messages = [
      message(Role.ASSISTANT, textPart('What can I do for you?')),
      message(Role.SYSTEM, textPart('The user is in a hurry.')),
      message(Role.USER, textPart('Rain?')),
    ];
    expect(await ask(served.models, modelOf(kind), { messages })).toMatchObject({ kind: 'response' });
    expect(JSON.stringify(served.server.requests[0]?.body)).toContain('The user is in a hurry.');
  });

  it('may be told which tool to call', async () => {
    await using served = await serveProvider(kind, [answer({ text: ['hi'] })]);
    const settings = '{"tool_choice":{"name":"files.read"}}';
    await ask(served.models, modelOf(kind), { tools: toolsOf({ tools: ['files.read'] }), settings });
    expect(JSON.stringify(served.server.requests[0]?.body)).toMatch(
      /"(?:tool_choice|toolConfig)":.*"files_read"/,
    );
  });
});
