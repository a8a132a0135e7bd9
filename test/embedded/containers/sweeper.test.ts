import { afterEach, describe, expect, test } from '@jest/globals';
import {
  CONTAINER_ID_VARIABLE,
  environOf,
  isRunning,
  processTable,
  readStat,
} from '../../../src/embedded/containers/proc.ts';
import { Sweeper } from '../../../src/embedded/containers/sweeper.ts';
import { childProcesses } from '../../support/child-processes.ts';

const children = childProcesses();
afterEach(() => children.end());

const messages: string[] = [];
const sweeper = new Sweeper((message) => messages.push(message));

const identityOf = (pid: number) => {
  const { startTicks } = readStat(pid)!;
  return { pid, startTicks };
};

describe('the sweeper kills', () => {
  test('all processes of a session and group, whether they ignore signals or not', async () => {
    const script = "(trap '' TERM INT HUP; exec sleep 1000) & sleep 1000 & echo $! ; wait";
    const { pid, line } = await children.startShell(script);
    const all = [identityOf(pid), identityOf(Number(line))];
    await sweeper.clear({ sessionId: pid, sinceTicks: 0 });
    expect(all.map(isRunning)).toEqual([false, false]);
  });

  test('processes that left the group but not the session', async () => {
    // An interactive shell makes a group for each job.
    const { pid, line } = await children.startShell('set -m; sleep 1000 & echo $!; wait');
    const job = identityOf(Number(line));
    expect(readStat(job.pid)).toMatchObject({ groupId: job.pid, sessionId: pid });
    await sweeper.clear({ sessionId: pid, sinceTicks: 0 });
    expect(isRunning(job)).toBe(false);
  });

  test('processes that left the session, by the id of their container', async () => {
    const env = { ...process.env, [CONTAINER_ID_VARIABLE]: 'left-the-session' };
    const { line } = await children.startShell('setsid sleep 1000 & echo $!; wait', env);
    const escaped = identityOf(Number(line));
    await sweeper.clear({ containerId: 'left-the-session', sinceTicks: 0 });
    expect(isRunning(escaped)).toBe(false);
  });

  test('processes that load their program when they are looked at', async () => {
    const env = { ...process.env, [CONTAINER_ID_VARIABLE]: 'loading' };
    const { line } = await children.startShell('setsid sleep 1000 & echo $!; wait', env);
    const escaped = identityOf(Number(line));
    let looks = 0;
    const isHidden = (pid: number) => pid === escaped.pid && ++looks <= 3;
    const proc = { processTable, environOf: (pid: number) => (isHidden(pid) ? '' : environOf(pid)) };
    const patient = new Sweeper((message) => messages.push(message), proc);
    await patient.clear({ containerId: 'loading', sinceTicks: escaped.startTicks });
    expect(isRunning(escaped)).toBe(false);
  });

  test('processes that fork meanwhile', async () => {
    const { pid } = await children.startShell('echo forks; for i in {1..300}; do sleep 1000 & done; wait');
    await sweeper.clear({ sessionId: pid, sinceTicks: 0 });
    expect(readStat(pid)?.state ?? 'Z').toBe('Z');
  });
});

describe('the sweeper leaves alone', () => {
  test('a process that has no environment at all', async () => {
    const { line } = await children.startShell('setsid env -i sleep 1000 & echo $!; wait');
    const other = identityOf(Number(line));
    try {
      await sweeper.clear({ containerId: 'of-none', sinceTicks: 0 });
      expect(isRunning(other)).toBe(true);
    } finally {
      process.kill(other.pid, 'SIGKILL');
    }
  });

  test('processes of another session and container', async () => {
    const env = { ...process.env, [CONTAINER_ID_VARIABLE]: 'other' };
    const other = identityOf(children.start('sleep', ['1000'], { env }).pid);
    const { pid } = children.start('sleep', ['1000']);
    await sweeper.clear({ sessionId: pid, containerId: 'this-one', sinceTicks: 0 });
    expect(isRunning(other)).toBe(true);
  });

  test('processes that started before the container: they have got its pid or id otherwise', async () => {
    const earlier = identityOf(children.start('sleep', ['1000']).pid);
    await sweeper.clear({ sessionId: earlier.pid, sinceTicks: earlier.startTicks + 1 });
    expect(isRunning(earlier)).toBe(true);
  });
});

test('the sweeper is done at once if nothing is left, for any number of tasks', async () => {
  const tasks = Array.from({ length: 20 }, (_, index) =>
    sweeper.clear({ containerId: `none-${index}`, sinceTicks: 0 }),
  );
  await Promise.all(tasks);
  expect(messages).toEqual([]);
});
