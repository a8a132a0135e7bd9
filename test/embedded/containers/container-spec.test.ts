import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  containerStreams,
  messageFile,
  processSpec,
  stopSignal,
  terminationFile,
  validateContainer,
} from '../../../src/embedded/containers/container-spec.ts';
import { runtimeLayout } from '../../../src/embedded/layout.ts';
import type { ContainerConfig, Mount } from '../../../src/types/cri.ts';
import { outputAsNobody } from '../../support/as-nobody.ts';
import { testAsRoot } from '../../support/as-root.ts';
import { containerRecord, sandboxRecord } from '../../support/process-records.ts';
import { containerConfig, podConfig } from '../../support/runtime-configs.ts';

const layout = runtimeLayout('/root-dir');
const sandbox = sandboxRecord();
const recordOf = (more: Partial<ContainerConfig> = {}) =>
  containerRecord({ config: containerConfig(['sleep', '1000'], more) });

describe('a container is refused', () => {
  const refused = (config: ContainerConfig, message: string, kind = 'InvalidArgument') =>
    expect(() => validateContainer(config)).toThrow(
      expect.objectContaining({
        kind,
        message: expect.stringMatching(new RegExp(`container "main".*${message}`, 's')),
      }),
    );

  test('without a command: there is no image to take one from', () => {
    refused(containerConfig([]), 'has no image to take a command from \\(image "none"');
  });

  test('with a terminal, where the program that makes terminals is not installed', () => {
    const path = process.env.PATH;
    process.env.PATH = '/usr/share';
    try {
      refused(containerConfig(['sh'], { tty: true }), 'install util-linux', 'FailedPrecondition');
    } finally {
      process.env.PATH = path;
    }
  });

  test('with an unknown capability', () => {
    const capabilities = { addCapabilities: ['NET_ROW'], dropCapabilities: [] };
    refused(containerConfig(['sh'], { linux: { securityContext: { capabilities } } }), 'NET_ROW');
  });

  test('with an unknown stop signal', () => {
    refused(containerConfig(['sh'], { stopSignal: 'SIGNONE' }), 'SIGNONE');
  });
});

test.each([{}, { tty: true }, { stdin: true, stdinOnce: true }])(
  'a container with a command and %j is accepted',
  (more) => {
    expect(() => validateContainer(containerConfig(['sh', '-c', 'true'], more))).not.toThrow();
  },
);

test.each([
  [{}, ['stdout', 'stderr']],
  [{ stdin: true }, ['stdin', 'stdout', 'stderr']],
  [{ tty: true }, ['stdin', 'stdout']],
])('the pipes of a container with %j are %j', (more, streams) => {
  expect(containerStreams(containerConfig(['sh'], more))).toEqual(streams);
});

describe('a process of a container', () => {
  const specOf = (more: Partial<ContainerConfig> = {}) =>
    processSpec(layout, sandbox, recordOf(more), ['sleep', '1000']);

  test('has an environment of its own: only the variables that a process needs, and no others of the monitor', () => {
    const { env, command } = specOf({ envs: [{ key: 'GIVEN', value: 'a b' }] });
    expect(command).toEqual(['sleep', '1000']);
    expect(env).toEqual({
      PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
      HOSTNAME: 'pod',
      HOME: `/root-dir/scratch/${sandbox.id}/work`,
      GIVEN: 'a b',
      STATELET_TERMINATION_LOG: `/root-dir/scratch/${sandbox.id}/termination/${recordOf().id}`,
      STATELET_CONTAINER_ID: recordOf().id,
    });
  });

  test('may override the defaults, but not the id by which it is found', () => {
    const envs = [
      { key: 'HOME', value: '/first' },
      { key: 'HOME', value: '/last' },
      { key: 'STATELET_CONTAINER_ID', value: 'other' },
    ];
    expect(specOf({ envs }).env).toMatchObject({ HOME: '/last', STATELET_CONTAINER_ID: recordOf().id });
  });

  test("has the hostname of its pod's sandbox; the pod's name if that is empty", () => {
    const hostnameWith = (hostname: string) => {
      const config = podConfig('/logs', { hostname });
      return processSpec(layout, sandboxRecord({ config }), recordOf(), ['true']).env.HOSTNAME;
    };
    expect([hostnameWith('web-0'), hostnameWith('')]).toEqual(['web-0', 'pod']);
  });

  test("runs in its own working directory, else in the one of its pod's", () => {
    expect(specOf({ workingDir: '/usr' }).cwd).toBe('/usr');
    expect(specOf({ workingDir: '' }).cwd).toBe(`/root-dir/scratch/${sandbox.id}/work`);
  });

  testAsRoot('is started as its user; with privileges to drop, setpriv changes the user', () => {
    const user = { runAsUser: 65534, runAsGroup: 65533 };
    expect(specOf({ linux: { securityContext: user } })).toMatchObject({ user: { uid: 65534, gid: 65533 } });
    const spec = specOf({ linux: { securityContext: { ...user, noNewPrivs: true } } });
    expect(spec.user).toBeUndefined();
    expect(spec.privileges).toEqual(expect.arrayContaining(['--reuid=65534', '--regid=65533']));
    return Promise.resolve();
  });
});

