import { afterEach, describe, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import {
  bootId,
  CONTAINER_ID_VARIABLE,
  containerOf,
  isRunning,
  parseStat,
  processTable,
  readStat,
  residentBytes,
  startedAtMs,
} from '../../../src/embedded/containers/proc.ts';
import { childProcesses } from '../../support/child-processes.ts';
import { waitFor } from '../../support/wait-for.ts';

const children = childProcesses();
afterEach(() => children.end());

/** A pid that no process has: Linux gives none above 2^22. */
const NO_PID = 2 ** 22 + 1;

const startSleep = () => children.start('sleep', ['1000']);

describe('the stat of a process', () => {
  test('is read correctly for a program whose name looks like more fields', () => {
    const numbers = Array.from({ length: 49 }, (_, index) => index + 4).join(' ');
    expect(parseStat(`77 (a) R 1 (b) Z ${numbers}`)).toEqual({
      pid: 77,
      state: 'Z',
      groupId: 5,
      sessionId: 6,
      terminal: 7,
      cpuTicks: 14 + 15 + 16 + 17,
      startTicks: 22,
    });
  });

  test('has its session and group', () => {
    const { pid } = startSleep();
    expect(readStat(pid)).toMatchObject({ pid, groupId: pid, sessionId: pid });
  });

  test('is undefined if there is no such process', () => {
    expect(readStat(NO_PID)).toBeUndefined();
  });
});

describe('a process runs', () => {
  test('only if it has the start time of its identity, not just the pid', () => {
    const { pid, startTicks } = readStat(process.pid)!;
    expect(isRunning({ pid, startTicks })).toBe(true);
    expect(isRunning({ pid, startTicks: startTicks - 1 })).toBe(false);
  });

  test('no longer once it is a zombie: it is in no process table', async () => {
    // sleep does not wait for the child that it has from the shell, so that the child stays a zombie. The shell would wait for it.
    const { pid: parent, line } = await children.startShell('sleep 1000 & echo $!; exec sleep 1000');
    const command = () => readFileSync(`/proc/${parent}/comm`, 'utf8').trim();
    await waitFor(() => command() === 'sleep', { what: 'the shell to have become sleep' });
    const { pid, startTicks } = readStat(Number(line))!;
    expect(processTable().map((stat) => stat.pid)).toContain(pid);
    process.kill(pid, 'SIGKILL');
    await waitFor(() => readStat(pid)?.state === 'Z', { what: 'a zombie' });
    expect(isRunning({ pid, startTicks })).toBe(false);
    expect(processTable().map((stat) => stat.pid)).not.toContain(pid);
  });
});

describe('a process belongs to a container', () => {
  test('by the id in its environment', async () => {
    const env = { ...process.env, [CONTAINER_ID_VARIABLE]: 'this-one' };
    const { pid } = children.start('sleep', ['1000'], { env });
    // The kernel shows no environment before the program has been loaded.
    const id = await waitFor(() => containerOf(pid), { what: 'its environment' });
    expect(id).toBe('this-one');
  });

  test('not without the id, and not if there is no such process', () => {
    expect(containerOf(startSleep().pid)).toBeUndefined();
    expect(containerOf(NO_PID)).toBeUndefined();
  });
});

test('a process has resident memory in bytes; 0 if there is no such process', () => {
  expect(residentBytes(process.pid)).toBeGreaterThan(process.memoryUsage().rss / 2);
  expect(residentBytes(NO_PID)).toBe(0);
});

test('the start time of a process is known in Unix milliseconds', async () => {
  const before = Date.now();
  const child = startSleep();
  await once(child, 'spawn');
  const after = Date.now();
  const startedAt = startedAtMs(readStat(child.pid)!.startTicks);
  // The kernel counts in hundredths of a second, and gives its uptime in the same.
  expect(startedAt).toBeGreaterThan(before - 1_000);
  expect(startedAt).toBeLessThan(after + 1_000);
});

test('the boot of the machine has an id', () => {
  expect(bootId()).toBe(readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim());
});
