import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { RuntimeService } from '../../../src/runtime/service/runtime-service.ts';
import type { ContainerConfig } from '../../../src/types/cri.ts';
import { isRunning, monitorPid, processRuntimeBed } from '../../support/process-runtime.ts';
import type { ProcessRuntimeBed } from '../../support/process-runtime.ts';
import { containerConfig, podConfig, shell, startPod, whenExited } from '../../support/runtime-configs.ts';
import { waitFor } from '../../support/wait-for.ts';
import { runtimeContract } from '../runtime-contract.ts';

runtimeContract('the embedded runtime', () => Promise.resolve(processRuntimeBed()));

/** Of its memory, ever since it was started. */
function peakBytes(pid: number): number {
  return Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1]) * 1024;
}
const LOTS_BYTES = 400_000_000;

const asRoot = process.getuid?.() === 0 ? test : test.skip;

describe('a container of the embedded runtime', () => {
  let bed: ProcessRuntimeBed;
  let runtime: RuntimeService;
  let logsDir: string;

  beforeAll(() => {
    bed = processRuntimeBed();
    ({ runtime } = bed);
    logsDir = join(bed.rootDir, 'pods');
  });

  afterAll(() => bed.cleanup());

  const start = (config: ContainerConfig) => startPod(runtime, logsDir, config);

  /** The texts of a log, without times. */
  const logLines = (file: string): string[] =>
    (existsSync(file) ? readFileSync(file, 'utf8') : '')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => line.slice(line.indexOf(' ') + 1));

  const firstLine = (file: string): Promise<string> =>
    waitFor(
      () =>
        logLines(file)
          .find((line) => line.startsWith('stdout'))
          ?.replace(/^stdout F /, ''),
      {
        what: `a line in ${file}`,
      },
    );

  /** Runs to the end and gives the lines of its log. */
  const outputOf = async (config: ContainerConfig): Promise<string[]> => {
    const { id, logFile } = await start(config);
    await whenExited(runtime, id);
    return logLines(logFile);
  };

  const creating = async (config: ContainerConfig): Promise<string> => {
    const sandbox = podConfig(logsDir);
    return runtime.createContainer(await runtime.runPodSandbox(sandbox), config, sandbox);
  };

  describe('is created only when plain processes can be what it asks for:', () => {
    test('without a command it is refused, and told why', async () => {
      await expect(creating(containerConfig([]))).rejects.toMatchObject({
        kind: 'InvalidArgument',
        message: expect.stringContaining('has no image to take a command from'),
      });
    });

    test('a terminal is refused', async () => {
      await expect(creating(shell('true', { tty: true }))).rejects.toMatchObject({
        kind: 'InvalidArgument',
        message: expect.stringContaining('tty'),
      });
    });
  });

  describe('has an environment', () => {
    test('of its own: nothing of the agent that started it', async () => {
      process.env.STATELET_TEST_SECRET = 'secret';
      const config = containerConfig(['env'], { envs: [{ key: 'GIVEN', value: 'a b' }] });
      const names = (await outputOf(config)).map((line) => line.replace(/^stdout F (\w+)=.*$/, '$1'));
      delete process.env.STATELET_TEST_SECRET;
      expect(names.sort()).toEqual([
        ...['GIVEN', 'HOME', 'HOSTNAME', 'PATH'],
        ...['STATELET_CONTAINER_ID', 'STATELET_TERMINATION_LOG'],
      ]);
    });

    test('with the hostname of its pod', async () => {
      expect(await outputOf(shell('echo $HOSTNAME'))).toEqual(['stdout F pod']);
    });

    test('in which its own values count more than the defaults', async () => {
      const envs = [
        { key: 'HOME', value: '/first' },
        { key: 'HOME', value: '/last' },
      ];
      expect(await outputOf(shell('echo $HOME', { envs }))).toEqual(['stdout F /last']);
    });

    test('and a working directory that it shares with its pod', async () => {
      const { sandboxId, sandbox, id } = await start(shell('echo shared > file'));
      await whenExited(runtime, id);
      const config = shell('cat file; pwd', {
        metadata: { name: 'second', attempt: 0 },
        logPath: 'second/0.log',
      });
      const second = await runtime.createContainer(sandboxId, config, sandbox);
      await runtime.startContainer(second);
      const { logPath } = await whenExited(runtime, second);
      expect(logLines(logPath)).toEqual(['stdout F shared', expect.stringContaining(sandboxId)]);
    });

    test('or the working directory that it asks for', async () => {
      expect(await outputOf(shell('pwd', { workingDir: '/usr' }))).toEqual(['stdout F /usr']);
    });

    asRoot('and runs as the user that it asks for, who may write where it should', async () => {
      const script = 'id -u; id -g; echo file > file && cat file; echo done > $STATELET_TERMINATION_LOG';
      const linux = { securityContext: { runAsUser: 65534, runAsGroup: 65533 } };
      const { id, logFile } = await start(shell(`${script}; echo reopened > /dev/stdout`, { linux }));
      await whenExited(runtime, id);
      expect(logLines(logFile).filter((line) => line.startsWith('stdout'))).toEqual(
        ['65534', '65533', 'file', 'reopened'].map((text) => `stdout F ${text}`),
      );
    });

    test('and an empty standard input', async () => {
      expect(await outputOf(shell('cat; echo end'))).toEqual(['stdout F end']);
    });

    test('or one that stays open, where it asks for it', async () => {
      const { id, logFile } = await start(shell('echo waiting; cat', { stdin: true }));
      await firstLine(logFile);
      expect((await runtime.containerStatus(id)).state).toBe('CONTAINER_RUNNING');
    });
  });

  describe('that cannot be started is exited with reason StartError and', () => {
    const failing = async (config: ContainerConfig) => {
      const id = await creating(config);
      await expect(runtime.startContainer(id)).rejects.toMatchObject({ name: 'StateletError' });
      return runtime.containerStatus(id);
    };

    test('127 when its program is in no folder of its PATH', async () => {
      const status = await failing(containerConfig(['no-such-program']));
      expect(status).toMatchObject({ state: 'CONTAINER_EXITED', exitCode: 127, reason: 'StartError' });
      expect(status.message).toContain('"no-such-program"');
    });

    test('126 when its program is not executable', async () => {
      const status = await failing(containerConfig(['/etc/passwd']));
      expect(status).toMatchObject({ state: 'CONTAINER_EXITED', exitCode: 126, reason: 'StartError' });
    });

    test('128 when its working directory is missing, naming it', async () => {
      const status = await failing(shell('true', { workingDir: '/no/such/folder' }));
      expect(status).toMatchObject({ state: 'CONTAINER_EXITED', exitCode: 128, reason: 'StartError' });
      expect(status.message).toContain('/no/such/folder');
    });

    test('128 when its log cannot be opened, naming it', async () => {
      const status = await failing(shell('true', { logPath: '../../runtime/monitor.sock' }));
      expect(status).toMatchObject({ state: 'CONTAINER_EXITED', exitCode: 128, reason: 'StartError' });
      expect(status.message).toContain('monitor.sock');
    });
  });

  describe('ends as a whole:', () => {
    test('a stop reaches the children of a shell', async () => {
      const { id, logFile } = await start(shell('sleep 1000 & echo $!; wait'));
      const child = Number(await firstLine(logFile));
      expect(isRunning(child)).toBe(true);
      await runtime.stopContainer(id, 1000);
      expect(isRunning(child)).toBe(false);
    });

    test('children that ignore SIGTERM die with the main process', async () => {
      const { id, logFile } = await start(shell("(trap '' TERM; echo $$ >&2; sleep 1000) & echo $!; wait"));
      const child = Number(await firstLine(logFile));
      await waitFor(() => logLines(logFile).length === 2, { what: 'the child to be ready' });
      await runtime.stopContainer(id, 1000);
      expect(isRunning(child)).toBe(false);
    });

    test('so do children that left its session', async () => {
      const { id, logFile } = await start(shell("setsid sh -c 'echo $$; exec sleep 1000' & sleep 1000"));
      const child = Number(await firstLine(logFile));
      await runtime.stopContainer(id, 1000);
      expect(isRunning(child)).toBe(false);
    });

    test('a main process that ignores SIGTERM takes all of them along when its time is over', async () => {
      const script = "trap '' TERM; setsid sh -c 'echo $$; exec sleep 1000' & sleep 1000";
      const { id, logFile } = await start(shell(script));
      const child = Number(await firstLine(logFile));
      await runtime.stopContainer(id, 1);
      expect(isRunning(child)).toBe(false);
      expect(await runtime.containerStatus(id)).toMatchObject({ exitCode: 137, reason: 'Error' });
    });

    test('what a main process leaves behind is killed when it exits by itself', async () => {
      const { id, logFile } = await start(shell('sleep 1000 & echo $!; exit 5'));
      const { exitCode } = await whenExited(runtime, id);
      expect(exitCode).toBe(5);
      expect(isRunning(Number(await firstLine(logFile)))).toBe(false);
    });

    test('a command that was run in it goes with it', async () => {
      const { id } = await start(shell('sleep 1000'));
      const command = runtime.execSync(id, ['sh', '-c', 'echo $$ > pid; sleep 1000'], 0);
      const pid = await waitFor(
        async () => Number((await runtime.execSync(id, ['cat', 'pid'], 0)).stdout.toString()) || undefined,
        { what: 'the pid of the command' },
      );
      await runtime.stopContainer(id, 1000);
      expect((await command).exitCode).toBe(137);
      expect(isRunning(pid)).toBe(false);
    });

    test('a signal from elsewhere is an Error with 128 and its number', async () => {
      const { id } = await start(shell('kill -SEGV $$'));
      expect(await whenExited(runtime, id)).toMatchObject({ exitCode: 139, reason: 'Error' });
    });
  });

  describe('writes a log', () => {
    test('of CRI form, whole lines with their stream and a time in nanoseconds', async () => {
      const { id, logFile } = await start(shell('echo out; echo err >&2; printf rest'));
      await whenExited(runtime, id);
      const lines = readFileSync(logFile, 'utf8').trimEnd().split('\n');
      for (const line of lines) expect(line).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z std/);
      expect(logLines(logFile).sort()).toEqual(['stderr F err', 'stdout F out', 'stdout F rest']);
    });

    test('with long lines cut into parts of 16 KiB', async () => {
      const lines = await outputOf(shell("head -c 40000 /dev/zero | tr '\\0' x; echo; echo next"));
      expect(lines.map((line) => [line.slice(0, 9), line.length - 9])).toEqual([
        ...[['stdout P ', 16384] as const, ['stdout P ', 16384] as const],
        ...[['stdout F ', 40000 - 2 * 16384] as const, ['stdout F ', 4] as const],
      ]);
    });

    test('whole, however much it writes before it ends', async () => {
      const lines = await outputOf(shell('seq 1 200000'));
      expect(lines.length).toBe(200_000);
      expect(lines.at(-1)).toBe('stdout F 200000');
    });

    test('through /dev/stdout and /dev/stderr as well', async () => {
      const lines = await outputOf(shell('echo out > /dev/stdout; echo err > /dev/stderr'));
      expect(lines.sort()).toEqual(['stderr F err', 'stdout F out']);
    });

    test('and is not disturbed by a full disk', async () => {
      const sandbox = podConfig(logsDir);
      const config = shell('seq 1 100000; echo done > finished; sleep 1000');
      const logFile = join(sandbox.logDirectory, config.logPath);
      mkdirSync(dirname(logFile), { recursive: true });
      symlinkSync('/dev/full', logFile);
      const id = await runtime.createContainer(await runtime.runPodSandbox(sandbox), config, sandbox);
      await runtime.startContainer(id);
      await waitFor(async () => (await runtime.execSync(id, ['cat', 'finished'], 0)).exitCode === 0, {
        what: 'the container to finish writing',
      });
      expect((await runtime.containerStatus(id)).state).toBe('CONTAINER_RUNNING');
    });
  });

  describe('leaves a termination message', () => {
    const POLICY = 'io.kubernetes.container.terminationMessagePolicy';
    const PATH = 'io.kubernetes.container.terminationMessagePath';
    const messageOf = async (script: string, annotations: Record<string, string> = {}) => {
      const { id } = await start(shell(script, { annotations }));
      return (await whenExited(runtime, id)).message;
    };

    test('in the file that it is told of', async () => {
      const message = await messageOf('printf "it is over" > $STATELET_TERMINATION_LOG; exit 1');
      expect(message).toBe('it is over');
    });

    test('of 4096 bytes at most', async () => {
      const message = await messageOf('seq 1 10000 > $STATELET_TERMINATION_LOG');
      expect(message.length).toBe(4096);
      expect(message.endsWith('9999\n10000\n')).toBe(true);
    });

    test('in the very file that its spec names', async () => {
      const file = join(mkdtempSync(join(tmpdir(), 'statelet-message-')), 'message');
      const message = await messageOf(`printf "very file" > ${file}`, { [PATH]: file });
      rmSync(dirname(file), { recursive: true });
      expect(message).toBe('very file');
    });

    test('but not what was in that file before', async () => {
      expect(await messageOf('exit 1', { [PATH]: '/etc/passwd' })).toBe('');
    });

    test('from its log when it fails and has no other, by policy', async () => {
      const annotations = { [POLICY]: 'FallbackToLogsOnError' };
      expect(await messageOf('seq 1 100; exit 1', annotations)).toBe(
        Array.from({ length: 80 }, (_, index) => `${index + 21}\n`).join(''),
      );
      expect(await messageOf('echo fine', annotations)).toBe('');
      expect(await messageOf('echo other; printf own > $STATELET_TERMINATION_LOG; exit 1', annotations)).toBe(
        'own',
      );
    });
  });

  describe('runs commands', () => {
    test('in its environment and working directory, each in a group of its own', async () => {
      const { id } = await start(
        shell('sleep 1000', { workingDir: '/usr', envs: [{ key: 'A', value: 'b' }] }),
      );
      const { stdout } = await runtime.execSync(
        id,
        ['sh', '-c', 'echo $A; pwd; echo $$; ps -o pgid= -p $$'],
        0,
      );
      const [a, pwd, pid, group] = stdout.toString().split('\n');
      expect([a, pwd]).toEqual(['b', '/usr']);
      expect(group?.trim()).toBe(pid);
    });

    test('of whose output the first 10 KiB are kept, while the monitor takes the memory of no more', async () => {
      const { id } = await start(shell('sleep 1000'));
      const before = peakBytes(await monitorPid(bed.rootDir));
      const command = ['sh', '-c', `head -c ${LOTS_BYTES} /dev/zero; echo end >&2`];
      const { stdout, stderr, exitCode } = await runtime.execSync(id, command, 0);
      expect([stdout.length, stderr.toString(), exitCode]).toEqual([10 * 1024, 'end\n', 0]);
      expect(peakBytes(await monitorPid(bed.rootDir)) - before).toBeLessThan(LOTS_BYTES / 4);
    });

    test('that took too long, without reading on what something has left running', async () => {
      const { id } = await start(shell('sleep 1000'));
      // It is in no group of the command's, and ends when nobody reads any more.
      const command = ['sh', '-c', 'setsid sh -c "echo \\$\\$ > pid; exec yes" & sleep 1000'];
      await expect(runtime.execSync(id, command, 1)).rejects.toMatchObject({ kind: 'DeadlineExceeded' });
      const pid = Number((await runtime.execSync(id, ['cat', 'pid'], 0)).stdout.toString());
      await waitFor(() => !isRunning(pid), { what: 'the end of what writes to a closed pipe' });
    });

    test('that die when nobody waits for them any more', async () => {
      const { id } = await start(shell('sleep 1000'));
      const abort = new AbortController();
      const command = runtime.execSync(id, ['sh', '-c', 'echo $$ > pid; sleep 1000'], 0, {
        signal: abort.signal,
      });
      const pid = await waitFor(
        async () => Number((await runtime.execSync(id, ['cat', 'pid'], 0)).stdout.toString()) || undefined,
        { what: 'the pid of the command' },
      );
      abort.abort();
      await expect(command).rejects.toMatchObject({ kind: 'Canceled' });
      await waitFor(() => !isRunning(pid), { what: 'the end of the command' });
    });

    test('and says so when there is no such program', async () => {
      const { id } = await start(shell('sleep 1000'));
      await expect(runtime.execSync(id, ['no-such-program'], 0)).rejects.toThrow('"no-such-program"');
    });
  });

  test('counts what it uses: memory, time and processes', async () => {
    const { id, logFile } = await start(
      shell('i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; echo; sleep 1000'),
    );
    await firstLine(logFile);
    const countsTwo = async () => (await runtime.listContainerStats({ id }))[0]?.processCount === 2;
    await waitFor(countsTwo, { what: 'the shell and what it sleeps by to be counted' });
    const [stats] = await runtime.listContainerStats({ id });
    expect(stats?.memory?.rssBytes).toBeGreaterThan(100_000);
    expect(stats?.cpu?.usageCoreNanoSeconds).toBeGreaterThan(0);
  });

  test('a pod has no address of its own, and the network mode that it asked for', async () => {
    const namespaceOptions = { network: 'NODE', pid: 'CONTAINER', ipc: 'POD' } as const;
    const linux = { securityContext: { namespaceOptions } };
    const id = await runtime.runPodSandbox(podConfig(logsDir, { linux }));
    const status = await runtime.podSandboxStatus(id);
    expect([status.networkMode, status.network]).toEqual(['NODE', undefined]);
  });

  test('the folders of a pod go with its sandbox, its logs stay', async () => {
    const { sandboxId, id, logFile } = await start(shell('echo text'));
    await whenExited(runtime, id);
    await runtime.removePodSandbox(sandboxId);
    expect(existsSync(join(bed.rootDir, 'scratch', sandboxId))).toBe(false);
    expect(existsSync(join(bed.rootDir, 'runtime', 'containers', id))).toBe(false);
    expect(existsSync(logFile)).toBe(true);
  });
});
