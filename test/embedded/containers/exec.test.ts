import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { getEventListeners } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { execCommand, type ExecLimits, exitOf } from '../../../src/embedded/containers/exec.ts';
import { launch, type ProcessSpec, StartError } from '../../../src/embedded/containers/launch.ts';
import { Sweeper } from '../../../src/embedded/containers/sweeper.ts';
import type { RuntimeService } from '../../../src/agent/runtime/service/runtime-service.ts';
import type { ContainerConfig } from '../../../src/types/cri.ts';
import {
  isRunning,
  kill9,
  monitorPid,
  processRuntimeBed,
  type ProcessRuntimeBed,
} from '../../support/process-runtime.ts';
import { shell, startPod } from '../../support/runtime-configs.ts';
import { waitFor } from '../../support/wait-for.ts';

const sweeper = new Sweeper(() => undefined);
const NEVER = new AbortController().signal;
const specOf = (script: string): ProcessSpec => ({
  command: ['bash', '-c', script],
  env: { PATH: '/usr/bin:/bin' },
  cwd: '/',
});

describe('a command', () => {
  const run = (script: string, limits: Partial<ExecLimits> = {}) =>
    execCommand(specOf(script), { timeoutSeconds: 0, signal: NEVER, ...limits }, sweeper);
  const textOf = (base64: string): string => Buffer.from(base64, 'base64').toString();

  test('gives its output and exit code', async () => {
    const { stdoutBase64, stderrBase64, exitCode } = await run('echo out; echo err >&2; exit 7');
    expect([textOf(stdoutBase64), textOf(stderrBase64), exitCode]).toEqual(['out\n', 'err\n', 7]);
  });

  test('that is ended by a signal has 128 and its number', async () => {
    expect((await run('kill -SEGV $$')).exitCode).toBe(139);
  });

  test('has ended although a process that it has left holds its output open', async () => {
    const { stdoutBase64 } = await run('setsid sleep 1000 & echo $!');
    const pid = Number(textOf(stdoutBase64));
    expect(isRunning(pid)).toBe(true);
    await kill9(pid);
  });

  test('has the output that came while this process itself was stopped', async () => {
    const result = run('sh -c "sleep 0.3; echo late" &');
    // The command has ended by then.
    await new Promise((resolve) => setTimeout(resolve, 100));
    // Timers that are due come next, before anything is read.
    await new Promise(setImmediate);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1500);
    expect(textOf((await result).stdoutBase64)).toBe('late\n');
  });

  test('that has ended leaves no listener with its caller', async () => {
    const { signal } = new AbortController();
    await exitOf(await launch(specOf('true'), 'ignore'), signal);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  test('is killed with its group after its timeout', async () => {
    const result = run('sleep 1000 & sleep 1000', { timeoutSeconds: 1 });
    await expect(result).rejects.toMatchObject({
      kind: 'DeadlineExceeded',
      message: 'command "bash -c sleep 1000 & sleep 1000" did not end within 1 s and was killed',
    });
  });

  test('is killed if its caller has aborted before', async () => {
    await expect(run('sleep 1000', { signal: AbortSignal.abort() })).rejects.toMatchObject({
      kind: 'Canceled',
    });
  });

  test('has an empty standard input', async () => {
    expect(textOf((await run('cat; echo end')).stdoutBase64)).toBe('end\n');
  });

  test('that cannot be started is a StartError', async () => {
    const spec = { ...specOf(''), command: ['no-such-program'] };
    await expect(execCommand(spec, { timeoutSeconds: 0, signal: NEVER }, sweeper)).rejects.toThrow(
      StartError,
    );
  });
});

/** Of its memory, ever since it was started. */
function peakBytes(pid: number): number {
  return Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1]) * 1024;
}
const LOTS_BYTES = 400_000_000;

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

    test('and keeps the first 10 KiB of their output; the monitor needs no memory for the others', async () => {
      const { id } = await start(shell('sleep 1000'));
      const before = peakBytes(await monitorPid(bed.rootDir));
      const command = ['sh', '-c', `head -c ${LOTS_BYTES} /dev/zero; echo end >&2`];
      const { stdout, stderr, exitCode } = await runtime.execSync(id, command, 0);
      expect([stdout.length, stderr.toString(), exitCode]).toEqual([10 * 1024, 'end\n', 0]);
      expect(peakBytes(await monitorPid(bed.rootDir)) - before).toBeLessThan(LOTS_BYTES / 4);
    });

    test('that exceed their timeout, and then stops reading the output of processes that they left', async () => {
      const { id } = await start(shell('sleep 1000'));
      // `yes` left the command's group, and ends when its output is closed.
      const command = ['sh', '-c', 'setsid sh -c "echo \\$\\$ > pid; exec yes" & sleep 1000'];
      await expect(runtime.execSync(id, command, 1)).rejects.toMatchObject({ kind: 'DeadlineExceeded' });
      const pid = Number((await runtime.execSync(id, ['cat', 'pid'], 0)).stdout.toString());
      await waitFor(() => !isRunning(pid), { what: 'the end of what writes to a closed pipe' });
    });

    test('that are killed when the caller gives up', async () => {
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

    test('and names a program that does not exist', async () => {
      const { id } = await start(shell('sleep 1000'));
      await expect(runtime.execSync(id, ['no-such-program'], 0)).rejects.toThrow('"no-such-program"');
    });
  });
});
