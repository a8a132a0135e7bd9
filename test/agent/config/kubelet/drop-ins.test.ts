import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { configure } from '../../../../src/commands/configure.ts';
import { mergePatch } from '../../../../src/agent/config/kubelet/drop-ins.ts';

const HEAD = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'statelet-drop-ins-'));
});
afterEach(() => rm(folder, { recursive: true }));

async function write(name: string, content: string): Promise<string> {
  const file = join(folder, name);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, content);
  return file;
}

/** The fields of the files, by their names in the folder of --config-dir; `base` is the file of --config. */
async function configured(dropIns: Readonly<Record<string, string>>, base?: string) {
  for (const [name, fields] of Object.entries(dropIns)) await write(`conf.d/${name}`, `${HEAD}${fields}\n`);
  const config = base === undefined ? {} : { config: await write('kubelet.yaml', `${HEAD}${base}\n`) };
  return configure({ ...config, configDir: join(folder, 'conf.d') });
}

async function problem(dropIns: Readonly<Record<string, string>>, base?: string): Promise<string> {
  const error: unknown = await configured(dropIns, base).then(
    () => new Error('accepted'),
    (reason: unknown) => reason,
  );
  expect(error).toMatchObject({ kind: 'InvalidArgument' });
  return (error as Error).message.replaceAll(`${folder}/`, '');
}

describe('drop-ins', () => {
  test('are merged into the file in the order of their names, which is that of bytes', async () => {
    const { config } = await configured(
      { '9.conf': 'maxPods: 9', '10.conf': 'maxPods: 10\nsyncFrequency: 10s', 'Z.conf': 'syncFrequency: 2m' },
      'maxPods: 1\nhttpCheckFrequency: 7s',
    );
    expect(config).toMatchObject({ maxPods: 9, syncFrequencyMs: 120_000, httpCheckFrequencyMs: 7_000 });
  });

  test('are a configuration without a file of --config too', async () => {
    expect((await configured({ '1.conf': 'maxPods: 3' })).config.maxPods).toBe(3);
  });

  test('may lie in folders inside, which stand among the files by their names', async () => {
    const { config } = await configured({
      '10.conf': 'maxPods: 10',
      '20/99.conf': 'maxPods: 20\nclusterDomain: inner',
      '30.conf': 'maxPods: 30',
    });
    expect([config.maxPods, config.node.clusterDomain]).toEqual([30, 'inner']);
  });

  test('merge objects and feature gates, and replace lists', async () => {
    const { config } = await configured(
      {
        '1.conf':
          'systemReserved: { memory: 2Mi }\nfeatureGates: { WatchList: false }\nclusterDNS: [10.0.0.2]',
        '2.conf': 'featureGates: { MemoryQoS: true }',
      },
      'systemReserved: { cpu: 100m, memory: 1Mi }\nfeatureGates: { MemoryQoS: false }\nclusterDNS: [10.0.0.1, 10.0.0.9]',
    );
    expect(config).toMatchObject({
      systemReserved: { cpu: '100m', memory: '2Mi' },
      featureGates: { WatchList: false, MemoryQoS: true },
    });
    expect(config.node.clusterDNS).toEqual(['10.0.0.2']);
  });

  test('bring a default back with null', async () => {
    const { config } = await configured({ '1.conf': 'maxPods: null\nclusterDomain: ~' }, 'maxPods: 5');
    expect(config.maxPods).toBe(110);
  });

  test('add thresholds of eviction to the defaults of a file that has none, as with the kubelet', async () => {
    const dropIns = { '1.conf': 'evictionHard: { memory.available: 7% }' };
    expect((await configured(dropIns, 'maxPods: 5')).config.evictionHard).toMatchObject({
      'memory.available': '7%',
      'nodefs.available': '10%',
    });
    expect((await configured(dropIns, 'evictionHard: { pid.available: 5% }')).config.evictionHard).toEqual({
      'memory.available': '7%',
      'pid.available': '5%',
    });
  });

  test('have paths that are relative to their own folder', async () => {
    const { config } = await configured(
      { '1.conf': 'staticPodPath: pods' },
      'tlsCertFile: /a\ntlsPrivateKeyFile: /b',
    );
    expect(config.staticPodPath).toBe(join(folder, 'conf.d', 'pods'));
  });

  test('are followed by flags', async () => {
    await write('conf.d/1.conf', `${HEAD}maxPods: 3\nfeatureGates: { MemoryQoS: true, WatchList: false }\n`);
    const flags = { configDir: join(folder, 'conf.d'), maxPods: 4, featureGates: { MemoryQoS: false } };
    const { config } = await configure(flags);
    expect(config).toMatchObject({ maxPods: 4, featureGates: { MemoryQoS: false, WatchList: false } });
  });

  test('have warnings of their own', async () => {
    const { warnings } = await configured({ '1.conf': 'oomScoreAdj: -500' }, 'podCIDR: 10.0.0.0/24');
    expect(warnings.map((line) => line.replaceAll(`${folder}/`, ''))).toEqual([
      expect.stringMatching(/^kubelet\.yaml: .*: podCIDR$/u),
      expect.stringMatching(/^conf\.d\/1\.conf: .*: oomScoreAdj$/u),
    ]);
  });

  test('are files whose names end in .conf: others are noted; a link to a file counts', async () => {
    await write('elsewhere', `${HEAD}maxPods: 8\n`);
    await write('conf.d/README.md', 'no configuration');
    await symlink(join(folder, 'elsewhere'), join(folder, 'conf.d/.conf'));
    const { config, notes } = await configure({ configDir: join(folder, 'conf.d') });
    expect(config.maxPods).toBe(8);
    expect(notes).toEqual([`${folder}/conf.d/README.md: is not read, as its name does not end in .conf`]);
  });
});

