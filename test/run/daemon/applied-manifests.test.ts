import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { AppliedManifests, type AppliedManifestsOptions } from '../../../src/run/daemon/applied-manifests.ts';
import { readManifestPods } from '../../../src/agent/sources/manifests/manifest-pods.ts';
import type { Pod } from '../../../src/types/kubernetes.ts';

let dir: string;
let folder: string;
/** The pods that a source has. */
let wanted: Pod[];
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'statelet-applied-'));
  folder = join(dir, 'pods');
  mkdirSync(folder);
  wanted = [];
});
afterEach(() => rmSync(dir, { recursive: true }));

const manifest = (name: string, more = '') =>
  Buffer.from(`# mine
apiVersion: v1
kind: Pod
metadata: { name: ${name}${more} }
spec: { containers: [{ name: main, command: [sleep, '1'] }] }
`);

function applied(more: Partial<AppliedManifestsOptions> = {}): AppliedManifests {
  return new AppliedManifests({
    nodeName: 'node-a',
    localPods: [{ url: 'http://127.0.0.1/' }, { path: join(dir, 'none') }, { path: folder }],
    isInCluster: false,
    pod: (namespace, name) =>
      wanted.find(({ metadata }) => metadata.namespace === namespace && metadata.name === name),
    objects: () => [],
    ...more,
  });
}

async function podOf(content: Buffer, location: string): Promise<Pod> {
  const { pods } = await readManifestPods(content, { source: 'local', nodeName: 'node-a', location });
  return pods[0]!;
}

const FILE = 'pod_default_web.yaml';
const WEB = { kind: 'Pod', namespace: 'default', name: 'web' };

describe('a manifest', () => {
  test('becomes a file of the first folder, as it is, for its owner alone', async () => {
    const content = manifest('web');
    const file = join(folder, FILE);
    expect(await applied().apply(content)).toEqual({
      ...WEB,
      outcome: 'created',
      file,
      version: (await podOf(content, file)).metadata.uid,
    });
    expect(readFileSync(file).equals(content)).toBe(true);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder)).toEqual([FILE]);
  });

  test('that comes again is unchanged, also with another comment, which is kept', async () => {
    const manifests = applied();
    await manifests.apply(manifest('web'));
    const other = Buffer.from(manifest('web').toString().replace('# mine', '# ours'));
    expect(await manifests.apply(other)).toMatchObject({ outcome: 'unchanged' });
    expect(readFileSync(join(folder, FILE), 'utf8')).toMatch(/^# ours/u);
  });

  test('that has changed is configured', async () => {
    const manifests = applied();
    const { version } = await manifests.apply(manifest('web'));
    const changed = await manifests.apply(manifest('web', ', labels: { a: b }'));
    expect(changed.outcome).toBe('configured');
    expect(changed.version).not.toBe(version);
  });

  test('is only checked in a dry run', async () => {
    expect(await applied().apply(manifest('web'), { dryRun: true })).toMatchObject({ outcome: 'created' });
    expect(readdirSync(folder)).toEqual([]);
  });

  test('of a Secret that pods refer to is written and compared as that of a pod', async () => {
    const secret = (text: string) =>
      Buffer.from(`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},"stringData":{"a":"${text}"}}`);
    const manifests = applied();
    expect(await manifests.apply(secret('x'))).toMatchObject({ kind: 'Secret', outcome: 'created' });
    expect(await manifests.apply(secret('x'))).toMatchObject({ outcome: 'unchanged' });
    expect(await manifests.apply(secret('y'))).toMatchObject({ outcome: 'configured' });
    expect(readdirSync(folder)).toEqual(['secret_default_s.yaml']);
  });

  test('of an object with a very long name still has a file', async () => {
    const name = `${'a'.repeat(62)}.`.repeat(4).slice(0, 250) + 'b';
    const { file } = await applied().apply(manifest(name));
    expect(readdirSync(folder).map((one) => join(folder, one))).toEqual([file]);
  });

  test('stays in the folder in which it is', async () => {
    const second = join(dir, 'second');
    mkdirSync(second);
    await applied({ localPods: [{ path: second }] }).apply(manifest('web'));
    const both = applied({ localPods: [{ path: folder }, { path: second }] });
    expect(await both.apply(manifest('web'))).toMatchObject({
      outcome: 'unchanged',
      file: join(second, FILE),
    });
  });
});