test('the termination message is in the private file of the container, or at the path of its spec', () => {
  const annotations = { 'io.kubernetes.container.terminationMessagePath': '/tmp/message' };
  expect(messageFile(layout, recordOf()).place).toBe(layout.terminationFile(sandbox.id, recordOf().id));
  expect(messageFile(layout, recordOf({ annotations }))).toEqual({
    seen: '/tmp/message',
    place: '/tmp/message',
  });
});

const MODULE = new URL('../../../src/embedded/containers/container-spec.ts', import.meta.url).href;

const PRIVATE = '/private/message';

const PATH = 'io.kubernetes.container.terminationMessagePath';

const configOf = (path: string) => containerConfig(['true'], { annotations: { [PATH]: path } });

describe('the file of a termination message', () => {
  let dir: string;
  beforeAll(() => {
    dir = mkdtempSync(join(tmpdir(), 'statelet-message-'));
  });
  afterAll(() => rmSync(dir, { recursive: true }));

  test('is the path of the spec if its folder can be written to', () => {
    expect(terminationFile(configOf(join(dir, 'message')), PRIVATE).place).toBe(join(dir, 'message'));
  });

  test('is in the volume that is mounted there, the innermost one', () => {
    const mount = (containerPath: string, hostPath: string, readonly = false) => ({
      ...{ containerPath, hostPath, readonly, propagation: 'PROPAGATION_PRIVATE' as const },
    });
    const seen = '/no/such/folder/message';
    const inVolumes = (...mounts: readonly Mount[]) =>
      terminationFile({ ...configOf(seen), mounts }, PRIVATE);
    expect(inVolumes(mount('/no', '/nowhere'), mount('/no/such/folder', dir))).toEqual({
      seen,
      place: join(dir, 'message'),
    });
    expect(inVolumes(mount(seen, dir))).toEqual({ seen, place: dir });
    expect(inVolumes(mount('/no/such/folder', dir, true)).place).toBe(PRIVATE);
    expect(inVolumes(mount('/no/such/folder', join(dir, 'gone'))).place).toBe(PRIVATE);
  });

  test.each([
    ['for the default path, which all containers of the machine would share', '/dev/termination-log'],
    ['for a relative path', 'message'],
    ['for an empty path', ''],
    ['for a path whose folder does not exist', '/no/such/folder/message'],
  ])('is a private file %s', (_, path) => {
    expect(terminationFile(configOf(path), PRIVATE).place).toBe(PRIVATE);
  });

  test('is a private file for a container without the annotation', () => {
    expect(terminationFile(containerConfig(['true']), PRIVATE).place).toBe(PRIVATE);
  });

  testAsRoot('is a private file for a path whose folder the user may not write to', () => {
    const script = `
      const annotations = { ${JSON.stringify(PATH)}: ${JSON.stringify(join(dir, 'message'))} };
      console.log(own.terminationFile({ annotations }, ${JSON.stringify(PRIVATE)}).place);
    `;
    chmodSync(dir, 0o755);
    expect(outputAsNobody(MODULE, script)).toBe(`${PRIVATE}\n`);
    return Promise.resolve();
  });
});

const signalOf = (name?: string) =>
  stopSignal(containerConfig(['true'], name === undefined ? {} : { stopSignal: name }));

test('a container without a stop signal gets SIGTERM', () => {
  expect(signalOf()).toBe('SIGTERM');
});

test('a signal that Node knows keeps its name', () => {
  expect(signalOf('SIGUSR1')).toBe('SIGUSR1');
});

test.each([
  ['SIGRTMIN', 34],
  ['SIGRTMIN+3', 37],
  ['SIGRTMIN+30', 64],
  ['SIGRTMAX', 64],
  ['SIGRTMAX-2', 62],
  ['SIGRTMAX-30', 34],
])('the real-time signal %s is number %i', (name, number) => {
  expect(signalOf(name)).toBe(number);
});

test.each(['SIGNONE', 'TERM', 'SIGRTMIN+31', 'SIGRTMAX-31', 'toString'])('%s is refused', (name) => {
  expect(() => signalOf(name)).toThrow(
    expect.objectContaining({
      kind: 'InvalidArgument',
      message: `container "main": lifecycle.stopSignal ${name} is no signal of this machine`,
    }),
  );
});
