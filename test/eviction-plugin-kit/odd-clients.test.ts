/** Whatever connects to the socket of a plugin, and whatever it sends: the plugin goes on answering others. */
import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { status } from '@grpc/grpc-js';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { RunningEvictionPlugin } from '../../src/eviction-plugin-kit/eviction-plugin-kit.ts';
import {
  EVICTION_PLUGIN_SERVICE,
  REGISTRATION_SERVICE,
} from '../../src/agent/plugins/protocol/service-methods.ts';
import { KitBed } from '../support/kit-bed.ts';
import { testPod } from '../support/pods.ts';

const { getEvictPods } = EVICTION_PLUGIN_SERVICE;
const { getInfo } = REGISTRATION_SERVICE;
const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';
/** Type, flags and stream of a frame of HTTP/2, with its length before them. */
function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}
const SETTINGS = frame(4, 0, 0, Buffer.alloc(0));

let bed: KitBed;
let plugin: RunningEvictionPlugin;
beforeAll(async () => {
  bed = new KitBed();
  plugin = await bed.start({
    evictPods: ({ activePods: [pod] }) => pod && { evictPods: [{ pod, reason: 'the first' }] },
  });
});
afterAll(async () => bed.cleanUp());

/** A client of its own each time: what one connection suffers concerns no other. */
async function answersStill(): Promise<void> {
  const client = bed.connect(plugin);
  const { evictPods } = await client.ask(getEvictPods, { activePods: [testPod()] });
  expect(evictPods).toMatchObject([{ reason: 'the first' }]);
  client.close();
}

const noise = Buffer.from(Array.from({ length: 5000 }, (_, i) => (i * 7919 + (i >> 3) * 104_729) % 256));
const RAW: readonly (readonly [string, (socket: Socket) => void])[] = [
  ['connects and goes', (socket) => socket.destroy()],
  ['connects and ends its side', (socket) => socket.end()],
  ['sends noise', (socket) => socket.write(noise)],
  ['speaks HTTP/1', (socket) => socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n')],
  ['sends half of the preface', (socket) => socket.end(PREFACE.slice(0, 10))],
  ['sends noise after the preface', (socket) => socket.write(Buffer.concat([Buffer.from(PREFACE), noise]))],
  [
    'sends a frame that is longer than any may be',
    (socket) => socket.write(Buffer.concat([Buffer.from(PREFACE), SETTINGS, Buffer.alloc(9, 0xff)])),
  ],
  [
    'sends data for a stream that it has not opened',
    (socket) =>
      socket.write(Buffer.concat([Buffer.from(PREFACE), SETTINGS, frame(0, 1, 7, Buffer.from('data'))])),
  ],
  [
    'sends headers that cannot be read',
    (socket) =>
      socket.write(Buffer.concat([Buffer.from(PREFACE), SETTINGS, frame(1, 5, 1, noise.subarray(0, 99))])),
  ],
];

test.each(RAW)('a client that %s', async (_what, act) => {
  const socket = connect(plugin.socket);
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  act(socket);
  await answersStill();
  socket.destroy();
});

interface Reply {
  readonly httpStatus: number;
  /** Undefined where the stream was cut. */
  readonly grpcStatus: number | undefined;
}

/** Sends a body that is not checked, as the request of that path. */
async function post(path: string, body: Buffer, headers: Record<string, string> = {}): Promise<Reply> {
  const session = connectHttp2('http://localhost', { createConnection: () => connect(plugin.socket) });
  session.on('error', () => undefined);
  const fixed = { ':method': 'POST', 'content-type': 'application/grpc', te: 'trailers' };
  const stream = session.request({ ...fixed, ':path': path, ...headers });
  stream.on('error', () => undefined);
  let httpStatus = 0;
  let grpcStatus: number | undefined;
  const take = (given: Record<string, unknown>) => {
    httpStatus = Number(given[':status'] ?? httpStatus);
    if (given['grpc-status'] !== undefined) grpcStatus = Number(given['grpc-status']);
  };
  stream.on('response', take).on('trailers', take).resume();
  stream.end(body);
  await once(stream, 'close');
  session.destroy();
  return { httpStatus, grpcStatus };
}

function framed(message: Buffer, length = message.length, compressed = 0): Buffer {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt8(compressed);
  prefix.writeUInt32BE(length, 1);
  return Buffer.concat([prefix, message]);
}

const ASK = getEvictPods.path;
/** Field 1, and a length that is not kept. */
const BROKEN = Buffer.from([0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x0a]);

test.each<[string, string, Buffer, Record<string, string>, Partial<Reply>]>([
  ['noise as message', ASK, framed(noise), {}, { grpcStatus: status.INTERNAL }],
  ['a pod that is longer than the message', ASK, framed(BROKEN), {}, { grpcStatus: status.INTERNAL }],
  ['nothing at all', ASK, Buffer.alloc(0), {}, {}],
  ['half a message', ASK, framed(Buffer.from('half'), 1000), {}, {}],
  [
    'a message that says that it has 4 GiB',
    ASK,
    framed(noise, 0xffffffff),
    {},
    { grpcStatus: status.RESOURCE_EXHAUSTED },
  ],
  ['a message that says that it is compressed', ASK, framed(noise, noise.length, 1), {}, {}],
  [
    'a compression that there is not',
    ASK,
    framed(noise, noise.length, 1),
    { 'grpc-encoding': 'odd' },
    { grpcStatus: status.UNIMPLEMENTED },
  ],
  [
    'two messages for one question',
    ASK,
    Buffer.concat([framed(Buffer.alloc(0)), framed(Buffer.alloc(0))]),
    {},
    {},
  ],
  [
    'a method that there is not',
    '/evictionplugin.v1alpha1.EvictionPlugin/Other',
    framed(Buffer.alloc(0)),
    {},
    { grpcStatus: status.UNIMPLEMENTED },
  ],
  ['a deadline that cannot be read', ASK, framed(Buffer.alloc(0)), { 'grpc-timeout': 'soon' }, {}],
  [
    'another content type',
    ASK,
    framed(Buffer.alloc(0)),
    { 'content-type': 'text/plain' },
    { httpStatus: 415 },
  ],
])('a request with %s', async (_what, path, body, headers, wanted) => {
  expect(await post(path, body, headers)).toMatchObject(wanted);
  await answersStill();
});

test('an empty message is a question without pods', async () => {
  expect(await post(ASK, framed(Buffer.alloc(0)))).toEqual({ httpStatus: 200, grpcStatus: status.OK });
});

test('a client that asks and goes, a hundred times', async () => {
  const clients = Array.from({ length: 100 }, () => {
    const socket = connect(plugin.socket);
    socket.on('error', () => undefined);
    socket.write(Buffer.concat([Buffer.from(PREFACE), SETTINGS]));
    return socket;
  });
  await Promise.all(clients.map(async (socket) => once(socket, 'data')));
  for (const socket of clients) socket.destroy();
  await answersStill();
  expect(await bed.connect(plugin).ask(getInfo, {})).toMatchObject({ name: 'chooser' });
});
