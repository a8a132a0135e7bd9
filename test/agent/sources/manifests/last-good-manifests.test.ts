import {
  chmod,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  unlink,
  writeFile,
} from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { fileSource } from '../../../../src/agent/sources/file-source.ts';
import { httpSource } from '../../../../src/agent/sources/http-source.ts';
import { LastGoodManifests } from '../../../../src/agent/sources/manifests/last-good-manifests.ts';
import { podConfig, type PodConfigEvent } from '../../../../src/agent/sources/pod-config.ts';
import { problemText, type SourceUpdate } from '../../../../src/agent/sources/source.ts';
import { Collector, manifest, put, temporaryFolder } from '../support.ts';

const NEVER_MS = 600_000;
const BROKEN = 'kind: [';

let folder: string;
let kept: string;
let lastGood: LastGoodManifests;
let source: Collector<SourceUpdate> | undefined;
let remove: () => Promise<void>;

beforeEach(async () => {
  const { path, remove: removeAll } = await temporaryFolder();
  [folder, kept, remove] = [join(path, 'pods'), join(path, 'kept', 'file'), removeAll];
  await mkdir(folder);
});
afterEach(async () => {
  source?.close();
  await lastGood.settled();
  await remove();
});

const at = (...names: string[]) => join(folder, ...names);
const write = (name: string, text: string) => put(at(name), text);
const names = ({ pods }: SourceUpdate) => pods?.map(({ metadata }) => metadata.name.replace(/-node$/, ''));
const uids = ({ pods }: SourceUpdate) => pods?.map(({ metadata }) => metadata.uid);
const texts = ({ problems }: SourceUpdate) =>
  problems.map((problem) => problemText(problem).replaceAll(folder, 'FOLDER').replaceAll(kept, 'KEPT'));
const holds =
  (...wanted: string[]) =>
  (update: SourceUpdate) =>
    String(names(update)) === String(wanted);

/** Starts the source again, as a restarted agent that finds the manifests which the earlier agent kept. */
async function start(path = folder, checkFrequencyMs = NEVER_MS): Promise<Collector<SourceUpdate>> {
  source?.close();
  await (lastGood as LastGoodManifests | undefined)?.settled();
  lastGood = new LastGoodManifests(kept);
  source = new Collector(fileSource({ path, nodeName: 'node', checkFrequencyMs, quietMs: 30, lastGood }));
  return source;
}

async function keptNames(): Promise<string[]> {
  await lastGood.settled();
  const locations = await new LastGoodManifests(kept).locations();
  return locations.map((location) => location.replace(`${folder}/`, ''));
}

describe('an agent that restarts', () => {
  test('uses the last good version of a manifest that is broken now: it has the same pod, and the source is seen', async () => {
    await write('a.yaml', manifest('a'));
    await write('b.yaml', manifest('b'));
    const before = await (await start()).until(holds('a', 'b'));
    await write('a.yaml', BROKEN);
    const after = await (await start()).next();
    expect(uids(after)).toEqual(uids(before));
    expect(after.restored).toBeUndefined();
    expect(texts(after)).toEqual([
      expect.stringContaining('FOLDER/a.yaml: is not valid YAML'),
      'FOLDER/a.yaml: its last good version is used',
    ]);
  });

  test('uses that version again after a second restart, until the manifest is good again; a removed manifest is no longer kept', async () => {
    await write('a.yaml', manifest('a'));
    await (await start()).until(holds('a'));
    await write('a.yaml', BROKEN);
    await (await start()).until(holds('a'));
    const updates = await start();
    expect(names(await updates.next())).toEqual(['a']);
    await write('a.yaml', manifest('mended'));
    expect(texts(await updates.until(holds('mended')))).toEqual([]);
    expect(await keptNames()).toEqual(['a.yaml']);
    await unlink(at('a.yaml'));
    await updates.until(holds());
    expect(await keptNames()).toEqual([]);
    await write('a.yaml', BROKEN);
    expect(names(await (await start()).next())).toEqual([]);
  });

  test('does not keep a manifest that was removed or renamed before the restart', async () => {
    await write('a.yaml', manifest('a'));
    await write('b.yaml', manifest('b'));
    await (await start()).until(holds('a', 'b'));
    await lastGood.settled();
    await rename(at('a.yaml'), at('c.yaml'));
    await unlink(at('b.yaml'));
    await (await start()).until(holds('a'));
    expect(await keptNames()).toEqual(['c.yaml']);
  });

  test('restores pods for a single broken manifest and for an unreadable folder; the source is not seen', async () => {
    await write('a.yaml', manifest('a'));
    await (await start(at('a.yaml'))).until(holds('a'));
    await write('a.yaml', BROKEN);
    const broken = await (await start(at('a.yaml'))).next();
    expect([names(broken), broken.restored]).toEqual([['a'], true]);
    await write('a.yaml', manifest('a'));
    const link = `${folder}-link`;
    await symlink(folder, link);
    const good = await (await start(link)).next();
    await lastGood.settled();
    await rm(link);
    await symlink(link, link);
    const unreadable = await (await start(link)).next();
    expect([uids(unreadable), unreadable.restored]).toEqual([uids(good), true]);
    expect(texts(unreadable)[0]).toContain('cannot be read, its pods stay as they are');
  });

  test('ignores kept files that are damaged or of another format version', async () => {
    await write('a.yaml', manifest('a'));
    await (await start()).until(holds('a'));
    await lastGood.settled();
    const [file = ''] = await readdir(kept);
    const text = await readFile(join(kept, file), 'utf8');
    await write('a.yaml', BROKEN);
    for (const damage of [
      text.slice(0, 20),
      '',
      'null',
      text.replace('"version":1', '"version":2'),
      text.replace('a.yaml', 'b.yaml'),
    ]) {
      await writeFile(join(kept, file), damage);
      expect(names(await (await start()).next())).toEqual([]);
    }
  });

  test('adds restored pods, and counts the source as seen when it can be read', async () => {
    await write('a.yaml', manifest('a'));
    await (await start(at('a.yaml'))).until(holds('a'));
    await write('a.yaml', BROKEN);
    source?.close();
    await lastGood.settled();
    const file = fileSource({
      path: at('a.yaml'),
      nodeName: 'node',
      checkFrequencyMs: NEVER_MS,
      quietMs: 30,
      lastGood,
    });
    const events = new Collector<PodConfigEvent>(
      podConfig({ file }, { now: () => 0, onProblem: () => undefined }),
    );
    expect(await events.next()).toMatchObject({
      op: 'ADD',
      source: 'file',
      pods: [{ metadata: { name: 'a-node' } }],
    });
    await write('a.yaml', manifest('a'));
    expect(await events.next()).toEqual({ type: 'SOURCE_SEEN', source: 'file' });
    events.close();
  });
});

