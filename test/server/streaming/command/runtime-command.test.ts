import { afterEach, expect, test } from '@jest/globals';
import type { CommandStreams } from '../../../../src/runtime/service/streaming-runtime.ts';
import { exitStatus } from '../../../../src/server/streaming/command/command-status.ts';
import {
  openRuntimeCommand,
  reachRuntime,
} from '../../../../src/server/streaming/command/runtime-command.ts';
import { SpdyConnection } from '../../../../src/server/streaming/spdy/spdy-connection.ts';
import { GoRuntime, type OpenedStreams, writeAll } from '../../../support/go-runtime.ts';
import { socketPair } from '../../../support/socket-pair.ts';
import { distinctBytes, hashOf, readSlowly } from '../../../support/slow-reader.ts';

const OUTPUT = distinctBytes(2_000_001);
const ERRORS = distinctBytes(300_003);
const SELECTED = { stdin: true, stdout: true, stderr: true, tty: false };

let runtime: GoRuntime | undefined;
let command: CommandStreams | undefined;
afterEach(() => {
  command?.abandon();
  runtime?.close();
});

async function commandOf(serve: (opened: OpenedStreams) => Promise<void>): Promise<CommandStreams> {
  runtime = await GoRuntime.open(4, serve);
  const socket = await reachRuntime(runtime.url, new AbortController().signal);
  return (command = openRuntimeCommand(socket, SELECTED));
}

const outcome = (opened: OpenedStreams) =>
  writeAll(opened.get('error'), Buffer.from(JSON.stringify(exitStatus(9))));

async function output(opened: OpenedStreams): Promise<void> {
  await Promise.all([writeAll(opened.get('stdout'), OUTPUT), writeAll(opened.get('stderr'), ERRORS)]);
}

test.each([
  ['ends its streams before it tells the outcome', 'first'],
  ['leaves the end of its streams to the end of the connection', 'never'],
  ['ends its streams after the outcome', 'last'],
] as const)('a slow reader gets all of the output of a runtime that %s', async (_, ends) => {
  const end = (opened: OpenedStreams) => ['stdout', 'stderr'].map((type) => opened.get(type)?.end());
  const { stdout, stderr, exit } = await commandOf(async (opened) => {
    await output(opened);
    if (ends === 'first') end(opened);
    await outcome(opened);
    if (ends === 'last') end(opened);
  });
  const read = Promise.all([readSlowly(stdout!, 4), readSlowly(stderr!, 1)]);
  expect(await exit).toBe(9);
  expect(await read).toEqual([
    { bytes: OUTPUT.length, hash: hashOf(OUTPUT) },
    { bytes: ERRORS.length, hash: hashOf(ERRORS) },
  ]);
});

test('a slow reader gets also what comes after the outcome', async () => {
  const { stdout, stderr, exit } = await commandOf(async (opened) => {
    const written = output(opened);
    await outcome(opened);
    await written;
  });
  const read = Promise.all([readSlowly(stdout!, 4), readSlowly(stderr!, 1)]);
  expect(await exit).toBe(9);
  expect((await read).map(({ bytes }) => bytes)).toEqual([OUTPUT.length, ERRORS.length]);
});

test('input that nobody reads any more does not take the output away', async () => {
  const { stdin, stdout, stderr, exit } = await commandOf(async (opened) => {
    await output(opened);
    await outcome(opened);
  });
  const read = Promise.all([readSlowly(stdout!, 4), readSlowly(stderr!, 1)]);
  await exit;
  stdin!.write('typed');
  stdin!.end(Buffer.alloc(100_000));
  expect((await read).map(({ bytes }) => bytes)).toEqual([OUTPUT.length, ERRORS.length]);
});

test('the outcome of a runtime that does not end the stream of the outcome is known', async () => {
  const { stdout, stderr, exit } = await commandOf(async (opened) => {
    await outcome(opened);
    await new Promise<void>(() => undefined);
  });
  stdout!.resume();
  stderr!.resume();
  expect(await exit).toBe(9);
});

test('a client that is gone at once leaves after the runtime has answered all of its streams', async () => {
  const [near, far] = await socketPair();
  const left = openRuntimeCommand(near, SELECTED);
  const exit = left.exit.catch((error: unknown) => error);
  left.abandon();
  const answered: string[] = [];
  const connection = new SpdyConnection(far, {
    side: 'server',
    onStream: (stream) => void answered.push(stream.headers.get('streamtype') ?? ''),
  });
  await connection.closed;
  expect(await exit).toMatchObject({ kind: 'Unavailable' });
  expect(answered).toEqual(['error', 'stdin', 'stdout', 'stderr']);
});
