import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { closeSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectSocket, openDirectory, socketPath } from '../../../src/embedded/monitor/monitor-socket.ts';
import { openBelow } from '../../support/held-open.ts';

let root: string;
let dir: string;
let server: Server;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'statelet-socket-'));
  // Deeper than the 107 bytes of a socket's address.
  dir = join(root, 'a'.repeat(100), 'b'.repeat(100));
  mkdirSync(dir, { recursive: true });
  server = createServer((socket) => socket.on('error', () => undefined).end('hello'));
});
afterEach(() => {
  server.close();
  rmSync(root, { recursive: true });
});

const listen = async (): Promise<void> => {
  const dirFd = openDirectory(dir);
  server.listen(socketPath(dirFd));
  await once(server, 'listening');
  closeSync(dirFd);
};

describe("the monitor's socket", () => {
  test('can be reached in a folder that is deeper than the address of a socket', async () => {
    await listen();
    expect(readdirSync(dir)).toEqual(['monitor.sock']);
    const [chunk] = (await once(await connectSocket(dir), 'data')) as [Buffer];
    expect(chunk.toString()).toBe('hello');
  });

  test('is reached in its folder, whatever that is called meanwhile', async () => {
    const dirFd = openDirectory(dir);
    renameSync(dir, `${dir}c`);
    server.listen(socketPath(dirFd));
    await once(server, 'listening');
    closeSync(dirFd);
    (await connectSocket(`${dir}c`)).destroy();
  });

  test.each([
    ['there is no folder', 'ENOENT', () => rmSync(dir, { recursive: true })],
    ['there is no socket', 'ENOENT', () => undefined],
    [
      'the socket is left from a process that has ended',
      'ECONNREFUSED',
      () => writeFileSync(join(dir, 'monitor.sock'), ''),
    ],
  ])('cannot be reached if %s: %s', async (_, code, arrange) => {
    arrange();
    await expect(Promise.resolve().then(() => connectSocket(dir))).rejects.toMatchObject({ code });
  });

  test('leaves no descriptor of the folder open', async () => {
    await listen();
    const socket = await connectSocket(dir);
    const closed = once(socket, 'close');
    socket.destroy();
    await closed;
    expect(openBelow(root)).toBe(0);
  });
});
