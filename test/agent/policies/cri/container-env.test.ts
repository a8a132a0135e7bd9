import { describe, expect, test } from '@jest/globals';
import {
  containerEnv,
  type EnvFacts,
  type EnvFile,
  envFileRefs,
  resolveCommand,
  unreadableEnvFile,
} from '../../../../src/agent/policies/cri/container-env.ts';
import { StateletError } from '../../../../src/types/errors.ts';
import type { Container, Pod } from '../../../../src/types/kubernetes.ts';
import { testVectors } from '../../../support/test-vectors.ts';

testVectors('podEnv');

const FACTS: EnvFacts = {
  podIPs: ['10.1.0.7', 'fd00::7'],
  hostIPs: ['192.168.0.2', 'fd00::2'],
  allocatable: { cpu: '4', memory: '8Gi', 'ephemeral-storage': '20Gi' },
};

function podWith(container: Partial<Container>, spec: Partial<Pod['spec']> = {}): [Pod, Container] {
  const whole: Container = { name: 'app', image: 'app:1', ...container };
  const pod: Pod = {
    metadata: {
      name: 'web',
      namespace: 'shop',
      uid: 'u-1',
      labels: { tier: 'front', 'example.com/a.b': 'dotted' },
      annotations: { note: 'hello' },
    },
    spec: { nodeName: 'node-1', serviceAccountName: 'robot', containers: [whole], ...spec },
  };
  return [pod, whole];
}

function envOf(
  env: Container['env'],
  container: Partial<Container> = {},
  spec: Partial<Pod['spec']> = {},
): Record<string, string> {
  const [pod, whole] = podWith({ ...container, env }, spec);
  return Object.fromEntries(containerEnv(pod, whole, FACTS).map(({ key, value }) => [key, value]));
}

