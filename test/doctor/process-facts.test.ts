/** With real processes and sockets of this machine, on which others may run too. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { agentFacts, holdersOf, runningProcesses } from '../../src/doctor/process-facts.ts';
import { listeningSockets } from '../../src/doctor/policies/port-findings.ts';
import { lockRootDir } from '../../src/agent/runtime/node/root-files.ts';

let rootDir: string;
beforeEach(() => {
  rootDir = mkdtempSync(join(tmpdir(), 'statelet-agents-'));
});
afterEach(() => rmSync(rootDir, { recursive: true }));

test('a kubelet is found by the name of its program, whatever it is called by', async () => {
  const kubelet = spawn('sleep', ['1000'], { argv0: '/usr/bin/kubelet', stdio: 'ignore' });
  try {
    await once(kubelet, 'spawn');
    const { kubelets } = await agentFacts(rootDir, 'unix:///x', await runningProcesses());
    expect(kubelets).toContainEqual({ pid: kubelet.pid, command: ['/usr/bin/kubelet', '1000'] });
  } finally {
    kubelet.kill();
    await once(kubelet, 'close');
  }
});

test('the lock of the root folder is seen, and not taken', async () => {
  const facts = () => agentFacts(rootDir, 'unix:///x', []);
  expect(await facts()).toMatchObject({ lock: { value: { isHeld: false } } });
  const lock = await lockRootDir(rootDir);
  expect(await facts()).toMatchObject({ lock: { value: { isHeld: true, holder: process.pid } } });
  lock.release();
  expect(await facts()).toMatchObject({ lock: { value: { isHeld: false } } });
});

test('the process that has a port is found', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const { port } = server.address() as { readonly port: number };
    const sockets = listeningSockets(readFileSync('/proc/net/tcp', 'utf8'), { isIPv6: false });
    const inodes = new Set(sockets.flatMap((socket) => (socket.port === port ? socket.inode : [])));
    const own = { pid: process.pid, command: ['node', 'test'] };
    const holders = await holdersOf(inodes, [own]);
    expect([...holders.values()]).toEqual([{ pid: process.pid, command: 'node test' }]);
  } finally {
    server.close();
  }
});
