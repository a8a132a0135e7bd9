/** With real sockets: a real dbus-daemon where the machine has one, and servers that refuse. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { systemdFacts } from '../../src/doctor/systemd-facts.ts';
import { installedProgram } from '../support/installed-program.ts';

let dir: string;
let busPath: string;
let server: Server | undefined;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'statelet-bus-'));
  busPath = join(dir, 'bus');
});
afterEach(() => {
  server?.close();
  server = undefined;
  rmSync(dir, { recursive: true });
});

async function serve(answer: (socket: Socket) => void): Promise<void> {
  server = createServer(answer).listen(busPath);
  await once(server, 'listening');
}
const bus = async () => (await systemdFacts({ sockets: [join(dir, 'none'), busPath], booted: dir })).bus;

test('systemd is process 1 where its folder is', async () => {
  const running = async (booted: string) => (await systemdFacts({ booted, sockets: [] })).isRunning;
  expect([await running(dir), await running(join(dir, 'none'))]).toEqual([true, false]);
});

(installedProgram('dbus-daemon') ? test : test.skip)('a bus that takes this user in', async () => {
  const config = join(dir, 'bus.conf');
  const policy = '<policy context="default"><allow user="*"/></policy>';
  writeFileSync(
    config,
    `<busconfig><listen>unix:path=${busPath}</listen><auth>EXTERNAL</auth>${policy}</busconfig>`,
  );
  const args = ['--nofork', '--print-address', `--config-file=${config}`];
  const daemon = spawn('dbus-daemon', args, { stdio: ['ignore', 'pipe', 'ignore'] });
  try {
    await once(createInterface(daemon.stdout), 'line');
    expect(await bus()).toEqual({ value: true });
  } finally {
    daemon.kill();
    await once(daemon, 'close');
  }
});

test.each<[string, (socket: Socket) => void, string]>([
  ['refuses', (socket) => socket.end('REJECTED EXTERNAL\r\n'), 'no permission for the user of this process'],
  ['closes', (socket) => socket.destroy(), 'closed|ECONNRESET|EPIPE'],
  ['says more than an answer', (socket) => socket.write('x'.repeat(10_000)), 'no permission'],
])('a bus that %s', async (_, answer, problem) => {
  await serve(answer);
  expect(await bus()).toMatchObject({ problem: expect.stringMatching(problem), isForbidden: false });
});

test('a bus that is not there, and a folder in its place', async () => {
  expect(await bus()).toMatchObject({ problem: expect.stringContaining(busPath) });
  mkdirSync(busPath);
  expect(await bus()).toMatchObject({ problem: expect.stringContaining('ECONNREFUSED') });
});
