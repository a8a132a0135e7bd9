import { afterEach, describe, expect, test } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { adoptedProcess, childProcess } from '../../../src/embedded/containers/main-process.ts';
import { isRunning, readStat } from '../../../src/embedded/containers/proc.ts';
import { childProcesses } from '../../support/child-processes.ts';
import { waitFor } from '../../support/wait-for.ts';

const children = childProcesses();
afterEach(() => children.end());

/** The pid of a shell's child is the line that the shell writes. */
const WITH_CHILD = 'sleep 1000 & echo $!; wait';

const identityOf = (pid: number) => {
  const { startTicks } = readStat(pid)!;
  return { pid, startTicks };
};

describe('a main process that the monitor has started', () => {
  test('ends with its exit code', async () => {
    const main = childProcess(children.start('sh', ['-c', 'exit 42']));
    expect(await main.ended).toEqual({ code: 42, signal: null });
  });

  test('ends with the signal that it gets', async () => {
    const child = children.start('sleep', ['1000']);
    const main = childProcess(child);
    expect(main.identity).toEqual(identityOf(child.pid));
    main.signal('SIGTERM');
    expect(await main.ended).toEqual({ code: null, signal: 'SIGTERM' });
  });

  test('gets a signal alone: its children run on', async () => {
    const { child, line } = await children.startShell(`trap 'exit 5' USR1; ${WITH_CHILD}`);
    const main = childProcess(child);
    const grandchild = identityOf(Number(line));
    main.signal('SIGUSR1');
    expect(await main.ended).toEqual({ code: 5, signal: null });
    expect(isRunning(grandchild)).toBe(true);
  });

  test('is killed with its group', async () => {
    const { child, line } = await children.startShell(WITH_CHILD);
    const main = childProcess(child);
    const grandchild = identityOf(Number(line));
    main.killGroup();
    expect(await main.ended).toEqual({ code: null, signal: 'SIGKILL' });
    await waitFor(() => !isRunning(grandchild), { what: 'the end of the group' });
  });

  test('may get a real-time signal, by its number', async () => {
    const { child } = await children.startShell(
      "trap 'exit 9' RTMIN+3; echo ready; while :; do sleep 0.01; done",
    );
    const main = childProcess(child);
    main.signal(37);
    expect(await main.ended).toEqual({ code: 9, signal: null });
  });

  test('gets no signal after its end: another process may have its pid', async () => {
    const main = childProcess(children.start('true', []));
    await main.ended;
    expect(() => main.signal('SIGTERM')).not.toThrow();
    expect(() => main.killGroup()).not.toThrow();
  });

  test('that could not be started is an error', async () => {
    const failed = spawn('/no/such/program');
    expect(() => childProcess(failed)).toThrow('process ? is not in /proc');
    await once(failed, 'error');
  });
});

describe('a main process that is adopted', () => {
  test('has no known exit code', async () => {
    const { pid } = children.start('sleep', ['1000']);
    const main = adoptedProcess(identityOf(pid));
    main.signal('SIGTERM');
    expect(await main.ended).toBeUndefined();
    expect(isRunning(main.identity)).toBe(false);
  });

  test('is noticed to have ended when it is checked', async () => {
    const child = children.start('sleep', ['1000']);
    const main = adoptedProcess(identityOf(child.pid));
    child.kill('SIGKILL');
    await once(child, 'exit');
    main.check();
    expect(await main.ended).toBeUndefined();
  });

  test('has ended if another process has its pid, and that one gets no signal', async () => {
    const child = children.start('sleep', ['1000']);
    const { pid, startTicks } = identityOf(child.pid);
    const main = adoptedProcess({ pid, startTicks: startTicks - 1 });
    expect(await main.ended).toBeUndefined();
    main.signal('SIGKILL');
    main.killGroup();
    expect(isRunning({ pid, startTicks })).toBe(true);
  });

  test('is killed with its group', async () => {
    const { pid, line } = await children.startShell(WITH_CHILD);
    const grandchild = identityOf(Number(line));
    const main = adoptedProcess(identityOf(pid));
    main.killGroup();
    await main.ended;
    await waitFor(() => !isRunning(grandchild), { what: 'the end of the group' });
  });
});
