import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { create } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { ToolSchema } from '../../../gen/spindle/v1/tool_pb.ts';
import { createToolNames } from '../../../src/models/tool-names.ts';
import type { ProfileKind } from '../../../src/schema/projection/profile.ts';
import { project } from '../../../src/schema/projection/project.ts';
import { createSchemas } from '../../../src/schema/schemas.ts';
import { sampleOf } from './sample.ts';
import { breaches, rulesOf } from './schema-rules.ts';

/** Tools as public MCP servers list them, by package; long descriptions are cut. */
const Published = z.strictObject({
  package: z.string(),
  version: z.string(),
  license: z.string(),
  tools: z.array(
    z.strictObject({
      name: z.string(),
      inputSchema: z.record(z.string(), z.unknown()),
      outputSchema: z.record(z.string(), z.unknown()).optional(),
    }),
  ),
});

const FOLDER = join(import.meta.dirname, '../../vectors/tools');
const servers = readdirSync(FOLDER).map((file) =>
  Published.parse(JSON.parse(readFileSync(join(FOLDER, file), 'utf8'))),
);
const KINDS: readonly ProfileKind[] = ['anthropic', 'openai', 'openai-chat', 'openai-compatible', 'google'];

describe('2.6: published tools', () => {
  it('are several hundred', () => {
    expect(servers.flatMap(({ tools }) => tools).length).toBeGreaterThan(450);
  });

  it.each(servers)(
    'of $package $version are all registered, told to every provider, and check what is sent',
    ({ tools }) => {
      const schemas = createSchemas();
      const admitted = { samples: 0, valid: 0 };
      for (const { name, inputSchema, outputSchema } of tools) {
        const inputSchemaJson = JSON.stringify(inputSchema);
        const defined = schemas.define(
          create(ToolSchema, {
            name,
            inputSchemaJson,
            outputSchemaJson: outputSchema ? JSON.stringify(outputSchema) : '',
          }),
        );
        if (defined.kind === 'refused') throw new Error(defined.reason);
        expect(
          defined.definition.remarks.filter((remark) => remark.startsWith('results are not checked')),
        ).toEqual([]);
        const options = { repair: false, stoppedForLength: false };
        const verdictOf = (value: unknown) =>
          schemas.checkArguments(defined.definition, JSON.stringify(value), options).status.case;
        expect(verdictOf({ '\u0000': [] })).toBeDefined();
        const sample = sampleOf(inputSchema);
        const valid = verdictOf(sample) === 'valid';
        admitted.samples += 1;
        if (valid) admitted.valid += 1;
        for (const kind of KINDS) {
          for (const strict of [false, true]) {
            const projection = project(kind, inputSchemaJson, strict);
            if (projection.kind === 'impossible') throw new Error(`${kind}: ${name}: ${projection.reason}`);
            const { schema, strict: isStrict, notes } = projection.projected;
            expect(breaches(schema, rulesOf(kind, isStrict)), `${kind} ${strict} ${name}`).toEqual([]);
            if (strict && !isStrict && kind !== 'google') expect(notes[0]).toMatch(/^sent without strict: /);
            const told = schemas.define(
              create(ToolSchema, { name, inputSchemaJson: JSON.stringify(schema) }),
            );
            if (told.kind === 'refused') throw new Error(`${kind}: ${told.reason}`);
            if (!valid || isStrict) continue;
            const again = schemas.checkArguments(told.definition, JSON.stringify(sample), options).status
              .case;
            expect(again, `${kind} ${name}: ${JSON.stringify(sample)}`).toBe('valid');
          }
        }
      }
      // A pattern, or a union that excludes, is more than a sampler can meet; most schemas are plain.
      expect(admitted.valid / admitted.samples).toBeGreaterThan(0.9);
    },
  );

  it('6.6: have names that come back from every provider, all of them together', () => {
    const names = servers.flatMap(({ package: from, tools }) => tools.map(({ name }) => `${from}__${name}`));
    const mapping = createToolNames(names, /^[\w-]{1,64}$/);
    expect(names.map((name) => mapping.fromProvider(mapping.toProvider(name)))).toEqual(names);
  });
});
