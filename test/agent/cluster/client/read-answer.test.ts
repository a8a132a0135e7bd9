import { once } from 'node:events';
import { connect, createServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { PassThrough, Readable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { expect, test } from '@jest/globals';
import { readBody, refusedAsHttp } from '../../../../src/agent/cluster/client/read-answer.ts';

const answer = (body: PassThrough, headers = {}) => ({ status: 200, headers, body });

test('a body is read whole, also where a character lies in two chunks', async () => {
  const body = new PassThrough();
  const text = readBody(answer(body));
  const bytes = Buffer.from('{"name":"ä"}');
  const within = bytes.indexOf(Buffer.from('ä')) + 1;
  body.write(bytes.subarray(0, within));
  body.end(bytes.subarray(within));
  expect(await text).toBe('{"name":"ä"}');
});

test('a body without a byte is an empty text', async () => {
  const body = new PassThrough();
  body.end();
  expect(await readBody(answer(body))).toBe('');
});

test('a compressed body is decompressed', async () => {
  const body = new PassThrough();
  body.end(gzipSync('{"name":"pod"}'));
  expect(await readBody(answer(body, { 'content-encoding': 'gzip' }))).toBe('{"name":"pod"}');
});

test('a body that is not compressed as it claims is an error', async () => {
  const body = new PassThrough();
  body.end('{"name":"pod"}');
  await expect(readBody(answer(body, { 'content-encoding': 'gzip' }))).rejects.toThrow(
    'incorrect header check',
  );
});

test('a body that breaks off is an error, and not a shorter body', async () => {
  const body = new PassThrough();
  const text = readBody(answer(body));
  body.write('{"name":');
  body.destroy(new Error('the connection is broken'));
  await expect(text).rejects.toThrow('the connection is broken');
});

test('a body that is closed before its end is an error', async () => {
  const body = new PassThrough();
  const text = readBody(answer(body));
  body.write('{"name":');
  body.destroy();
  await expect(text).rejects.toThrow('the connection was closed before the answer was complete');
});

test.each([new Error('the connection is broken'), undefined])(
  'a body that was closed before it is read is an error: %s',
  async (error) => {
    const body = new PassThrough();
    body.on('error', () => undefined);
    const closed = new Promise((resolve) => body.once('close', resolve));
    body.destroy(error);
    await closed;
    const message = error?.message ?? 'the connection was closed before the answer was complete';
    await expect(readBody(answer(body))).rejects.toThrow(message);
  },
);

test('a body of HTTP/2 is read whole that had come to its end before its reader', async () => {
  const server = createServer();
  server.on('stream', (stream) => stream.end('{"name":"pod"}'));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  try {
    const body = session.request({ ':path': '/' });
    await once(body, 'response');
    while (!body.closed) await turn();
    expect(await readBody({ status: 200, headers: {}, body })).toBe('{"name":"pod"}');
  } finally {
    session.close();
    server.close();
  }
});

test("a proxy's page does not mean that an object is missing; a Go server's 404 means that a path is", () => {
  const page = '<html>No such page</html>';
  const refused = (text: string) =>
    refusedAsHttp({ status: 404, headers: {}, body: Readable.from([]) }, text);
  expect(refused(page)).toMatchObject({ kind: 'Unavailable', message: `the server answered 404: ${page}` });
  expect(refused('404 page not found\n')).toBeUndefined();
  expect(refused('{"kind":"Status","reason":"NotFound"}')).toBeUndefined();
  expect(refused('')).toBeUndefined();
});
