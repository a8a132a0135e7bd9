import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { CONFIGURATION_DEFAULTS } from '../../../src/agent/config/configuration-defaults.ts';
import {
  isFieldDefault,
  loadConfiguration,
  refusedValues,
} from '../../../src/agent/config/load-configuration.ts';

const HEAD = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'statelet-config-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function load(content: string, name = 'kubelet.yaml') {
  const file = join(folder, name);
  await writeFile(file, content);
  return loadConfiguration(file);
}

/** The message of the error, without the folder. */
async function problem(content: string, name?: string): Promise<string> {
  const error: unknown = await load(content, name).then(
    () => new Error('accepted'),
    (reason: unknown) => reason,
  );
  expect(error).toMatchObject({ kind: 'InvalidArgument' });
  return (error as Error).message.replaceAll(`${folder}/`, '');
}

describe('a KubeletConfiguration', () => {
  test('is read from YAML, with all its fields', async () => {
    const { configuration, warnings } = await load(
      `${HEAD}syncFrequency: 2m\nmaxPods: 5\nlogging: { verbosity: 4 }\n`,
    );
    expect(configuration).toMatchObject({ syncFrequency: '2m', maxPods: 5, logging: { verbosity: 4 } });
    expect(warnings).toEqual([]);
  });

  test('is read from JSON, indented with tabs too', async () => {
    const json = JSON.stringify(
      {
        apiVersion: 'kubelet.config.k8s.io/v1beta1',
        kind: 'KubeletConfiguration',
        staticPodURLHeader: { A: ['b', 'c'] },
      },
      null,
      '\t',
    );
    expect((await load(json, 'kubelet.json')).configuration.staticPodURLHeader).toEqual({ A: ['b', 'c'] });
  });

  test('may have empty fields, which are not set', async () => {
    const { configuration } = await load(`${HEAD}staticPodPath:\nlogging:\n  format: null\n`);
    expect(configuration.staticPodPath).toBeUndefined();
    expect(configuration.logging).toEqual({});
  });

  test('has paths that are relative to its file', async () => {
    const { configuration } = await load(`${HEAD}staticPodPath: pods\npodLogsDir: /var/log/pods\n`);
    expect(configuration).toMatchObject({ staticPodPath: join(folder, 'pods'), podLogsDir: '/var/log/pods' });
  });

  test('may have yes and no as booleans, as with the kubelet', async () => {
    await expect(load(`${HEAD}failSwapOn: no\n`)).resolves.toBeDefined();
  });

  test('has a warning for known fields that have no effect and not their default, nested ones with their path', async () => {
    const { warnings } = await load(
      `${HEAD}oomScoreAdj: -500\nmemorySwap: {}\nfailSwapOn: true\nlogging: { verbosity: 2, flushFrequency: 6s }\nmaxPods: 9\n`,
    );
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(
      /kubelet\.yaml: .*without effect here: oomScoreAdj, logging\.flushFrequency$/,
    );
  });
});

