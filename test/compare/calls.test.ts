import { describe, expect, test } from '@jest/globals';
import { countsOf, podCalls, requests, sequence, splitAt } from '../../scripts/compare/calls.ts';
import { decodeMessage } from '../../scripts/compare/cri-messages.ts';
import type { RecordedCall } from '../../scripts/compare/recording-proxy.ts';
import * as methods from '../../src/agent/runtime/cri/messages/methods.ts';
import type { Method } from '../../src/system/grpc/method.ts';

interface Times {
  readonly atMs?: number;
  readonly endMs?: number;
  readonly code?: number;
}

/** A call as Statelet's own codec writes it: the description under test is another one. */
function call<Q, A>(
  { path, request: asked, response: answered }: Method<Q, A>,
  { request, response }: { request: Q; response: A },
  { atMs = 0, endMs = atMs + 1, code = 0 }: Times = {},
): RecordedCall {
  return { path, atMs, endMs, code, request: asked.encode(request), response: answered.encode(response) };
}

const metadata = { name: 'a', uid: 'u', namespace: 'default', attempt: 0 };
const sandboxConfig = { metadata, logDirectory: '/logs', labels: { app: 'x' }, annotations: {} };
const runSandbox = call(
  methods.RUN_POD_SANDBOX,
  { request: { config: sandboxConfig }, response: { podSandboxId: 'sandbox' } },
  { atMs: 1 },
);

function create(name: string, attempt: number, atMs: number): RecordedCall {
  const config = {
    metadata: { name, attempt },
    image: { image: 'i', userSpecifiedImage: 'i' },
    command: [],
    args: [],
    workingDir: '',
    envs: [],
    mounts: [],
    devices: [],
    labels: {},
    annotations: {},
    logPath: '',
    stdin: false,
    stdinOnce: false,
    tty: false,
  };
  return call(
    methods.CREATE_CONTAINER,
    {
      request: { podSandboxId: 'sandbox', config, sandboxConfig },
      response: { containerId: `${name}-${attempt}` },
    },
    { atMs },
  );
}

const start = (id: string, atMs: number, code = 0) =>
  call(methods.START_CONTAINER, { request: { containerId: id }, response: {} }, { atMs, code });
const stop = (id: string, atMs: number, endMs: number) =>
  call(methods.STOP_CONTAINER, { request: { containerId: id, timeout: 2 }, response: {} }, { atMs, endMs });

describe('calls that were recorded', () => {
  test('belong to the pod that they name, or for which their container was made', () => {
    const found = podCalls([runSandbox, create('main', 0, 2), start('main-0', 3), start('unknown', 4)]);
    expect(found.map(({ pod, method, container }) => [pod, method, container])).toEqual([
      ['default/a', 'RunPodSandbox', ''],
      ['default/a', 'CreateContainer', 'main/0'],
      ['default/a', 'StartContainer', 'main/0'],
    ]);
  });

  test('make a sequence in which what is tried again stands once, with how it failed', () => {
    const calls = [runSandbox, create('main', 0, 2), start('main-0', 3, 2), start('main-0', 4, 2)];
    expect(sequence(podCalls(calls))).toEqual([
      'RunPodSandbox',
      'CreateContainer main/0',
      'StartContainer main/0 fails with code 2',
    ]);
  });

  test('have the order of the alphabet where they go on at the same time, and their own where they do not', () => {
    const both = [runSandbox, create('b', 0, 2), create('a', 0, 4)];
    const ends = (first: RecordedCall, second: RecordedCall) =>
      sequence(podCalls([...both, first, second])).slice(3);
    expect(ends(stop('b-0', 10, 20), stop('a-0', 15, 18))).toEqual([
      'StopContainer a/0 timeout 2',
      'StopContainer b/0 timeout 2',
    ]);
    expect(ends(stop('b-0', 10, 20), stop('a-0', 21, 22))).toEqual([
      'StopContainer b/0 timeout 2',
      'StopContainer a/0 timeout 2',
    ]);
  });

  test('leave out later restarts, of which there are more the longer one waits', () => {
    const calls = [runSandbox, create('main', 1, 2), create('main', 2, 3)];
    expect(sequence(podCalls(calls))).toEqual(['RunPodSandbox', 'CreateContainer main/1']);
    expect(Object.keys(requests(podCalls(calls)).containers)).toEqual(['main/1']);
  });

  test('are split at the end of the pod, without the probe that runs at that moment', () => {
    const probe = (command: string, times: Times) =>
      call(
        methods.EXEC_SYNC,
        {
          request: { containerId: 'main-0', cmd: [command], timeout: 1 },
          response: { stdout: Buffer.alloc(0), stderr: Buffer.alloc(0), exitCode: 0 },
        },
        times,
      );
    const before = [runSandbox, create('main', 0, 2), probe('ready', { atMs: 3, endMs: 4, code: 4 })];
    const met = probe('ready', { atMs: 9, endMs: 12 });
    const after = [probe('ready', { atMs: 13 }), probe('hook', { atMs: 14 }), stop('main-0', 15, 16)];
    const { starts, ends } = splitAt(podCalls([...before, met, ...after]), 10);
    expect(sequence(starts).at(-1)).toBe('ExecSync main/0 ["ready"] fails with code 4');
    expect(sequence(ends)).toEqual(['ExecSync main/0 ["hook"]', 'StopContainer main/0 timeout 2']);
  });

  test('are without the end of a container that is started again and again', () => {
    const calls = [runSandbox, create('main', 0, 2), create('good', 0, 3), stop('main-0', 11, 12)];
    const { ends } = splitAt(podCalls([...calls, stop('good-0', 13, 14)]), 10, new Set(['main']));
    expect(sequence(ends)).toEqual(['StopContainer good/0 timeout 2']);
  });

  test('give what was asked for, by what it was asked for', () => {
    const found = requests(podCalls([runSandbox, create('main', 0, 2)]));
    expect(found.sandboxes).toMatchObject({
      0: { config: { log_directory: '/logs', labels: { app: 'x' } } },
    });
    expect(found.containers).toMatchObject({ 'main/0': { metadata: { name: 'main' } } });
  });

  test('are counted by method, the most frequent first', () => {
    const counts = countsOf([runSandbox, start('a', 1), start('b', 2)]);
    expect(Object.entries(counts)).toEqual([
      ['StartContainer', 2],
      ['RunPodSandbox', 1],
    ]);
  });
});

describe('decoding a request', () => {
  test('names by number the fields that the description lacks, wherever they are', () => {
    // 99 in the request, and 98 in its config.
    const unknown = Buffer.from([0x9a, 0x06, 0x01, 0x78]);
    const config = Buffer.from([0x92, 0x06, 0x01, 0x78]);
    const request = Buffer.concat([Buffer.from([0x0a, config.length]), config, unknown]);
    expect(decodeMessage('RunPodSandboxRequest', request)).toEqual({
      config: {},
      'fields that compare does not know': ['config.98', '99'],
    });
  });

  test('reads a map without taking its entries for unknown', () => {
    const request = methods.RUN_POD_SANDBOX.request.encode({ config: sandboxConfig });
    expect(decodeMessage('RunPodSandboxRequest', request)).not.toHaveProperty(
      'fields that compare does not know',
    );
  });
});
