import { describe, expect, it } from 'vitest';
import { ENGINE_RULES } from '../../src/conformance/engine/rules.ts';
import { runEngineSuite } from '../../src/conformance/suite.ts';
import { createEngine } from '../../src/main.ts';

describe('the suite for engines', () => {
  it('passes this engine', async () => {
    const engine = await createEngine({ journal: 'memory:', listen: '127.0.0.1:0', http: false });
    const findings = await runEngineSuite(engine.grpcAddress).finally(() => engine.stop(0));
    expect(findings.filter(({ passed }) => !passed)).toEqual([]);
    expect(findings).toHaveLength(ENGINE_RULES.length);
  });

  it('says so where no engine answers', async () => {
    const engine = await createEngine({ journal: 'memory:', listen: '127.0.0.1:0', http: false });
    await engine.stop(0);
    await expect(runEngineSuite(engine.grpcAddress)).rejects.toThrow(
      `No engine answers at ${engine.grpcAddress}.`,
    );
  });
});
