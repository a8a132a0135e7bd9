import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { withDaemon } from '../../../src/commands/client/daemon-connection.ts';
import { RequestError } from '../../../src/agent/server/routes/route.ts';
import { ownerSocket } from '../../support/owner-socket.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'statelet-none-'));
});
afterEach(async () => rm(folder, { recursive: true }));

const ask = (rootDir: string, path = '/x') => withDaemon({ rootDir }, (daemon) => daemon.json(path));

test('a folder without a daemon, or that does not exist, is an error that says so', async () => {
  for (const rootDir of [folder, join(folder, 'missing')]) {
    await expect(ask(rootDir)).rejects.toMatchObject({
      kind: 'Unavailable',
      message: `no statelet serves from ${rootDir}, the root folder given by --root-dir: there is no ${rootDir}/statelet.sock\ngive the --root-dir that it was started with`,
    });
  }
});

test('a socket that a dead daemon has left is an error: no daemon answers', async () => {
  const server = createServer();
  server.listen(join(folder, 'other.sock'));
  await once(server, 'listening');
  const { link } = await import('node:fs/promises');
  await link(join(folder, 'other.sock'), join(folder, 'statelet.sock'));
  server.close();
  await once(server, 'close');
  await expect(ask(folder)).rejects.toMatchObject({
    kind: 'Unavailable',
    message: `no statelet answers at ${folder}/statelet.sock; is it running? (ECONNREFUSED)`,
  });
});

test.each([
  [404, 'NotFound'],
  [409, 'FailedPrecondition'],
  [503, 'Unavailable'],
  [500, 'Unknown'],
])('an answer %d has the words of the daemon', async (status, kind) => {
  const refuse = () => {
    throw new RequestError(status, 'it is so\n');
  };
  const socket = await ownerSocket([{ path: '/x', handle: refuse }]);
  try {
    await expect(ask(socket.rootDir, '/x?secret=1')).rejects.toMatchObject({ kind, message: 'it is so' });
  } finally {
    await socket.close();
  }
});

test('an empty error answer is reported with its path, without the query', async () => {
  const socket = await ownerSocket([
    { path: '/x', handle: (_, response) => void response.writeHead(500).end() },
  ]);
  try {
    await expect(ask(socket.rootDir, '/x?secret=1')).rejects.toThrow(/^the daemon answers 500 to \/x$/u);
  } finally {
    await socket.close();
  }
});
