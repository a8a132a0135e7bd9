import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import grpc from '@grpc/grpc-js';
import { RecordingProxy } from '../../scripts/compare/recording-proxy.ts';

const same = (bytes: Buffer): Buffer => bytes;
const LARGE_BYTES = 3_000_000;

describe('the recording proxy', () => {
  const dir = mkdtempSync(join(tmpdir(), 'statelet-proxy-'));
  const server = new grpc.Server();
  const proxy = new RecordingProxy(join(dir, 'proxy.sock'), `unix://${join(dir, 'server.sock')}`);
  let client: grpc.Client;

  beforeAll(async () => {
    const unary = (path: string, handle: grpc.handleUnaryCall<Buffer, Buffer>) =>
      server.register(path, handle, same, same, 'unary');
    unary('/test/Echo', ({ request }, answer) => answer(null, request));
    unary('/test/Fail', (_call, answer) => answer({ code: grpc.status.NOT_FOUND, details: 'not here: ä' }));
    const stream: grpc.handleServerStreamingCall<Buffer, Buffer> = (call) => {
      for (const text of ['one', 'two']) call.write(Buffer.from(text));
      call.end();
    };
    server.register('/test/Stream', stream, same, same, 'serverStream');
    const { promise, resolve, reject } = Promise.withResolvers<undefined>();
    server.bindAsync(`unix://${join(dir, 'server.sock')}`, grpc.ServerCredentials.createInsecure(), (error) =>
      error ? reject(error) : resolve(undefined),
    );
    await promise;
    await proxy.start();
    client = new grpc.Client(proxy.endpoint, grpc.credentials.createInsecure());
  });

  afterAll(() => {
    client.close();
    proxy.stop();
    server.forceShutdown();
    rmSync(dir, { recursive: true });
  });

  const ask = (path: string, request: Buffer) =>
    new Promise<Buffer>((resolve, reject) => {
      client.makeUnaryRequest(path, same, same, request, (error, answer) =>
        error ? reject(error) : resolve(answer ?? Buffer.alloc(0)),
      );
    });
  const last = () => proxy.calls.at(-1);

  test('passes a call on, and keeps what was asked and answered', async () => {
    expect(String(await ask('/test/Echo', Buffer.from('hello')))).toBe('hello');
    expect(last()).toMatchObject({
      path: '/test/Echo',
      code: 0,
      request: Buffer.from('hello'),
      response: Buffer.from('hello'),
    });
    expect(last()?.endMs).toBeGreaterThanOrEqual(last()?.atMs ?? Infinity);
  });

  test('passes on messages that come in many pieces', async () => {
    const large = Buffer.alloc(LARGE_BYTES, 'x');
    expect((await ask('/test/Echo', large)).equals(large)).toBe(true);
    expect(last()?.request.equals(large)).toBe(true);
    expect(last()?.response.equals(large)).toBe(true);
  });

  test('passes an error on with its code and its text', async () => {
    await expect(ask('/test/Fail', Buffer.alloc(0))).rejects.toMatchObject({
      code: grpc.status.NOT_FOUND,
      details: 'not here: ä',
    });
    expect(last()).toMatchObject({ path: '/test/Fail', code: grpc.status.NOT_FOUND, message: 'not here: ä' });
  });

  test('passes on that a method is not known, though it knows none itself', async () => {
    await expect(ask('/test/None', Buffer.alloc(0))).rejects.toMatchObject({
      code: grpc.status.UNIMPLEMENTED,
    });
  });

  test('passes a stream on to its end', async () => {
    const stream = client.makeServerStreamRequest('/test/Stream', same, same, Buffer.alloc(0));
    const messages: string[] = [];
    for await (const message of stream) messages.push(String(message));
    expect(messages).toEqual(['one', 'two']);
    expect(last()).toMatchObject({ path: '/test/Stream', code: 0, response: Buffer.from('two') });
  });
});