describe('an error names the drop-in and its field', () => {
  test.each<[string, string, string]>([
    [
      'a wrong type',
      'maxPods: many',
      'conf.d/2.conf: maxPods: must be a whole number from 0 to 2147483647 (got "many")',
    ],
    [
      'a spelling mistake',
      'maxPod: 3',
      'conf.d/2.conf: maxPod: is not a field of KubeletConfiguration kubelet.config.k8s.io/v1beta1; did you mean "maxPods"?',
    ],
    [
      'a value out of range',
      'containerLogMaxFiles: 1',
      'conf.d/2.conf: containerLogMaxFiles: must be 2 or more (got 1)',
    ],
    [
      'an unknown gate',
      'featureGates: { Foo: true }',
      'conf.d/2.conf: featureGates: unrecognized feature gate: Foo',
    ],
  ])('%s', async (_, fields, message) => {
    expect(
      await problem({ '1.conf': 'maxPods: 1', '2.conf': fields, '3.conf': 'maxPods: 3' }, 'maxPods: 2'),
    ).toBe(message);
  });

  test('that does not fit the settings of another file', async () => {
    const dropIns = {
      '1.conf': 'imageGCLowThresholdPercent: 70',
      '2.conf': 'shutdownGracePeriodCriticalPods: 20s',
    };
    expect(await problem(dropIns, 'shutdownGracePeriod: 10s')).toMatch(
      /^conf\.d\/2\.conf: shutdownGracePeriod/u,
    );
  });

  test('of a file that a later one does not mend', async () => {
    const dropIns = { '1.conf': 'maxPods: 3' };
    expect(await problem(dropIns, 'containerLogMaxFiles: 1')).toBe(
      'kubelet.yaml: containerLogMaxFiles: must be 2 or more (got 1)',
    );
    const mended = await configured({ '1.conf': 'containerLogMaxFiles: 4' }, 'containerLogMaxFiles: 1');
    expect(mended.config.node.containerLogMaxFiles).toBe(4);
  });

  test('without apiVersion and kind, which it needs', async () => {
    await write('conf.d/1.conf', 'maxPods: 3\n');
    expect(await problem({})).toBe(
      'conf.d/1.conf: apiVersion: must be "kubelet.config.k8s.io/v1beta1" (it is missing)\n' +
        'conf.d/1.conf: kind: must be "KubeletConfiguration" (it is missing)',
    );
  });

  test('that is empty, no YAML, or no file', async () => {
    await write('conf.d/1.conf', '');
    expect(await problem({})).toMatch(/^conf\.d\/1\.conf: must hold an object/u);
    await write('conf.d/1.conf', 'a: [');
    expect(await problem({})).toMatch(/^conf\.d\/1\.conf:\d+:\d+: is neither YAML nor JSON/u);
    await rm(join(folder, 'conf.d/1.conf'));
    await mkdir(join(folder, 'elsewhere'));
    await symlink(join(folder, 'elsewhere'), join(folder, 'conf.d/1.conf'));
    expect(await problem({})).toMatch(
      /^conf\.d\/1\.conf: is not a file but a folder; --config-dir reads files$/u,
    );
  });

  test('or the folder, where there is none', async () => {
    expect(await problem({})).toBe('conf.d: no such folder; check the path given with --config-dir');
    await write('conf.d', 'a file');
    expect(await problem({})).toBe('conf.d: is no folder; --config-dir takes a folder of files *.conf');
  });
});

test.each<[string, object, object, object]>([
  ['members are added and replaced', { a: 1, b: 2 }, { b: 3, c: 4 }, { a: 1, b: 3, c: 4 }],
  [
    'objects are merged at every depth',
    { a: { b: { c: 1 } } },
    { a: { b: { d: 2 } } },
    { a: { b: { c: 1, d: 2 } } },
  ],
  ['null removes a member', { a: 1, b: { c: 1, d: 2 } }, { a: null, b: { c: null } }, { b: { d: 2 } }],
  ['null for a member that is not there leaves nothing behind', {}, { a: { b: null } }, { a: {} }],
  ['a list takes the place of a list', { a: [1, 2] }, { a: [3] }, { a: [3] }],
  ['an object takes the place of what is none', { a: 'text' }, { a: { b: 1 } }, { a: { b: 1 } }],
  ['what is no object takes the place of one', { a: { b: 1 } }, { a: 'text' }, { a: 'text' }],
])('%s', (_, target, patch, merged) => {
  expect(mergePatch(target, patch)).toEqual(merged);
});

test('a member of any name is data', () => {
  const patch = JSON.parse('{"__proto__": {"polluted": true}}') as object;
  const merged = mergePatch({}, patch);
  expect(Object.keys(merged)).toEqual(['__proto__']);
  expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
});
