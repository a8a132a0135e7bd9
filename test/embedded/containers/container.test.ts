import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { RuntimeService } from '../../../src/agent/runtime/service/runtime-service.ts';
import type { ContainerConfig } from '../../../src/types/cri.ts';
import { testAsRoot } from '../../support/as-root.ts';
import {
  isRunning,
  logLines,
  processRuntimeBed,
  type ProcessRuntimeBed,
} from '../../support/process-runtime.ts';
import { containerConfig, podConfig, shell, startPod, whenExited } from '../../support/runtime-configs.ts';
import { waitFor } from '../../support/wait-for.ts';

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

  describe('has an environment', () => {
    test('of its own: nothing of the agent that started it', async () => {
      process.env.STATELET_TEST_SECRET = 'secret';
      const config = containerConfig(['env'], { envs: [{ key: 'GIVEN', value: 'a b' }] });
      const names = (await outputOf(config)).map((line) => line.replace(/^stdout F (\w+)=.*$/, '$1'));
      delete process.env.STATELET_TEST_SECRET;
      expect(names.sort()).toEqual([
        'GIVEN',
        'HOME',
        'HOSTNAME',
        'PATH',
        'STATELET_CONTAINER_ID',
        'STATELET_TERMINATION_LOG',
      ]);
    });

    test('with the hostname of its pod', async () => {
      expect(await outputOf(shell('echo $HOSTNAME'))).toEqual(['stdout F pod']);
    });

    test('in which its own values override the defaults', async () => {
      const envs = [
        { key: 'HOME', value: '/first' },
        { key: 'HOME', value: '/last' },
      ];
      expect(await outputOf(shell('echo $HOME', { envs }))).toEqual(['stdout F /last']);
    });

    test('and a working directory that it shares with the containers of its pod', async () => {
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

    testAsRoot(
      'and runs as the user that it asks for, which can write to its working directory, message file and output',
      async () => {
        const script = 'id -u; id -g; echo file > file && cat file; echo done > $STATELET_TERMINATION_LOG';
        const linux = { securityContext: { runAsUser: 65534, runAsGroup: 65533 } };
        const { id, logFile } = await start(shell(`${script}; echo reopened > /dev/stdout`, { linux }));
        await whenExited(runtime, id);
        expect(logLines(logFile).filter((line) => line.startsWith('stdout'))).toEqual(
          ['65534', '65533', 'file', 'reopened'].map((text) => `stdout F ${text}`),
        );
      },
    );

    test('and an empty standard input', async () => {
      expect(await outputOf(shell('cat; echo end'))).toEqual(['stdout F end']);
    });

    test('or one that stays open, if it asks for it', async () => {
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

    test('128 when its variables have more bytes than the system takes, in words', async () => {
      const envs = Array.from({ length: 70 }, (_, index) => ({
        key: `A${index}`,
        value: 'x'.repeat(100_000),
      }));
      const status = await failing(shell('true', { envs }));
      expect(status).toMatchObject({ state: 'CONTAINER_EXITED', exitCode: 128, reason: 'StartError' });
      expect(status.message).toContain('have more bytes than the system takes');
    });

    test('128 when its log cannot be opened, naming it', async () => {
      const status = await failing(shell('true', { logPath: '../../runtime/monitor.sock' }));
      expect(status).toMatchObject({ state: 'CONTAINER_EXITED', exitCode: 128, reason: 'StartError' });
      expect(status.message).toContain('monitor.sock');
    });
  });

  describe('ends with all its processes:', () => {
    test('a stop ends the children of a shell', async () => {
      const { id, logFile } = await start(shell('sleep 1000 & echo $!; wait'));
      const child = Number(await firstLine(logFile));
      expect(isRunning(child)).toBe(true);
      await runtime.stopContainer(id, 1000);
      expect(isRunning(child)).toBe(false);
    });

    test('children that ignore SIGTERM are killed after the main process', async () => {
      const { id, logFile } = await start(shell("(trap '' TERM; echo $$ >&2; sleep 1000) & echo $!; wait"));
      const child = Number(await firstLine(logFile));
      await waitFor(() => logLines(logFile).length === 2, { what: 'the child to be ready' });
      await runtime.stopContainer(id, 1000);
      expect(isRunning(child)).toBe(false);
    });

    test('children that left its session are killed after the main process', async () => {
      const { id, logFile } = await start(shell("setsid sh -c 'echo $$; exec sleep 1000' & sleep 1000"));
      const child = Number(await firstLine(logFile));
      await runtime.stopContainer(id, 1000);
      expect(isRunning(child)).toBe(false);
    });

    test('a main process that ignores SIGTERM is killed after the timeout, with all other processes', async () => {
      const script = "trap '' TERM; setsid sh -c 'echo $$; exec sleep 1000' & sleep 1000";
      const { id, logFile } = await start(shell(script));
      const child = Number(await firstLine(logFile));
      await runtime.stopContainer(id, 1);
      expect(isRunning(child)).toBe(false);
      expect(await runtime.containerStatus(id)).toMatchObject({ exitCode: 137, reason: 'Error' });
    });

    test('processes that a main process leaves behind are killed when it exits by itself', async () => {
      const { id, logFile } = await start(shell('sleep 1000 & echo $!; exit 5'));
      const { exitCode } = await whenExited(runtime, id);
      expect(exitCode).toBe(5);
      expect(isRunning(Number(await firstLine(logFile)))).toBe(false);
    });

    test('a command that runs in it is killed with it', async () => {
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

    test('a container that is ended by a signal is an Error with 128 plus its number', async () => {
      const { id } = await start(shell('kill -SEGV $$'));
      expect(await whenExited(runtime, id)).toMatchObject({ exitCode: 139, reason: 'Error' });
    });
  });

  test.each(['SIGUSR1', 'SIGRTMIN+3', 'SIGRTMAX-2'])(
    'is asked to end by its stop signal %s',
    async (stopSignal) => {
      const [, name = ''] = /^SIG(.*)$/.exec(stopSignal) ?? [];
      const script = `trap 'echo asked; exit 17' ${name}; echo ready; while :; do sleep 1000 & wait; done`;
      const config = containerConfig(['bash', '-c', script], { stopSignal });
      const { id, logFile } = await start(config);
      await waitFor(() => readFileSync(logFile, 'utf8').includes('ready'), { what: 'its word' });
      await runtime.stopContainer(id, 1000);
      expect((await runtime.containerStatus(id)).exitCode).toBe(17);
    },
  );

  describe('leaves a termination message', () => {
    const POLICY = 'io.kubernetes.container.terminationMessagePolicy';
    const PATH = 'io.kubernetes.container.terminationMessagePath';
    const messageOf = async (script: string, annotations: Record<string, string> = {}) => {
      const { id } = await start(shell(script, { annotations }));
      return (await whenExited(runtime, id)).message;
    };

    test('in the file of STATELET_TERMINATION_LOG', async () => {
      const message = await messageOf('printf "it is over" > $STATELET_TERMINATION_LOG; exit 1');
      expect(message).toBe('it is over');
    });

    test('of which the last 4096 bytes are kept', async () => {
      const message = await messageOf('seq 1 10000 > $STATELET_TERMINATION_LOG');
      expect(message.length).toBe(4096);
      expect(message.endsWith('9999\n10000\n')).toBe(true);
    });

    test('in the file that its spec names', async () => {
      const file = join(mkdtempSync(join(tmpdir(), 'statelet-message-')), 'message');
      const message = await messageOf(`printf "very file" > ${file}`, { [PATH]: file });
      rmSync(dirname(file), { recursive: true });
      expect(message).toBe('very file');
    });

    test('but not the text that the file had before', async () => {
      expect(await messageOf('exit 1', { [PATH]: '/etc/passwd' })).toBe('');
    });

    test('from its log if it fails without a message, with policy FallbackToLogsOnError', async () => {
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
});
