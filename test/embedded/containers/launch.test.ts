import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import {
  exitCodeOf,
  launch,
  type ProcessSpec,
  StartError,
  userOf,
} from '../../../src/embedded/containers/launch.ts';
import { readStat } from '../../../src/embedded/containers/proc.ts';
import type { LinuxContainerSecurityContext } from '../../../src/types/cri.ts';
import { testAsRoot } from '../../support/as-root.ts';
import { containerConfig } from '../../support/runtime-configs.ts';
import { sendSignal } from '../../support/send-signal.ts';
import { waitFor } from '../../support/wait-for.ts';

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'statelet-launch-'));
  chmodSync(dir, 0o755);
});
afterAll(() => rmSync(dir, { recursive: true }));

const specOf = (command: readonly string[], more: Partial<ProcessSpec> = {}): ProcessSpec => ({
  command,
  env: { PATH: '/usr/bin:/bin' },
  cwd: dir,
  ...more,
});

describe('a process of a container', () => {
  const children: ChildProcess[] = [];
  const start = async (spec: ProcessSpec) => {
    const child = await launch(spec, ['ignore', 'pipe', 'ignore']);
    children.push(child);
    return child;
  };
  const outputOf = async (spec: ProcessSpec) => text((await start(spec)).stdout!);

  afterEach(() => {
    for (const { pid = 0 } of children.splice(0)) sendSignal(pid, 'SIGKILL');
  });

  test('is the leader of a session and a group', async () => {
    const { pid = 0 } = await start(specOf(['sleep', '1000']));
    expect(readStat(pid)).toMatchObject({ groupId: pid, sessionId: pid });
  });

  test('has the environment and working directory of its spec, and no other variable', async () => {
    const env = { PATH: '/usr/bin:/bin', GIVEN: 'a b' };
    expect(await outputOf(specOf(['env'], { env }))).toBe('PATH=/usr/bin:/bin\nGIVEN=a b\n');
    expect(await outputOf(specOf(['pwd']))).toBe(`${dir}\n`);
  });

  testAsRoot('runs as the user of its spec', async () => {
    const user = { uid: 65534, gid: 65533 };
    expect(await outputOf(specOf(['sh', '-c', 'id -u; id -g'], { user }))).toBe('65534\n65533\n');
  });

  test('is started by the command that drops privileges, which leaves no process of its own', async () => {
    const { pid = 0 } = await start(
      specOf(['sleep', '1000'], { privileges: ['/usr/bin/env', 'DROPPED=yes'] }),
    );
    const commandLine = () => readFileSync(`/proc/${pid}/cmdline`, 'latin1').split('\0').join(' ');
    await waitFor(() => commandLine() === 'sleep 1000 ', { what: 'the program in place of env' });
  });
});

describe('a process that cannot be started is a StartError of', () => {
  const failing = async (spec: ProcessSpec) => {
    const error: unknown = await launch(spec, 'ignore').catch((error: unknown) => error);
    expect(error).toBeInstanceOf(StartError);
    return error as StartError;
  };

  test.each([
    ['a missing program', 127, ['no-such-program']],
    ['a missing file', 127, ['/no/such/program']],
    ['a path through a file', 127, ['/etc/passwd/program']],
    ['a file that is not executable', 126, ['/etc/passwd']],
  ])('%s: exit code %i, and the message names the command', async (_, exitCode, command) => {
    const error = await failing(specOf(command));
    expect(error.exitCode).toBe(exitCode);
    expect(error.message).toContain(`command "${command[0]!}"`);
    // The same before `setpriv` is started, which would report it in words of its own.
    expect((await failing(specOf(command, { privileges: ['/usr/bin/env'] }))).exitCode).toBe(exitCode);
  });

  test('a program whose interpreter is missing: 127', async () => {
    const file = join(dir, 'script');
    writeFileSync(file, '#!/no/such/interpreter\n', { mode: 0o755 });
    expect((await failing(specOf([file]))).exitCode).toBe(127);
  });

  test('a missing working directory: 128, and the message names it', async () => {
    const error = await failing(specOf(['true'], { cwd: '/no/such/folder' }));
    expect(error).toMatchObject({
      exitCode: 128,
      message: 'working directory /no/such/folder does not exist',
    });
  });

  test('arguments that the system does not accept: 128', async () => {
    expect((await failing(specOf(['true', 'a\0b']))).exitCode).toBe(128);
  });
});

test.each([
  [0, null, 0],
  [42, null, 42],
  [null, 'SIGKILL', 137],
  [null, 'SIGTERM', 143],
] as const)(
  'a child that exits with code %j and signal %j has the exit code %i',
  (code, signal, exitCode) => {
    expect(exitCodeOf(code, signal)).toBe(exitCode);
  },
);

describe('the user of a container', () => {
  const userWith = (securityContext: LinuxContainerSecurityContext) =>
    userOf(containerConfig(['true'], { linux: { securityContext } }));
  const [uid, gid] = [process.getuid!(), process.getgid!()];

  test("is the monitor's own if the container asks for none, or for the same", () => {
    expect(userOf(containerConfig(['true']))).toBeUndefined();
    expect(userWith({ runAsUser: uid, runAsGroup: gid })).toBeUndefined();
  });

  testAsRoot(
    'has the group that it asks for, else the one of /etc/passwd, else the one of its number',
    () => {
      const line = readFileSync('/etc/passwd', 'utf8')
        .split('\n')
        .map((entry) => entry.split(':'))
        .find(([, , id, group]) => id !== '0' && id !== group);
      expect(userWith({ runAsUser: 65534, runAsGroup: 7 })).toEqual({ uid: 65534, gid: 7 });
      if (line) expect(userWith({ runAsUser: Number(line[2]) })?.gid).toBe(Number(line[3]));
      expect(userWith({ runAsUser: 3_000_000 })).toEqual({ uid: 3_000_000, gid: 3_000_000 });
      return Promise.resolve();
    },
  );
});

test('the exit of a launched process is an event of its child', async () => {
  const child = await launch(specOf(['sh', '-c', 'exit 7']), 'ignore');
  expect((await once(child, 'exit'))[0]).toBe(7);
});