describe('an error has the file, the field, the value and what to do', () => {
  const cases: [string, string, string][] = [
    [
      'a number for a duration',
      'syncFrequency: 5',
      'kubelet.yaml: syncFrequency: must be a duration such as "1m30s" (got 5)',
    ],
    [
      'an invalid duration',
      'syncFrequency: 5 minutes',
      'kubelet.yaml: syncFrequency: must be a duration such as "1m30s" (got "5 minutes")',
    ],
    [
      'a negative duration',
      'fileCheckFrequency: -1s',
      'kubelet.yaml: fileCheckFrequency: must be a duration such as "1m30s" (got "-1s")',
    ],
    [
      'a text for a number',
      'maxPods: many',
      'kubelet.yaml: maxPods: must be a whole number from 0 to 2147483647 (got "many")',
    ],
    [
      'a port out of range',
      'healthzPort: 70000',
      'kubelet.yaml: healthzPort: must be a whole number from 0 to 65535 (got 70000)',
    ],
    [
      'a back-off out of range',
      'crashLoopBackOff: { maxContainerRestartPeriod: 10m }',
      'kubelet.yaml: crashLoopBackOff.maxContainerRestartPeriod: must be a duration from "1s" to "5m" (got "10m")',
    ],
    [
      'a host name for an address',
      'healthzBindAddress: localhost',
      'kubelet.yaml: healthzBindAddress: must be an IP address (got "localhost")',
    ],
    [
      'a URL of another kind',
      'staticPodURL: ftp://x',
      'kubelet.yaml: staticPodURL: must be an http or https URL',
    ],
    [
      'a list of the wrong type',
      'staticPodURLHeader: { A: [1] }',
      'kubelet.yaml: staticPodURLHeader.A.0: must be a string',
    ],
    [
      'a value not in the list',
      'logging: { format: xml }',
      'kubelet.yaml: logging.format: must be one of "text", "json" (got "xml")',
    ],
    [
      'an ill-typed field that has no effect',
      'evictionSoft: { memory.available: 5 }',
      'kubelet.yaml: evictionSoft.memory.available: must be a string (got 5)',
    ],
    [
      'a misspelt field',
      'syncFrequncy: 1m',
      'kubelet.yaml: syncFrequncy: is not a field of KubeletConfiguration kubelet.config.k8s.io/v1beta1; did you mean "syncFrequency"?',
    ],
    [
      'wrong upper case',
      'MaxPods: 1',
      'kubelet.yaml: MaxPods: is not a field of KubeletConfiguration kubelet.config.k8s.io/v1beta1; did you mean "maxPods"?',
    ],
    [
      'a misspelt nested field',
      'logging: { verbosty: 1 }',
      'kubelet.yaml: logging.verbosty: is not a field of KubeletConfiguration kubelet.config.k8s.io/v1beta1; did you mean "verbosity"?',
    ],
    [
      'an unknown field',
      'zebra: 1',
      'kubelet.yaml: zebra: is not a field of KubeletConfiguration kubelet.config.k8s.io/v1beta1',
    ],
  ];
  test.each(cases)('%s', async (_, line, message) => {
    expect(await problem(`${HEAD}${line}\n`)).toBe(message);
  });

  test('all of them at once', async () => {
    const message = await problem(`${HEAD}maxPods: many\nsyncFrequency: 5\nzebra: 1\n`);
    expect(
      message
        .split('\n')
        .map((line) => line.split(':')[1]?.trim())
        .sort(),
    ).toEqual(['maxPods', 'syncFrequency', 'zebra']);
  });

  test('another kind of object', async () => {
    expect(await problem('apiVersion: v1\nkind: Pod\n')).toBe(
      'kubelet.yaml: apiVersion: must be "kubelet.config.k8s.io/v1beta1" (got "v1")\n' +
        'kubelet.yaml: kind: must be "KubeletConfiguration" (got "Pod")',
    );
    expect(await problem('maxPods: 1\n')).toContain('kind: must be "KubeletConfiguration" (it is missing)');
  });

  test('bad YAML, by line and column', async () => {
    expect(await problem(`${HEAD}maxPods: [1\nsyncFrequency: 1m\n`)).toMatch(
      /^kubelet\.yaml:4:\d+: is neither YAML nor JSON: /,
    );
    expect(await problem(`${HEAD}maxPods: 1\nmaxPods: 2\n`)).toMatch(/^kubelet\.yaml:4:1: .*unique/);
  });

  test.each([
    ['an empty file', ''],
    ['a list', '[]'],
    ['a text', 'hello'],
  ])('%s', async (_, content) => {
    expect(await problem(content)).toMatch(/^kubelet\.yaml: must hold an object of apiVersion/);
  });

  test('several documents, and aliases without an anchor', async () => {
    expect(await problem(`${HEAD}---\n${HEAD}`)).toBe(
      'kubelet.yaml: holds several documents, and only one is read',
    );
    expect(await problem(`${HEAD}maxPods: *many\n`)).toMatch(/^kubelet\.yaml.*many/);
  });

  test('a file that does not exist, is a folder, or may not be read', async () => {
    await expect(loadConfiguration(join(folder, 'none.yaml'))).rejects.toThrow(
      /none\.yaml: no such file; .*--config/,
    );
    await mkdir(join(folder, 'folder'));
    await expect(loadConfiguration(join(folder, 'folder'))).rejects.toThrow(
      /folder: is not a file but a folder; --config reads files/,
    );
    if (process.getuid?.() === 0) return; // Root may read everything.
    await load(HEAD, 'locked.yaml');
    await chmod(join(folder, 'locked.yaml'), 0);
    await expect(loadConfiguration(join(folder, 'locked.yaml'))).rejects.toThrow(/may not be read/);
  });
});

