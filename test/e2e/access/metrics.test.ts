import { describe, expect, it } from 'vitest';
import { AccessService } from '../../../gen/spindle/v1/access_service_pb.ts';
import { CertificatesSchema } from '../../../src/access/settings.ts';
import { readMetrics } from '../../../src/cli/metrics-page.ts';
import { StartError } from '../../../src/main.ts';
import { createAuthority } from '../../access/pki.ts';
import { temporaryDirectory } from '../../journal/temporary-directory.ts';
import { openEngine } from '../engine.ts';
import { CLIENT, type GuardedEngine, OPERATOR, openGuardedEngine, WORKER } from './guarded-engine.ts';

const METRICS = { metrics: '127.0.0.1:0' };

async function statusOf({ engine }: GuardedEngine, authorization?: string) {
  const answer = await fetch(`http://${engine.running.metricsAddress}/metrics`, {
    headers: authorization === undefined ? {} : { authorization },
  });
  const text = await answer.text();
  return {
    status: answer.status,
    shown: text.includes('spindle_'),
    asks: answer.headers.get('www-authenticate'),
  };
}

const TURNED_AWAY = { status: 401, shown: false, asks: 'Bearer' };
const NOT_PERMITTED = { status: 403, shown: false, asks: null };
const SHOWN = { status: 200, shown: true, asks: null };

describe('metrics', () => {
  it('9.2: are for operators of one tenant, once callers have to prove who they are', async () => {
    await using guarded = await openGuardedEngine({ telemetry: METRICS });
    expect(await statusOf(guarded)).toEqual(SHOWN);
    const own = await guarded.token(OPERATOR, { tenant: 'default' });
    expect(await statusOf(guarded)).toEqual(TURNED_AWAY);
    expect(await statusOf(guarded, 'Bearer nonsense')).toEqual(TURNED_AWAY);
    expect(await statusOf(guarded, 'Basic YTpi')).toEqual(TURNED_AWAY);
    for (const role of [CLIENT, WORKER])
      expect(
        await statusOf(guarded, `Bearer ${(await guarded.token(role, { tenant: 'default' })).secret}`),
      ).toEqual(NOT_PERMITTED);
    const foreign = await guarded.token(OPERATOR, { tenant: 'acme' });
    expect(await statusOf(guarded, `Bearer ${foreign.secret}`)).toEqual(NOT_PERMITTED);
    const key = guarded.engine.running.administratorToken;
    expect(await statusOf(guarded, `Bearer ${key}`)).toEqual(NOT_PERMITTED);
    expect(await statusOf(guarded, `Bearer ${own.secret}`)).toEqual(SHOWN);
    await guarded.admin.call(AccessService.method.revokeToken, { tokenId: own.id });
    expect(await statusOf(guarded, `Bearer ${own.secret}`)).toEqual(TURNED_AWAY);
  });

  it('9.2: are for the operators of the tenant that is named, or for anybody, where the engine is told so', async () => {
    await using acme = await openGuardedEngine({ telemetry: { ...METRICS, metricsTenant: 'acme' } });
    const [ours, theirs] = [await acme.token(OPERATOR), await acme.token(OPERATOR, { tenant: 'default' })];
    expect(await statusOf(acme, `Bearer ${ours.secret}`)).toEqual(SHOWN);
    expect(await statusOf(acme, `Bearer ${theirs.secret}`)).toEqual(NOT_PERMITTED);
    await using opened = await openGuardedEngine({ telemetry: { ...METRICS, openMetrics: true } });
    await opened.token(OPERATOR);
    expect(await statusOf(opened)).toEqual(SHOWN);
  });

  it('9.1, 9.2: are by TLS where the ports are, and for a certificate of the table', async () => {
    const authority = await createAuthority(await temporaryDirectory());
    const server = await authority.sign('server');
    const [known, unknown] = [await authority.sign('prometheus'), await authority.sign('somebody')];
    await using engine = await openEngine({
      telemetry: METRICS,
      tls: { ...server, clientAuthority: authority.certificate },
      certificates: CertificatesSchema.parse([
        { common_name: 'prometheus', role: 'operator', tenant: 'default' },
      ]),
    });
    const address = engine.running.metricsAddress ?? '';
    const read = (tls: object) => readMetrics(address, { tls: { authority: authority.pem, ...tls } });
    expect(await read(known.pem)).toContain('spindle_');
    await expect(read(unknown.pem)).rejects.toThrow('not in the table');
    await expect(read({})).rejects.toThrow('credential');
    await expect(readMetrics(address, {})).rejects.toThrow('There are no metrics');
  });

  it('9.1: are not served to other machines in the open, whichever setting says where', async () => {
    for (const telemetry of [
      { metrics: '0.0.0.0:0' },
      {
        variables: {
          OTEL_METRICS_EXPORTER: 'prometheus',
          OTEL_EXPORTER_PROMETHEUS_HOST: '0.0.0.0',
          OTEL_EXPORTER_PROMETHEUS_PORT: '0',
        },
      },
    ])
      await expect(openEngine({ telemetry })).rejects.toThrow(StartError);
  });
});
