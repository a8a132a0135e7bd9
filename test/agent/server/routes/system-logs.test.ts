import { execFileSync as run } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { once } from 'node:events';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { systemLogRoutes } from '../../../../src/agent/server/routes/system-logs.ts';
import { openBelow } from '../../../support/held-open.ts';
import { RouteServer } from '../../../support/route-server.ts';
import { waitFor } from '../../../support/wait-for.ts';

const DATE = 'Fri, 02 Jan 2026 03:04:05 GMT';
const NOSNIFF = { 'x-content-type-options': 'nosniff' };
const NOT_FOUND = {
  status: 404,
  body: '404 page not found\n',
  headers: expect.objectContaining(NOSNIFF) as object,
};

const PLACES = (dir: string) => ({ dir, journalctl: '/nowhere/journalctl' });

let dir: string;
let server: RouteServer;
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'statelet-var-log-'));
  mkdirSync(join(dir, 'pods/web'), { recursive: true });
  mkdirSync(join(dir, 'www'));
  writeFileSync(join(dir, 'www/index.html'), 'index');
  writeFileSync(join(dir, 'syslog'), 'hello\nworld\n');
  utimesSync(join(dir, 'syslog'), new Date(DATE), new Date(DATE));
  symlinkSync('syslog', join(dir, 'link'));
  server = await new RouteServer(systemLogRoutes({ isSystemLogQueryEnabled: false }, PLACES(dir))).open();
});
afterEach(() => {
  server.close();
  rmSync(dir, { recursive: true });
});

describe('a file', () => {
  test('is sent with its length, its date and its type', async () => {
    const answer = await server.ask('/logs/syslog');
    expect(answer).toMatchObject({ status: 200, body: 'hello\nworld\n' });
    expect(answer.headers).toMatchObject({
      'accept-ranges': 'bytes',
      'content-length': '12',
      'content-type': 'text/plain; charset=utf-8',
      'last-modified': DATE,
    });
  });

  test('is found through links, encoded slashes and folders above', async () => {
    for (const path of ['/logs/link', '/logs/pods%2f..%2fsyslog', '/logs/..%2f..%2fsyslog']) {
      expect(await server.ask(path)).toMatchObject({ status: 200, body: 'hello\nworld\n' });
    }
  });

  test('is sent in part, or not again, as the client asks', async () => {
    const part = await server.ask('/logs/syslog', 'GET', { range: 'bytes=6-10' });
    expect(part).toMatchObject({ status: 206, body: 'world' });
    expect(part.headers['content-range']).toBe('bytes 6-10/12');
    expect(await server.ask('/logs/syslog', 'GET', { range: 'bytes=12-' })).toMatchObject({ status: 416 });
    const other = { range: 'bytes=6-10', 'if-range': 'Fri, 02 Jan 2026 03:04:06 GMT' };
    expect(await server.ask('/logs/syslog', 'GET', other)).toMatchObject({ status: 200 });
    const known = { 'if-modified-since': DATE };
    expect(await server.ask('/logs/syslog', 'GET', known)).toMatchObject({ status: 304, body: '' });
  });

  test('may be empty', async () => {
    writeFileSync(join(dir, 'empty'), '');
    expect(await server.ask('/logs/empty')).toMatchObject({ status: 200, body: '' });
  });

  test('that a client does not read to its end is closed', async () => {
    writeFileSync(join(dir, 'large'), Buffer.alloc(20e6, 'x'));
    const response = await server.begin('/logs/large');
    expect(openBelow(dir)).toBe(1);
    response.destroy();
    await waitFor(() => openBelow(dir) === 0, { what: 'the file to be closed' });
    expect((await text(await server.begin('/logs/large'))).length).toBe(20e6);
  });
});

test('a file that becomes shorter while it is sent ends the connection', async () => {
  const path = join(dir, 'large');
  writeFileSync(path, '');
  truncateSync(path, 2 ** 30);
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
  socket.write('GET /logs/large HTTP/1.1\r\nHost: a\r\n\r\n');
  socket.write('GET /logs/syslog HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  await once(socket, 'data');
  truncateSync(path, 2 ** 20);
  // The client would take the next answer for the rest of the file.
  expect((await text(socket)).includes('hello')).toBe(false);
});

describe('a folder', () => {
  test('is a list of its files', async () => {
    const { status, headers, body } = await server.ask('/logs/');
    expect({ status, type: headers['content-type'] }).toEqual({
      status: 200,
      type: 'text/html; charset=utf-8',
    });
    const names = [...body.matchAll(/<a href="[^"]*">(.*)<\/a>/g)].map(([, name]) => name);
    expect(names).toEqual(['link', 'pods/', 'syslog', 'www/']);
  });

  test('is its index.html where it has one', async () => {
    expect(await server.ask('/logs/www/')).toMatchObject({ status: 200, body: 'index' });
  });

  test.each([
    ['/logs/pods', 'pods/'],
    ['/logs/pods?x=1', 'pods/?x=1'],
    ['/logs/syslog/', '../syslog'],
    ['/logs/www/index.html', './'],
  ])('%s is redirected to %s', async (path, location) => {
    const { status, headers } = await server.ask(path);
    expect({ status, location: headers.location }).toEqual({ status: 301, location });
  });
});

describe('what cannot be served', () => {
  test.each(['/logs/none', '/logs/syslog/none', '/logs/sys%00log'])('%s is not found', async (path) => {
    expect(await server.ask(path)).toMatchObject(NOT_FOUND);
  });

  test('is a named pipe without a writer', async () => {
    run('mkfifo', [join(dir, 'pipe')]);
    expect(await server.ask('/logs/pipe')).toMatchObject({
      status: 500,
      body: '500 Internal Server Error\n',
    });
  });

  test('is a name that is too long', async () => {
    expect(await server.ask(`/logs/${'x'.repeat(300)}`)).toMatchObject({ status: 500 });
  });
});

test('a query has no effect where queries are not enabled', async () => {
  expect(await server.ask('/logs/syslog?query=kubelet&boot=x')).toMatchObject({ body: 'hello\nworld\n' });
});