describe('whole numbers', () => {
  test.each([
    ['podPidsLimit', '1e23', 'got 1e+23'],
    ['podPidsLimit', '1.5', 'got 1.5'],
    ['podPidsLimit', '9223372036854775808', 'got 9223372036854778000'],
    ['maxOpenFiles', '-9223372036854775809', 'got -9223372036854778000'],
    ['maxOpenFiles', '9.3e18', 'got 9300000000000000000'],
    ['registryPullQPS', '2147483648', 'got 2147483648'],
    ['registryPullQPS', '1e23', 'got 1e+23'],
    ['evictionMaxPodGracePeriod', '0.5', 'got 0.5'],
    ['userNamespaces.idsPerPod', '1e23', 'got 1e+23'],
    ['logging.flushFrequency', '1e23', 'got 1e+23'],
  ])('that do not fit into %s are refused: %s', async (field, value, got) => {
    const [outer = '', inner] = field.split('.');
    const text = inner === undefined ? `${outer}: ${value}` : `${outer}: { ${inner}: ${value} }`;
    const message = await problem(`${HEAD}${text}\n`);
    expect(message).toContain(`kubelet.yaml: ${field}: must be `);
    expect(message).toContain(`(${got})`);
  });

  test('in a list name their place', async () => {
    const periods = '[{ priority: 1, shutdownGracePeriodSeconds: 1e23 }]';
    expect(await problem(`${HEAD}shutdownGracePeriodByPodPriority: ${periods}\n`)).toContain(
      'shutdownGracePeriodByPodPriority.0.shutdownGracePeriodSeconds: must be a whole number that an int64 holds (got 1e+23)',
    );
  });

  test('may be the largest ones', async () => {
    const { configuration } = await load(
      `${HEAD}maxOpenFiles: 9223372036854775807\nregistryBurst: 2147483647\n`,
    );
    expect(configuration).toMatchObject({ registryBurst: 2147483647 });
  });
});

test.each(Object.entries(CONFIGURATION_DEFAULTS))('%s has its default: %j', (name, value) => {
  expect(isFieldDefault(name, value)).toBe(true);
});

describe('a value', () => {
  test.each<[string, string, unknown]>([
    ['an empty text', 'hairpinMode', ''],
    ['a duration of zero', 'volumeStatsAggPeriod', '0s'],
    ['the same duration, written in another way', 'volumeStatsAggPeriod', '60s'],
    ['nanoseconds of zero', 'logging.flushFrequency', 0],
    ['an object without members', 'logging.options', {}],
    ['an object with members of the default', 'logging.options', { json: { infoBufferSize: '0' } }],
    ['a list without items, where there is no default', 'logging.vmodule', []],
    ['false, where there is no default', 'protectKernelDefaults', false],
    ['0, where it counts as not given', 'maxOpenFiles', 0],
  ])('is a default: %s', (_, path, value) => {
    expect(isFieldDefault(path, value)).toBe(true);
  });

  test.each<[string, string, unknown]>([
    ['false for true', 'failSwapOn', false],
    ['0 for another number', 'oomScoreAdj', 0],
    ['another text', 'hairpinMode', 'none'],
    ['another duration', 'volumeStatsAggPeriod', '-1s'],
    ['a member', 'logging.options', { json: { infoBufferSize: '1Mi' } }],
    ['a list with other items', 'enforceNodeAllocatable', ['none']],
    ['a text, where there is no default', 'podCIDR', '10.0.0.0/24'],
    ['true, where there is no default', 'protectKernelDefaults', true],
  ])('is none: %s', (_, path, value) => {
    expect(isFieldDefault(path, value)).toBe(false);
  });
});

test('the defaults are accepted, given or not', () => {
  const defaults = { cpuManagerPolicy: 'none', memoryManagerPolicy: 'None', topologyManagerPolicy: '' };
  expect(refusedValues(defaults)).toEqual([]);
  expect(refusedValues({})).toEqual([]);
});

test('the mode that ends when pods run is refused, as by the kubelet, with the command that is meant', () => {
  expect(refusedValues({ runOnce: true })).toEqual([
    'runOnce: must be false: there is no daemon that ends when its pods run, but the command "statelet run-once" (got true)',
  ]);
  expect(refusedValues({ runOnce: false })).toEqual([]);
});
