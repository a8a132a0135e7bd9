/** ConfigMaps, Secrets and claims on their way from files and URLs, through broken versions and restarts. */
import { readdir, readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { fileSource } from '../../../../src/agent/sources/file-source.ts';
import { httpSource } from '../../../../src/agent/sources/http-source.ts';
import { LastGoodManifests } from '../../../../src/agent/sources/manifests/last-good-manifests.ts';
import { localSource } from '../../../../src/agent/sources/local-source.ts';
import { problemText, type SourceUpdate } from '../../../../src/agent/sources/source.ts';
import { Collector, manifest, put, temporaryFolder } from '../support.ts';

let dir: string;
let remove: () => Promise<void>;
let lastGood: LastGoodManifests;
let source: Collector<SourceUpdate> | undefined;

beforeEach(async () => {
  ({ path: dir, remove } = await temporaryFolder());
});
afterEach(async () => {
  source?.close();
  await lastGood.settled();
  await remove();
});

const NEVER_MS = 600_000;
const configMap = (color: string) =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\ndata: {color: ${color}}\n`;
const secret = (password: string) =>
  `apiVersion: v1\nkind: Secret\nmetadata: {name: keys}\nstringData: {password: ${password}}\n`;
const broken = 'apiVersion: v1\nkind: Secret\nmetadata: {name: keys}\ndata: {password: hunter2!}\n';
const all = (...documents: readonly string[]) => documents.join('---\n');

const names = ({ pods, objects = [] }: SourceUpdate) => [
  ...(pods ?? []).map(({ metadata }) => metadata.name),
  ...objects.flatMap((one) => one.objects).map(({ kind }) => kind),
];
const colors = ({ objects = [] }: SourceUpdate) =>
  objects
    .flatMap((one) => one.objects)
    .map(({ object }) => ('data' in object ? object.data?.color : undefined));
const texts = ({ problems }: SourceUpdate) => problems.map((problem) => problemText(problem));

/** As an agent does that starts. */
async function start(path = dir): Promise<Collector<SourceUpdate>> {
  source?.close();
  await (lastGood as LastGoodManifests | undefined)?.settled();
  lastGood = new LastGoodManifests(join(dir, '.kept'));
  const options = {
    path,
    nodeName: 'node',
    source: 'local',
    checkFrequencyMs: NEVER_MS,
    quietMs: 30,
  } as const;
  source = new Collector(fileSource({ ...options, lastGood }));
  return source;
}

describe('a file', () => {
  const file = () => join(dir, 'app.yaml');

  test('brings its objects with its pods, and their changes', async () => {
    await put(file(), all(manifest('web'), configMap('red'), secret('hunter2')));
    const updates = await start();
    const first = await updates.next();
    expect(names(first)).toEqual(['web', 'ConfigMap', 'Secret']);
    expect(first.objects?.map((one) => one.file)).toEqual([file()]);
    await put(file(), all(manifest('web'), configMap('blue')));
    const second = await updates.next();
    expect([names(second), colors(second)]).toEqual([['web', 'ConfigMap'], ['blue']]);
  });

  test('of objects alone has no pods', async () => {
    await put(file(), configMap('red'));
    expect(await (await start()).next()).toMatchObject({ pods: [], problems: [] });
  });

  test('that is broken keeps the objects of its last good version, and the error names file and field alone', async () => {
    await put(file(), all(manifest('web'), configMap('red')));
    const updates = await start();
    await updates.next();
    await put(file(), all(manifest('web', 'other'), configMap('blue'), broken));
    const update = await updates.next();
    expect([names(update), colors(update)]).toEqual([['web', 'ConfigMap'], ['red']]);
    expect(texts(update)).toEqual([
      `${file()}: document 3: data.password: must be base64; in a Secret, plain text belongs into stringData`,
    ]);
  });

  test('whose pod becomes a Deployment keeps the pod, and beside another document loses it', async () => {
    await put(file(), manifest('web'));
    const updates = await start();
    await updates.next();
    const deployment = manifest('web').replace('kind: Pod', 'kind: Deployment').replace('v1', 'apps/v1');
    await put(file(), deployment);
    expect(names(await updates.next())).toEqual(['web']);
    await put(file(), all(deployment, configMap('red')));
    expect(names(await updates.next())).toEqual(['ConfigMap']);
  });

  test('that is broken when the agent starts has the pods and objects that were kept, but no Secret: it is not kept', async () => {
    await put(file(), all(manifest('web'), configMap('red'), secret('hunter2')));
    const before = await (await start()).next();
    await lastGood.settled();
    const kept = await Promise.all(
      (await readdir(join(dir, '.kept'))).map((name) => readFile(join(dir, '.kept', name), 'utf8')),
    );
    expect(kept).toHaveLength(1);
    expect(kept.join()).not.toMatch(/hunter2|aHVudGVyMg/u);
    await put(file(), 'kind: [');
    const after = await (await start()).next();
    expect(names(after)).toEqual(['web', 'ConfigMap']);
    expect(after.pods).toEqual(before.pods);
  });
});

describe('a URL', () => {
  let server: Server;
  let body: string;
  let url: string;

  beforeEach(async () => {
    server = createServer((_request, response) => response.writeHead(body === '' ? 503 : 200).end(body));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://me:hidden@127.0.0.1:${(server.address() as AddressInfo).port}/app`;
  });
  afterEach(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  async function ask(): Promise<Collector<SourceUpdate>> {
    source?.close();
    await (lastGood as LastGoodManifests | undefined)?.settled();
    lastGood = new LastGoodManifests(join(dir, '.kept'));
    source = new Collector(
      httpSource({ url, nodeName: 'node', source: 'local', checkFrequencyMs: 5, lastGood }),
    );
    return source;
  }

  test('brings objects; they stay when it is broken, and come back without Secrets after a restart', async () => {
    body = all(manifest('web'), configMap('red'), secret('hunter2'));
    const updates = await ask();
    const first = await updates.next();
    expect(names(first)).toEqual(['web', 'ConfigMap', 'Secret']);
    expect(first.objects?.map((one) => one.file).join()).not.toContain('hidden');
    body = broken;
    const second = await updates.next();
    expect(names(second)).toEqual(['web', 'ConfigMap', 'Secret']);
    expect(texts(second)).toHaveLength(1);
    body = '';
    const restored = await (await ask()).next();
    expect(restored.restored).toBe(true);
    expect(names(restored)).toEqual(['web', 'ConfigMap']);
  });

  test('and a file are one source of objects', async () => {
    await put(join(dir, 'app.yaml'), all(manifest('web'), configMap('red')));
    body = secret('hunter2');
    lastGood = new LastGoodManifests(join(dir, '.kept'));
    const common = { nodeName: 'node', source: 'local' } as const;
    source = new Collector(
      localSource([
        {
          place: dir,
          updates: fileSource({ ...common, path: dir, checkFrequencyMs: NEVER_MS, quietMs: 30 }),
        },
        { place: url, updates: httpSource({ ...common, url, checkFrequencyMs: NEVER_MS }) },
      ]),
    );
    const whole = await source.until(({ pods, restored }) => pods !== undefined && restored === undefined);
    expect(names(whole)).toEqual(['web', 'ConfigMap', 'Secret']);
  });
});

test('a manifest that a thread reads brings the same objects', async () => {
  const large = `# ${'x'.repeat(9_000)}\n`;
  await put(join(dir, 'app.yaml'), `${large}${all(manifest('web'), configMap('red'), secret('hunter2'))}`);
  const update = await (await start()).next();
  expect(names(update)).toEqual(['web', 'ConfigMap', 'Secret']);
  const [object] = update.objects?.flatMap((one) => one.objects) ?? [];
  expect(Object.isFrozen(object?.object)).toBe(true);
  await lastGood.settled();
  expect(
    await readFile(join(dir, '.kept', (await readdir(join(dir, '.kept')))[0] ?? ''), 'utf8'),
  ).not.toContain('hunter2');
});
