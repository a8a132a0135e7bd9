import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { chmodSync, linkSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findRuntimes } from '../../../../src/agent/runtime/cri/find-runtimes.ts';
import { VERSION } from '../../../../src/agent/runtime/cri/messages/methods.ts';
import { outputAsNobody } from '../../../support/as-nobody.ts';
import { answer, type Answer, FakeRuntime } from './fake-runtime.ts';

const MODULE = new URL('../../../../src/agent/runtime/cri/find-runtimes.ts', import.meta.url).href;
const asRoot = process.getuid?.() === 0 ? test : test.skip;

const runtimes: FakeRuntime[] = [];
let dir: string;
let server: Server | undefined;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'statelet-sockets-'));
});
afterEach(async () => {
  for (const runtime of runtimes.splice(0)) await runtime.cleanup();
  server?.close();
  server = undefined;
  rmSync(dir, { recursive: true });
});

/** The socket of a runtime. */
async function serve(...answers: readonly Answer[]): Promise<string> {
  const runtime = new FakeRuntime();
  runtimes.push(runtime);
  await runtime.serve(...answers);
  return runtime.endpoint.replace('unix://', '');
}

const named = (runtimeName: string, runtimeVersion: string) =>
  answer(VERSION, () => ({ version: '0.1.0', runtimeName, runtimeVersion, runtimeApiVersion: 'v1' }));
const problemAt = async (socket: string) => {
  const [looked] = await findRuntimes([socket]);
  return looked?.found && 'problem' in looked.found ? looked.found.problem : undefined;
};

test('both runtimes of a machine that has both are found, with their versions', async () => {
  const sockets = [await serve(named('containerd', '1.7.24')), await serve(named('cri-o', '1.30.0'))];
  expect(await findRuntimes(sockets)).toEqual([
    { socket: sockets[0], found: { name: 'containerd', version: '1.7.24' } },
    { socket: sockets[1], found: { name: 'cri-o', version: '1.30.0' } },
  ]);
});

test('a machine without sockets has no runtime, also if a plain file has the path of one', async () => {
  writeFileSync(join(dir, 'file'), '');
  const sockets = [join(dir, 'none.sock'), join(dir, 'file/none.sock')];
  expect(await findRuntimes(sockets)).toEqual(sockets.map((socket) => ({ socket })));
});

test('a socket that is left over: no runtime answers', async () => {
  const socket = join(dir, 'left.sock');
  server = createServer().listen(socket);
  await once(server, 'listening');
  // The file of a server that is killed stays.
  const left = join(dir, 'other-name.sock');
  linkSync(socket, left);
  server.close();
  expect(await problemAt(left)).toContain('ECONNREFUSED');
});

test('the search does not wait for a server that hangs', async () => {
  const socket = join(dir, 'hung.sock');
  const clients: Socket[] = [];
  server = createServer((client) => void clients.push(client)).listen(socket);
  await once(server, 'listening');
  expect(await problemAt(socket)).toBe('no answer within 5 s');
  for (const client of clients) client.destroy();
});

test('a server that does not speak CRI, as containerd from a Docker installation, is reported with the line to change', async () => {
  expect(await problemAt(await serve())).toContain('take cri out of disabled_plugins');
});

test('a plain file is no socket', async () => {
  writeFileSync(join(dir, 'plain.sock'), '');
  expect(await problemAt(join(dir, 'plain.sock'))).toBe('it is no socket');
});

asRoot('another user learns that the socket is for root', async () => {
  const socket = join(dir, 'root.sock');
  server = createServer().listen(socket);
  await once(server, 'listening');
  chmodSync(dir, 0o755);
  chmodSync(socket, 0o660);
  const script = `console.log(JSON.stringify(await own.findRuntimes([process.argv[1]])))`;
  expect(JSON.parse(outputAsNobody(MODULE, script, socket))).toEqual([
    { socket, found: { problem: 'this user may not use it: run as root' } },
  ]);
  chmodSync(dir, 0o700);
  expect(JSON.parse(outputAsNobody(MODULE, script, socket))).toEqual([
    { socket, found: { problem: 'this user may not see whether it is there' } },
  ]);
});
