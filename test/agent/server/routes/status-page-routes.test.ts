import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { configurationRoutes } from '../../../../src/agent/server/routes/node-routes.ts';
import { statusPageRoutes } from '../../../../src/agent/server/routes/status-page-routes.ts';
import { systemClock } from '../../../../src/system/timer.ts';
import { ownVersion } from '../../../../src/version.ts';
import { serveForTest, type ServedRoutes } from '../../../support/served-routes.ts';

let served: ServedRoutes;
beforeEach(async () => {
  const flags = () => ({ v: '0', config: '/etc/<file>' });
  served = await serveForTest([
    ...statusPageRoutes({ flags }, systemClock),
    ...configurationRoutes({
      configuration: () => ({ kind: 'KubeletConfiguration', syncFrequency: '1m0s' }),
    }),
  ]);
});
afterEach(() => served.close());

const asObject = (kind: string, format = 'json', version = 'v1beta1') => ({
  headers: { accept: `application/${format};v=${version};g=config.k8s.io;as=${kind}` },
});

describe.each(['statusz', 'flagz'])('/%s', (name) => {
  const kind = name === 'statusz' ? 'Statusz' : 'Flagz';

  test.each(['GET', 'POST'])('is text for %s, unless an object is wanted', async (method) => {
    const { status, headers, body } = await served.ask(`/${name}`, { method });
    expect({ status, headers }).toEqual({
      status: 200,
      headers: { 'content-type': 'text/plain; charset=utf-8' },
    });
    expect(body).toMatch(new RegExp(`^\nstatelet ${name}\nWarning: This endpoint is not meant`));
  });

  test('is an object in JSON', async () => {
    const { headers, body } = await served.ask(`/${name}`, asObject(kind));
    expect(headers).toEqual({
      'content-type': `application/json;g=config.k8s.io;v=v1beta1;as=${kind}`,
    });
    expect(JSON.parse(body)).toMatchObject({ kind, apiVersion: 'config.k8s.io/v1beta1' });
    expect(body).toMatch(/^\{\n {2}"kind"/);
  });

  test('is an object in YAML', async () => {
    const { headers, body } = await served.ask(`/${name}`, asObject(kind, 'yaml'));
    expect(headers['content-type']).toBe(`application/yaml;g=config.k8s.io;v=v1beta1;as=${kind}`);
    expect(body).toContain(`kind: ${kind}\nmetadata:\n  name: statelet\n`);
  });

  test('warns of the old version', async () => {
    const { headers } = await served.ask(`/${name}`, asObject(kind, 'json', 'v1alpha1'));
    expect(headers.warning).toBe(
      `299 - "This version of the ${name} endpoint is deprecated. Please use a newer version."`,
    );
  });

  test('refuses other formats', async () => {
    const { status, headers, body } = await served.ask(`/${name}`, { headers: { accept: 'text/html' } });
    expect({ status, type: headers['content-type'] }).toEqual({ status: 406, type: 'application/json' });
    expect(body).toBe(
      '{\n  "kind": "Status",\n  "apiVersion": "v1",\n  "metadata": {},\n  "status": "Failure",\n' +
        '  "message": "only the following media types are accepted: application/json, application/yaml, text/plain",\n' +
        '  "reason": "NotAcceptable",\n  "code": 406\n}',
    );
    const yaml = await served.ask(`/${name}`, { headers: { accept: 'application/yaml' } });
    expect(yaml).toMatchObject({ status: 406, headers: { 'content-type': 'application/yaml' } });
    expect(yaml.body).toMatch(/^apiVersion: v1\ncode: 406\nkind: Status\n/);
  });
});

test('/statusz has this program and its start', async () => {
  const { body } = await served.ask('/statusz', asObject('Statusz'));
  const { startTime, ...rest } = JSON.parse(body) as Record<string, unknown>;
  const age = Date.now() - Date.parse(startTime as string);
  expect(Math.abs(age - process.uptime() * 1000)).toBeLessThan(5_000);
  expect(rest).toMatchObject({
    binaryVersion: ownVersion(),
    emulationVersion: '1.36',
    goVersion: `node ${process.version}`,
  });
});

test('/flagz shows values as they are', async () => {
  expect((await served.ask('/flagz')).body).toMatch(/\nconfig \/etc\/<file>\nv 0\n$/);
});

test('/configz', async () => {
  expect(await served.ask('/configz', { headers: { accept: 'text/html' } })).toEqual({
    status: 200,
    headers: { 'content-type': 'application/json', 'x-content-type-options': 'nosniff' },
    body: '{"kubeletconfig":{"kind":"KubeletConfiguration","syncFrequency":"1m0s"}}',
  });
});
