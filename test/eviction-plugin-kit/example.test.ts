/**
 * The example, as a process of its own with the package as it is built, asked by the agent's own client; and how such a process begins and ends.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { RemoteEvictionPlugin } from '../../src/agent/plugins/remote-eviction-plugin.ts';
import type { Pod } from '../../src/types/kubernetes.ts';
import { BIN } from '../support/built.ts';
import { testPod } from '../support/pods.ts';
import { waitFor } from '../support/wait-for.ts';

const EXAMPLE = join(dirname(dirname(BIN)), 'examples/eviction-plugin/oldest-first.ts');

interface Process {
  readonly child: ChildProcess;
  stderr: string;
  readonly ended: Promise<unknown[]>;
}

let root: string;
let processes: Process[];
let client: RemoteEvictionPlugin | undefined;
const socket = () => join(root, 'plugins_registry/oldest-first.sock');
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'statelet-example-'));
  mkdirSync(join(root, 'plugins_registry'));
  processes = [];
});
afterEach(async () => {
  client?.close();
  client = undefined;
  for (const { child } of processes) child.kill('SIGKILL');
  await Promise.all(processes.map(async ({ ended }) => ended));
  rmSync(root, { recursive: true });
});

function start(env: Readonly<Record<string, string>> = { STATELET_ROOT_DIR: root }): Process {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', EXAMPLE], {
    stdio: ['ignore', 'inherit', 'pipe'],
    env: { PATH: process.env.PATH, ...env },
  });
  const started: Process = { child, stderr: '', ended: once(child, 'close') };
  child.stderr.setEncoding('utf8').on('data', (text: string) => (started.stderr += text));
  processes.push(started);
  return started;
}

async function serving(): Promise<Process> {
  const started = start();
  const says = () => started.stderr.includes('waits at ');
  await waitFor(() => says() || started.child.exitCode !== null, { what: 'the plugin to serve' });
  expect(started.stderr).toContain('waits at ');
  return started;
}

function reclaimed(name: string, startTime?: string): Pod {
  const pod = testPod({ name, annotations: { 'katalyst.kubewharf.io/qos_level': 'reclaimed_cores' } });
  return startTime === undefined ? pod : { ...pod, status: { startTime } };
}

async function chosen(...pods: Pod[]) {
  client ??= new RemoteEvictionPlugin({ name: 'oldest-first', endpoint: socket() });
  const { evictPods } = await client.getEvictPods({
    activePods: { pods },
    signal: new AbortController().signal,
  });
  return evictPods;
}

test('it has fewer than 50 lines', () => {
  expect(readFileSync(EXAMPLE, 'utf8').split('\n').length).toBeLessThan(50);
});

test('of the reclaimed pods the oldest goes, while there is more than one', async () => {
  await serving();
  const old = reclaimed('old', '2026-01-01T00:00:00Z');
  const young = reclaimed('young', '2026-01-02T00:00:00Z');
  expect(await chosen(testPod({ name: 'web' }), young)).toEqual([]);
  expect(await chosen(testPod({ name: 'web' }), young, old, reclaimed('starting'))).toMatchObject([
    {
      pod: { name: 'old' },
      forceEvict: true,
      reason: 'it is the oldest of 3 reclaimed pods, and 1 may stay',
    },
    { pod: { name: 'young' } },
  ]);
});

test.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
  '%s removes the socket, and the process ends with exit code 0',
  async (signal) => {
    const { child, ended } = await serving();
    // A connection is open.
    await chosen();
    child.kill(signal);
    expect(await ended).toEqual([0, null]);
    expect(existsSync(socket())).toBe(false);
  },
);

test('killed, it leaves its socket, and its next run takes the place', async () => {
  const { child, ended } = await serving();
  child.kill('SIGKILL');
  await ended;
  expect(existsSync(socket())).toBe(true);
  const next = start();
  await waitFor(() => next.stderr.includes('waits at '), { what: 'the next run to serve' });
  expect(await chosen()).toEqual([]);
});

test('a second one ends with an error, and the first one goes on', async () => {
  await serving();
  const second = start();
  expect(await second.ended).toEqual([1, null]);
  expect(second.stderr).toContain(`another process serves ${socket()}`);
  expect(await chosen()).toEqual([]);
});

test('without STATELET_ROOT_DIR it says what to set', async () => {
  const started = start({});
  expect(await started.ended).toEqual([1, null]);
  expect(started.stderr).toContain('set STATELET_ROOT_DIR to the root folder of the agent');
});