describe('nothing is written', () => {
  test('of what the source would refuse', async () => {
    const wrong = Buffer.from(
      'apiVersion: v1\nkind: Pod\nmetadata: { name: web }\nspec: { containerss: [] }\n',
    );
    await expect(applied().apply(wrong)).rejects.toMatchObject({
      kind: 'InvalidArgument',
      message: expect.stringContaining('spec.containerss: unknown field'),
    });
    expect(readdirSync(folder)).toEqual([]);
  });

  test('of several objects at once', async () => {
    const two = Buffer.from(`${manifest('a').toString()}---\n${manifest('b').toString()}`);
    await expect(applied().apply(two)).rejects.toThrow('has 2 objects: one is applied at a time');
    expect(readdirSync(folder)).toEqual([]);
  });

  test('beside another manifest for the same pod', async () => {
    wanted = [await podOf(manifest('web'), join(folder, 'mine.yaml'))];
    await expect(applied().apply(manifest('web'))).rejects.toMatchObject({
      kind: 'FailedPrecondition',
      message: expect.stringMatching(
        /^pod default\/web has a manifest that apply has not written, in .*pods: change that/u,
      ),
    });
    expect(readdirSync(folder)).toEqual([]);
  });

  test('over a file whose content apply has not written', async () => {
    writeFileSync(join(folder, FILE), manifest('other'));
    await expect(applied().apply(manifest('web'))).rejects.toThrow(/does not have pod default\/web alone/u);
    await expect(applied().remove(WEB)).rejects.toThrow(/does not have pod default\/web alone/u);
    expect(readFileSync(join(folder, FILE)).equals(manifest('other'))).toBe(true);
  });

  test('through a link in the place of the draft', async () => {
    const victim = join(dir, 'victim');
    writeFileSync(victim, 'mine');
    symlinkSync(victim, join(folder, `.${FILE}.tmp`));
    await applied().apply(manifest('web'));
    expect(readFileSync(victim, 'utf8')).toBe('mine');
    expect(readFileSync(join(folder, FILE)).equals(manifest('web'))).toBe(true);
  });

  test.each([
    [false, /no folder of manifests to write into: start it with --pods FOLDER/u],
    [true, /come from an API server: .* kubectl apply/u],
  ])('without a folder; in a cluster: %s', async (isInCluster, message) => {
    const manifests = applied({ localPods: [{ url: 'http://127.0.0.1/' }], isInCluster });
    await expect(manifests.apply(manifest('web'))).rejects.toThrow(message);
  });
});

describe('what apply has written', () => {
  test('is removed, and may come again before the source has noticed', async () => {
    const manifests = applied();
    const { file } = await manifests.apply(manifest('web'));
    wanted = [await podOf(manifest('web'), file)];
    expect(await manifests.remove(WEB)).toBe(true);
    expect(readdirSync(folder)).toEqual([]);
    expect(await manifests.apply(manifest('web'))).toMatchObject({ outcome: 'created' });
  });

  test('of what pods refer to is removed, and nothing of others', async () => {
    const config = (name: string) =>
      Buffer.from(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"${name}"},"data":{"a":"b"}}`);
    const object = (name: string) => ({ kind: 'ConfigMap', namespace: 'default', name }) as const;
    const foreign = { file: '/mine.yaml', object: { ...object('theirs'), object: {} } };
    const manifests = applied({ objects: () => [foreign] });
    await manifests.apply(config('ours'));
    await manifests.removeObject(object('ours'));
    expect(readdirSync(folder)).toEqual([]);
    await expect(manifests.removeObject(object('ours'))).rejects.toMatchObject({ kind: 'NotFound' });
    await expect(manifests.removeObject(object('theirs'))).rejects.toThrow(
      'configmap default/theirs is in /mine.yaml, which apply has not written: remove it there',
    );
    await expect(manifests.apply(config('theirs'))).rejects.toThrow(/in \/mine\.yaml: change that/u);
  });

  test('is not a file that apply has not written', async () => {
    writeFileSync(join(folder, 'mine.yaml'), manifest('web'));
    expect(await applied().remove(WEB)).toBe(false);
    expect(readdirSync(folder)).toEqual(['mine.yaml']);
  });
});