function failureOf(run: () => unknown): StateletError {
  try {
    run();
  } catch (error) {
    if (error instanceof StateletError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

const field = (name: string, fieldPath: string) => ({ name, valueFrom: { fieldRef: { fieldPath } } });
const resource = (name: string, of: string, more: object = {}) => ({
  name,
  valueFrom: { resourceFieldRef: { resource: of, ...more } },
});

describe('containerEnv', () => {
  test('an entry may refer to earlier ones, and not to later ones', () => {
    const env = envOf([
      { name: 'URL', value: 'http://$(HOST):$(PORT)' },
      { name: 'HOST', value: 'db' },
      { name: 'PORT', value: '80' },
      { name: 'FULL', value: 'http://$(HOST):$(PORT)' },
    ]);
    expect(env.URL).toBe('http://$(HOST):$(PORT)');
    expect(env.FULL).toBe('http://db:80');
  });

  test('an entry may refer to an earlier one that is read from a field', () => {
    expect(envOf([field('NAME', 'metadata.name'), { name: 'HELLO', value: 'I am $(NAME)' }]).HELLO).toBe(
      'I am web',
    );
  });

  test('of two entries with the same name the later one counts, and may refer to the earlier', () => {
    expect(
      envOf([
        { name: 'PATH', value: '/bin' },
        { name: 'PATH', value: '$(PATH):/opt' },
      ]),
    ).toEqual({ PATH: '/bin:/opt' });
  });

  test('an entry without a value is empty', () => {
    expect(envOf([{ name: 'EMPTY' }, { name: 'ALSO', value: '' }])).toEqual({ EMPTY: '', ALSO: '' });
  });

  test.each([
    ['metadata.name', 'web'],
    ['metadata.namespace', 'shop'],
    ['metadata.uid', 'u-1'],
    ["metadata.labels['tier']", 'front'],
    ["metadata.labels['example.com/a.b']", 'dotted'],
    ["metadata.labels['none']", ''],
    ["metadata.labels['constructor']", ''],
    ["metadata.annotations['note']", 'hello'],
    ['spec.nodeName', 'node-1'],
    ['spec.serviceAccountName', 'robot'],
    ['status.podIP', '10.1.0.7'],
    ['status.podIPs', '10.1.0.7,fd00::7'],
    ['status.hostIP', '192.168.0.2'],
    ['status.hostIPs', '192.168.0.2,fd00::2'],
  ])('field %s', (fieldPath, wanted) => {
    expect(envOf([field('X', fieldPath)])).toEqual({ X: wanted });
  });

  test.each([
    ['spec.hostname', 'field label not supported: spec.hostname'],
    ['status.phase', 'unsupported fieldPath: status.phase'],
    ['toString', 'field label not supported: toString'],
  ])('field %s is refused, and the message names it', (fieldPath, problem) => {
    const failure = failureOf(() => envOf([field('X', fieldPath)]));
    expect(failure.kind).toBe('InvalidArgument');
    expect(failure.message).toContain(`${problem} (there are: `);
  });

  const resources = {
    requests: { cpu: '250m', memory: '100M' },
    limits: { cpu: '1500m', memory: '1Gi', 'ephemeral-storage': '3Gi', 'hugepages-2Mi': '4Mi' },
  };

  test.each([
    ['requests.cpu', {}, '1'],
    ['requests.cpu', { divisor: '1m' }, '250'],
    ['requests.cpu', { divisor: '100m' }, '3'],
    ['limits.cpu', {}, '2'],
    ['limits.cpu', { divisor: '0' }, '2'],
    ['requests.memory', {}, '100000000'],
    ['requests.memory', { divisor: '1Mi' }, '96'],
    ['limits.memory', { divisor: '1Mi' }, '1024'],
    ['limits.ephemeral-storage', { divisor: '1Gi' }, '3'],
    ['limits.hugepages-2Mi', { divisor: '1Mi' }, '4'],
  ])('resource %s %j, rounded up', (name, more, wanted) => {
    expect(envOf([resource('X', name, more)], { resources })).toEqual({ X: wanted });
  });

  test('a request that is not set is 0, also with a limit: sources set requests to limits', () => {
    expect(envOf([resource('X', 'requests.ephemeral-storage')], { resources }).X).toBe('0');
    expect(envOf([resource('X', 'requests.cpu')]).X).toBe('0');
  });

  test("a limit that is not set is the node's allocatable amount", () => {
    const env = envOf([
      resource('CPU', 'limits.cpu'),
      resource('MEMORY', 'limits.memory', { divisor: '1Gi' }),
      resource('STORAGE', 'limits.ephemeral-storage', { divisor: '1Gi' }),
      resource('PAGES', 'limits.hugepages-2Mi'),
    ]);
    expect(env).toEqual({ CPU: '4', MEMORY: '8', STORAGE: '20', PAGES: '0' });
  });

  test("a limit of the pod itself counts if it is less than the node's allocatable amount", () => {
    const env = envOf(
      [resource('CPU', 'limits.cpu'), resource('MEMORY', 'limits.memory', { divisor: '1Gi' })],
      {},
      {
        resources: { limits: { cpu: '2', memory: '1Ti' } },
      },
    );
    expect(env).toEqual({ CPU: '2', MEMORY: '8' });
  });

  test("a resource of another container is found by the container's name", () => {
    const [pod, app] = podWith({ env: [resource('X', 'limits.memory', { containerName: 'prepare' })] });
    const prepare: Container = { name: 'prepare', resources: { limits: { memory: '7' } } };
    const both: Pod = { ...pod, spec: { ...pod.spec, initContainers: [prepare] } };
    expect(containerEnv(both, app, FACTS)).toEqual([{ key: 'X', value: '7' }]);
    expect(failureOf(() => containerEnv(pod, app, FACTS)).message).toBe('container prepare not found');
  });

  test.each(['cpu', 'limits.gpu', 'usage.cpu'])(
    'resource %s is refused, and the message names it',
    (name) => {
      const failure = failureOf(() => envOf([resource('X', name)]));
      expect(failure.kind).toBe('InvalidArgument');
      expect(failure.message).toContain(name);
    },
  );

  test('a reference to an object of the API server is refused, and the message names it', () => {
    const config = { name: 'X', valueFrom: { configMapKeyRef: { name: 'settings', key: 'color' } } };
    const failure = failureOf(() => envOf([config]));
    expect(failure.kind).toBe('FailedPrecondition');
    expect(failure.message).toContain('env X of container app: key color of ConfigMap settings');
    const secret = { name: 'X', valueFrom: { secretKeyRef: { name: 'login', key: 'word' } } };
    expect(failureOf(() => envOf([secret])).message).toContain('key word of Secret login');
    const from = (envFrom: Container['envFrom']) => failureOf(() => envOf([], { envFrom })).message;
    expect(from([{ configMapRef: { name: 'all' } }])).toContain('envFrom of container app: ConfigMap all');
    expect(from([{ secretRef: { name: 'all' } }])).toContain('envFrom of container app: Secret all');
  });

  test('an optional reference leaves the variable out', () => {
    const optional = true;
    const env = envOf(
      [
        { name: 'X', valueFrom: { configMapKeyRef: { name: 'settings', key: 'color', optional } } },
        { name: 'Y', valueFrom: { secretKeyRef: { name: 'login', key: 'word', optional } } },
        { name: 'Z', value: '$(X)' },
      ],
      { envFrom: [{ configMapRef: { name: 'all', optional } }, { secretRef: { name: 'all', optional } }] },
    );
    expect(env).toEqual({ Z: '$(X)' });
  });
});

describe('a variable from a file', () => {
  const fromFile = (name: string, key: string, more: object = {}) => ({
    name,
    valueFrom: { fileKeyRef: { volumeName: 'conf', path: 'a.env', key, ...more } },
  });
  const read = (files: Record<string, EnvFile>, env: Container['env']) => {
    const [pod, app] = podWith({ env });
    const facts = { ...FACTS, envFiles: new Map(Object.entries(files)) };
    return containerEnv(pod, app, facts).map(({ key, value }) => [key, value]);
  };
  const FILE = { 'conf/a.env': { path: '/v/conf/a.env', text: "K='$(A) x'\nEMPTY=''" } };

  test('is not expanded itself, and other variables may refer to it', () => {
    const env = [{ name: 'A', value: 'x' }, fromFile('X', 'K'), { name: 'Y', value: '<$(X)>' }];
    expect(read(FILE, env)).toEqual([
      ['A', 'x'],
      ['X', '$(A) x'],
      ['Y', '<$(A) x>'],
    ]);
  });

  test.each(['NONE', 'EMPTY'])(
    'of which the file has no value (%s) is an error, and left out where it is optional',
    (key) => {
      const failure = failureOf(() => read(FILE, [fromFile('X', key)]));
      expect([failure.kind, failure.message]).toEqual([
        'NotFound',
        `environment variable key "${key}" not found in file "/v/conf/a.env"`,
      ]);
      expect(read(FILE, [fromFile('X', key, { optional: true })])).toEqual([]);
    },
  );

  test('from a file in another format is an error that names file and line, even if it is optional', () => {
    const files = { 'conf/a.env': { path: '/v/conf/a.env', text: 'K=secret' } };
    const failure = failureOf(() => read(files, [fromFile('X', 'K', { optional: true })]));
    expect([failure.kind, failure.message]).toEqual([
      'InvalidArgument',
      "couldn't parse env file: a.env of volume conf: line 1 has a value that is not in single quotes",
    ]);
  });

  test('from a file that cannot be read is an error', () => {
    const files = { 'conf/a.env': { problem: unreadableEnvFile('a.env is gone') } };
    expect(failureOf(() => read(files, [fromFile('X', 'K')])).message).toBe(
      "couldn't parse env file: a.env is gone",
    );
    const wrong = { name: 'B', valueFrom: { fieldRef: { fieldPath: 'nonsense' } } };
    expect(failureOf(() => read(files, [wrong, fromFile('X', 'K')])).message).toContain('nonsense');
  });

  test('lists each file once', () => {
    const [, app] = podWith({ env: [fromFile('X', 'K'), fromFile('Y', 'L'), { name: 'Z', value: '1' }] });
    expect(envFileRefs(app)).toHaveLength(1);
  });

  test('is refused by a runtime that has no volumes', () => {
    expect(failureOf(() => envOf([fromFile('X', 'K')])).kind).toBe('Unimplemented');
  });
});

test('resolveCommand expands command and arguments by the environment', () => {
  const [pod, app] = podWith({
    command: ['/bin/$(TOOL)', '$$(TOOL)'],
    args: ['--name=$(NAME)', '$(HOME)'],
    env: [{ name: 'TOOL', value: 'sh' }, field('NAME', 'metadata.name')],
  });
  expect(resolveCommand(pod, app, FACTS)).toEqual({
    command: ['/bin/sh', '$(TOOL)'],
    args: ['--name=web', '$(HOME)'],
    envs: [
      { key: 'TOOL', value: 'sh' },
      { key: 'NAME', value: 'web' },
    ],
  });
});

describe('what is more than Linux takes is refused, before it is made', () => {
  const KIB = 1024;
  const refusal = (container: Partial<Container>, facts: Partial<EnvFacts> = {}) => {
    const [pod, app] = podWith(container);
    const { kind, message } = failureOf(() => resolveCommand(pod, app, { ...FACTS, ...facts }));
    expect(kind).toBe('InvalidArgument');
    return message;
  };
  const sizeOf = (container: Partial<Container>) => {
    const [pod, app] = podWith(container);
    return resolveCommand(pod, app, FACTS).envs.map(({ value }) => value.length);
  };
  /** Each repeats the one before it. */
  const growing = (length: number, times: number) =>
    Array.from({ length }, (_, index) => ({
      name: `A${index}`,
      value: index === 0 ? 'x'.repeat(10) : `$(A${index - 1})`.repeat(times),
    }));

  test('variables that repeat each other: the first that is too long is named, with its container', () => {
    expect(refusal({ env: growing(13, 4) })).toMatch(
      /^environment variable "A7" of container "app" is longer than 128 KiB/,
    );
    expect(refusal({ env: growing(1_000, 100) })).toContain('environment variable "A3"');
  });

  test('variables that are too large only together: the error says up to which', () => {
    const env = [{ name: 'A', value: 'x'.repeat(100 * KIB) }].concat(
      Array.from({ length: 1_000 }, (_, index) => ({ name: `B${index}`, value: '$(A)' })),
    );
    expect(refusal({ env })).toMatch(
      /of container "app" have more than 6 MiB together, up to environment variable "B60"/,
    );
  });

  test('also where each replaces the one before it', () => {
    const env = [{ name: 'A', value: 'x'.repeat(100 * KIB) }].concat(
      Array.from({ length: 1_000 }, () => ({ name: 'B', value: '$(A)' })),
    );
    expect(refusal({ env })).toContain('more than 6 MiB together, up to environment variable "B"');
  });

  test('a word of the command, and an argument', () => {
    const env = growing(6, 4);
    expect(refusal({ env, command: ['sh', '$(A5)'.repeat(20)] })).toMatch(/^command\[1\] of container "app"/);
    expect(refusal({ env, args: ['$(A5)'.repeat(20)] })).toMatch(/^args\[0\] of container "app"/);
    expect(refusal({ env, args: Array.from({ length: 1_000 }, () => '$(A5)') })).toMatch(
      /more than 6 MiB together, up to args\[\d+\]/,
    );
  });

  test('a value that is written out, and a name', () => {
    expect(refusal({ env: [{ name: 'LONG', value: 'é'.repeat(64 * KIB) }] })).toMatch(/variable "LONG"/);
    const message = refusal({ env: [{ name: 'N'.repeat(200 * KIB), value: 'v' }] });
    expect(message).toMatch(/variable "N+…"/);
    expect(message.length).toBeLessThan(KIB);
  });

  test('a value is taken up to 128 KiB with its name and the NUL at its end', () => {
    const most = 128 * KIB - 'NAME='.length - 1;
    expect(sizeOf({ env: [{ name: 'NAME', value: 'x'.repeat(most) }] })).toEqual([most]);
    expect(refusal({ env: [{ name: 'NAME', value: 'x'.repeat(most + 1) }] })).toContain('"NAME"');
  });

  test('keys of ConfigMaps and Secrets: a large Secret is not decoded again for each of its variables', () => {
    const large = Buffer.alloc(100 * KIB, 'x').toString('base64');
    const objects = {
      configMaps: new Map([['big', { data: { key: 'x'.repeat(200 * KIB) } }]]),
      secrets: new Map([['big', { data: { key: large, other: large } }]]),
    };
    expect(refusal({ envFrom: [{ configMapRef: { name: 'big' } }] }, { objects })).toMatch(/variable "key"/);
    const envFrom = Array.from({ length: 1_000 }, (_, index) => ({
      prefix: `P${index}_`,
      secretRef: { name: 'big' },
    }));
    expect(refusal({ envFrom }, { objects })).toContain('up to environment variable "P30_other"');
  });

  test('variables of services', () => {
    const services = Array.from({ length: 60 }, (_, index) => ({
      metadata: { name: `s${index}`, namespace: 'shop' },
      spec: { clusterIP: 'x'.repeat(30 * KIB), ports: [{ port: 80 }] },
    }));
    const [pod, app] = podWith({}, { enableServiceLinks: true });
    const facts = { ...FACTS, services: { listed: true, services } };
    expect(() => resolveCommand(pod, app, facts)).toThrow(/up to environment variable "S\d+_/);
  });
});

describe('variables for services', () => {
  const services = {
    listed: true,
    services: [
      {
        metadata: { name: 'db', namespace: 'shop' },
        spec: { clusterIP: '10.0.0.3', ports: [{ port: 5432 }] },
      },
    ],
  };
  const envWith = (env: Container['env']) => {
    const [pod, whole] = podWith({ env }, { enableServiceLinks: true });
    const found = containerEnv(pod, whole, { ...FACTS, services });
    return new Map(found.map(({ key, value }) => [key, value]));
  };

  test('can be referred to, and come after those of the spec', () => {
    const env = envWith([{ name: 'URL', value: '$(DB_SERVICE_HOST):$(DB_SERVICE_PORT)' }]);
    expect([...env.keys()].slice(0, 2)).toEqual(['URL', 'DB_SERVICE_HOST']);
    expect(env.get('URL')).toBe('10.0.0.3:5432');
  });

  test('do not replace those of the spec, also in references', () => {
    const env = envWith([
      { name: 'DB_SERVICE_HOST', value: 'own' },
      { name: 'HOST', value: '$(DB_SERVICE_HOST)' },
    ]);
    expect(env.get('DB_SERVICE_HOST')).toBe('own');
    expect(env.get('HOST')).toBe('own');
  });

  test('are not made where there is no API server', () => {
    expect(envOf([{ name: 'A', value: 'a' }], {}, { enableServiceLinks: true })).toEqual({ A: 'a' });
  });
});

test('a field of another version of the API is refused', () => {
  const valueFrom = { fieldRef: { apiVersion: 'v2', fieldPath: 'metadata.name' } };
  expect(() => envOf([{ name: 'A', valueFrom }])).toThrow('unsupported pod version: v2 (there is: v1)');
});

test('a value that no variable can have is refused, and not shown', () => {
  const [pod, container] = podWith({ env: [{ name: 'RAW', value: 'sec\0ret' }] });
  const resolve = () => resolveCommand(pod, container, FACTS);
  expect(resolve).toThrow('environment variable "RAW" has a NUL character in its value');
  expect(resolve).not.toThrow('sec');
});