describe('a kept manifest', () => {
  test('can be read by its owner only, and is written only when it has changed', async () => {
    await write('a.yaml', manifest('a'));
    await (await start()).until(holds('a'));
    await lastGood.settled();
    const [file = ''] = await readdir(kept);
    expect((await stat(kept)).mode & 0o777).toBe(0o700);
    const { mode, ino } = await stat(join(kept, file));
    expect(mode & 0o777).toBe(0o600);
    const updates = await start();
    await updates.until(holds('a'));
    await lastGood.settled();
    expect((await stat(join(kept, file))).ino).toBe(ino);
    await write('a.yaml', manifest('changed'));
    await updates.until(holds('changed'));
    await lastGood.settled();
    expect((await stat(join(kept, file))).ino).not.toBe(ino);
    expect(await readdir(kept)).toEqual([file]);
  });

  test('that cannot be written is one problem; the pods start anyway, and the write is tried again', async () => {
    await mkdir(join(kept, '..'));
    await writeFile(kept, 'in the way');
    await write('a.yaml', manifest('a'));
    await write('b.yaml', manifest('b'));
    const updates = await start(folder, 20);
    const told = await updates.until(({ problems }) => problems.length > 0);
    expect(names(told)).toEqual(['a', 'b']);
    expect(texts(told)).toEqual([
      expect.stringMatching(/^KEPT: last good manifests cannot be kept for the next start: /),
    ]);
    await rm(kept);
    await updates.until(({ problems }) => problems.length === 0);
    expect(await keptNames()).toEqual(['a.yaml', 'b.yaml']);
  });

  test('is removed when a newer version cannot be written', async () => {
    await write('a.yaml', manifest('a'));
    await (await start()).until(holds('a'));
    await lastGood.settled();
    const [file = ''] = await readdir(kept);
    await mkdir(join(kept, `${file}.tmp`));
    await chmod(kept, 0o700);
    lastGood.keep(at('a.yaml'), Buffer.from(manifest('newer')), 'newer');
    await lastGood.settled();
    expect(lastGood.failure).toContain('EISDIR');
    expect(await lastGood.read(at('a.yaml'))).toBeUndefined();
  });
});

describe('the server of a URL', () => {
  let server: Server;
  let answer: { status: number; body: string };
  let url: string;

  beforeEach(async () => {
    server = createServer((_request, response) => response.writeHead(answer.status).end(answer.body));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/pods`;
    lastGood = new LastGoodManifests(kept);
  });
  afterEach(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  async function ask(): Promise<Collector<SourceUpdate>> {
    source?.close();
    await lastGood.settled();
    lastGood = new LastGoodManifests(kept);
    source = new Collector(httpSource({ url, nodeName: 'node', checkFrequencyMs: 5, lastGood }));
    return source;
  }

  test.each([
    ['answers with an error', 503, 'starting'],
    ['serves a broken manifest', 200, BROKEN],
    ['serves nothing', 200, ''],
  ])(
    '%s when the agent restarts: the pods are restored until it serves a good manifest',
    async (_what, status, body) => {
      answer = { status: 200, body: manifest('a') };
      const before = await (await ask()).next();
      answer = { status, body };
      const updates = await ask();
      const after = await updates.next();
      expect([uids(after), after.restored]).toEqual([uids(before), true]);
      expect(after.problems).toHaveLength(1);
      answer = { status: 200, body: manifest('a') };
      expect(await updates.next()).toEqual({ pods: before.pods, problems: [] });
    },
  );

  test('has another URL than before the restart: no pods are restored', async () => {
    answer = { status: 200, body: manifest('a') };
    await (await ask()).next();
    answer = { status: 503, body: '' };
    url = `${url}/of-another-tenant`;
    expect((await (await ask()).next()).pods).toBeUndefined();
  });
});
