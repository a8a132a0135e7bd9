import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { becomeMonitor } from '../../../src/embedded/monitor/monitor-lock.ts';
import { openDirectory, socketPath } from '../../../src/embedded/monitor/monitor-socket.ts';

const MODULE = new URL('../../../src/embedded/monitor/monitor-lock.ts', import.meta.url).href;

/** Says whether it has become the monitor, and stays. */
const CANDIDATE = `
  const { becomeMonitor } = await import(${JSON.stringify(MODULE)});
  console.log((await becomeMonitor(process.argv[1])).isMonitor);
  setInterval(() => undefined, 1000);
`;

let dir: string;
let children: ChildProcess[];
let servers: Server[];
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'statelet-lock-'));
  [children, servers] = [[], []];
});
afterEach(async () => {
  for (const server of servers) server.close();
  for (const child of children) await end(child);
  rmSync(dir, { recursive: true });
});

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}

function candidate(): { child: ChildProcess; isMonitor: Promise<boolean> } {
  const flags = ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', CANDIDATE, dir];
  const child = spawn(process.execPath, flags, { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  const line = once(createInterface(child.stdout), 'line') as Promise<[string]>;
  return { child, isMonitor: line.then(([text]) => text === 'true') };
}

const listen = async (): Promise<void> => {
  const server = createServer((socket) => socket.on('error', () => undefined));
  servers.push(server);
  server.listen(socketPath(openDirectory(dir)));
  await once(server, 'listening');
};

describe('a process becomes the monitor of a folder', () => {
  test('if no other process is', async () => {
    expect(await candidate().isMonitor).toBe(true);
  });

  test('not if another monitor answers there', async () => {
    await listen();
    expect(await becomeMonitor(dir)).toEqual({ isMonitor: false });
  });

  test('not before the process that holds the lock answers or ends: here it answers', async () => {
    expect(await candidate().isMonitor).toBe(true);
    const second = becomeMonitor(dir);
    await listen();
    expect(await second).toEqual({ isMonitor: false });
  });

  test('not before the process that holds the lock answers or ends: here it is killed', async () => {
    const first = candidate();
    expect(await first.isMonitor).toBe(true);
    const second = candidate();
    await end(first.child);
    expect(await second.isMonitor).toBe(true);
  });
});
