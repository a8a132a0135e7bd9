/** The client that asks plugins, with a server of Go: most plugins are written in Go, and containerd is at hand. */
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { LIST_IMAGES, STATUS, VERSION } from '../../../../src/agent/runtime/cri/messages/methods.ts';
import { GrpcClient } from '../../../../src/system/grpc/grpc-client.ts';
import type { Method } from '../../../../src/system/grpc/method.ts';
import { bytes, field, message } from '../../../../src/system/protobuf.ts';
import { Connections } from '../../../support/connections.ts';
import { type ContainerdBed, startContainerd } from '../../../support/containerd/containerd.ts';
import { describeWithContainerd, SET_UP_TIMEOUT_MS } from '../../../support/containerd/suite.ts';
import { waitFor } from '../../../support/wait-for.ts';

const { signal } = new AbortController();
/** Over the limit of containerd, which reads 16 MB. */
const TOO_LONG = 17 * 1024 * 1024;
const padded = message<{ readonly padding: Buffer }>({ padding: field(1000, bytes) });

describeWithContainerd('the client of plugins at a server of Go', () => {
  let containerd: ContainerdBed;
  let client: GrpcClient;
  beforeAll(async () => {
    containerd = await startContainerd();
    client = new GrpcClient('containerd', new URL(containerd.endpoint).pathname);
  }, SET_UP_TIMEOUT_MS);
  afterEach(() => client.close());
  afterAll(() => containerd.stop());

  const anew = () => (client = new GrpcClient('containerd', new URL(containerd.endpoint).pathname));

  test('gets answers, several at once', async () => {
    const [version, { status }] = await Promise.all([
      anew().call(VERSION, {}, signal),
      client.call(STATUS, {}, signal),
      client.call(LIST_IMAGES, {}, signal),
    ]);
    expect(version.runtimeName).toBe('containerd');
    expect(status?.conditions).toContainEqual(expect.objectContaining({ type: 'RuntimeReady' }));
  });

  test('gets errors', async () => {
    const unknown: Method<object, object> = {
      ...VERSION,
      name: 'Other',
      path: '/runtime.v9.Other/Other',
    } as never;
    await expect(anew().call(unknown, {}, signal)).rejects.toMatchObject({
      kind: 'Unimplemented',
      message: expect.stringContaining('unknown service runtime.v9.Other'),
    });
  });

  test('sends many bytes, and is refused too many', async () => {
    const method = { ...VERSION, request: padded };
    const some = { padding: Buffer.alloc(8 * 1024 * 1024) };
    expect((await anew().call(method, some, signal)).runtimeName).toBe('containerd');
    await expect(client.call(method, { padding: Buffer.alloc(TOO_LONG) }, signal)).rejects.toMatchObject({
      kind: 'ResourceExhausted',
    });
    expect((await client.call(VERSION, {}, signal)).runtimeName).toBe('containerd');
  });

  test('asks one that has stopped, and leaves nothing behind', async () => {
    const connections = new Connections();
    await connections.of(() => anew().call(VERSION, {}, signal));
    await containerd.pause();
    try {
      for (let i = 0; i < 5; i += 1) {
        const abort = new AbortController();
        const pending = connections.of(() => client.call(VERSION, {}, abort.signal));
        abort.abort(new Error('enough'));
        await expect(pending).rejects.toMatchObject({ kind: 'Canceled' });
      }
      await waitFor(() => connections.open === 0, { what: 'the connections to end' });
      expect(connections.opened).toBe(5);
    } finally {
      containerd.resume();
    }
    expect((await client.call(VERSION, {}, signal)).runtimeName).toBe('containerd');
  });

  test('holds one connection for many questions', async () => {
    const connections = new Connections();
    anew();
    for (let i = 0; i < 200; i += 1) await connections.of(() => client.call(VERSION, {}, signal));
    expect(connections.opened).toBe(1);
  });
});
