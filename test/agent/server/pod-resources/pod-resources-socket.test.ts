/** The PodResources API as its clients use it: grpc-js, and clients that mean no good. */
import { once } from 'node:events';
import { connect } from 'node:http2';
import { createConnection, type Socket } from 'node:net';
import { lstatSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, credentials, type ServiceError } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import {
  GET,
  GET_ALLOCATABLE,
  LIST,
  LIST_ALPHA,
} from '../../../../src/agent/server/pod-resources/pod-resources-messages.ts';
import { PodResourcesSocket } from '../../../../src/agent/server/pod-resources/pod-resources-socket.ts';
import type { Method } from '../../../../src/system/grpc/method.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import type { HeldClaim, HeldResources } from '../../../../src/types/pod-resources.ts';
import { apiPod } from '../../../support/agent.ts';
import { only } from '../../../../src/agent/policies/formats/canonical-json.ts';
import { RecordedMeasurements } from '../../../support/recorded-measurements.ts';
import { testContext } from '../../../support/test-context.ts';

const GPU = { resourceName: 'example.com/gpu', deviceIDs: ['gpu-1', 'gpu-2'], numaNodes: [1] };
const HELD: HeldResources = {
  devices: [GPU, { resourceName: 'example.com/nic', deviceIDs: ['nic'] }],
  cpuIDs: [2, 3],
  memory: [{ memoryType: 'memory', sizeBytes: 2 ** 40, numaNodes: [1] }],
};
const DEVICE = { pool: 'pool-1', device: 'gpu-0', shareId: '', cdiIds: ['example.com/gpu=0'] };
const CLAIM: HeldClaim = { name: 'shared', namespace: 'default', drivers: { 'gpu.example.com': [DEVICE] } };
const NOTHING: HeldResources = { devices: [], cpuIDs: [], memory: [] };

let rootDir: string;
let socket: PodResourcesSocket;
let measurements: RecordedMeasurements;
let nowMs: number;
let clients: Client[];

const sidecar = { name: 'sidecar', image: 'a', restartPolicy: 'Always' } as const;
const WEB: Pod = apiPod('web', 'uid-web', {
  initContainers: [{ name: 'setup', image: 'a' }, sidecar],
  containers: [{ name: 'main', image: 'a' }],
});
const OLD = apiPod('old', 'uid-old', { containers: [{ name: 'main', image: 'a' }] });

beforeEach(async () => {
  rootDir = await mkdtemp(join(tmpdir(), 'pod-resources-'));
  measurements = new RecordedMeasurements();
  nowMs = 0;
  clients = [];
  const { logger } = testContext();
  socket = new PodResourcesSocket(logger, () => ({
    activePods: () => [WEB],
    pods: () => [WEB, OLD],
    pod: (namespace, name) =>
      [WEB, OLD].find(({ metadata: m }) => m.namespace === namespace && m.name === name),
    holders: {
      ofContainer: (pod, { name }) =>
        pod === WEB && name === 'main' ? { ...HELD, claims: [CLAIM] } : { ...NOTHING, claims: [] },
      allocatable: () => HELD,
    },
    measurements: measurements.podResources,
    now: () => nowMs,
  }));
  await socket.listen(rootDir);
});

afterEach(async () => {
  for (const client of clients) client.close();
  await socket.close();
  await rm(rootDir, { recursive: true });
});

const path = () => join(rootDir, 'pod-resources/kubelet.sock');

function client(): Client {
  const made = new Client(`unix:${path()}`, credentials.createInsecure());
  clients.push(made);
  return made;
}

function ask<Q, A>(method: Method<Q, A>, request: Q, by = client()): Promise<A> {
  return new Promise((resolve, reject) => {
    const { encode } = method.request;
    by.makeUnaryRequest(method.path, encode, method.response.decode, request, (error, answer) =>
      error ? reject(error) : resolve(answer as A),
    );
  });
}

const errorOf = (asked: Promise<unknown>) =>
  asked.then(
    () => undefined,
    (error: unknown) => only(error as ServiceError, ['code', 'details']),
  );

describe('a client', () => {
  test('gets the resources of containers of active pods: of sidecars too, of other init containers not', async () => {
    expect(await ask(LIST, {})).toMatchObject({
      podResources: [
        {
          name: 'web',
          namespace: 'default',
          containers: [
            { name: 'sidecar', devices: [], cpuIDs: [], memory: [] },
            {
              name: 'main',
              devices: ['gpu', 'gpu', 'nic'].map(
                (name) => expect.objectContaining({ resourceName: `example.com/${name}` }) as unknown,
              ),
              cpuIDs: [2, 3],
              memory: [{ memoryType: 'memory', size: 2 ** 40, topology: { nodes: [{ ID: 1 }] } }],
              dynamicResources: [
                {
                  claimName: 'shared',
                  claimNamespace: 'default',
                  claimResources: [
                    {
                      driverName: 'gpu.example.com',
                      poolName: 'pool-1',
                      deviceName: 'gpu-0',
                      shareId: '',
                      cdiDevices: [{ name: 'example.com/gpu=0' }],
                    },
                  ],
                },
              ],
            },
          ],
        },
      ],
    });
    expect(measurements.told).toEqual(['v1 list']);
  });

  test('gets one pod, also one that has ended, and an error for an unknown name', async () => {
    const found = await ask(GET, { podName: 'old', podNamespace: 'default' });
    expect(found.podResources).toMatchObject({ name: 'old', containers: [{ name: 'main' }] });
    expect(await errorOf(ask(GET, { podName: 'none', podNamespace: 'x' }))).toEqual({
      code: 2,
      details: 'pod none in namespace x not found',
    });
    expect(measurements.told).toEqual(['v1 get', 'v1 get', 'v1 get fails']);
  });

  test('gets the allocatable resources of the node', async () => {
    const { devices, cpuIDs, memory } = await ask(GET_ALLOCATABLE, {});
    expect(devices.map(({ deviceIDs, topology }) => [deviceIDs, topology])).toEqual([
      [['gpu-1'], { nodes: [{ ID: 1 }] }],
      [['gpu-2'], { nodes: [{ ID: 1 }] }],
      [['nic'], undefined],
    ]);
    expect([cpuIDs, memory.length]).toEqual([[2, 3], 1]);
  });

  test('of v1alpha1 gets the devices of all pods, without topology', async () => {
    const { podResources } = await ask(LIST_ALPHA, {});
    expect(podResources.map(({ name }) => name)).toEqual(['web', 'old']);
    expect(podResources[0]?.containers).toMatchObject([
      {
        name: 'main',
        devices: [{ resourceName: 'example.com/gpu', topology: undefined }, {}, {}],
        cpuIDs: [],
      },
    ]);
  });

  test('that sends requests too often is refused, until time has passed', async () => {
    const by = client();
    const asked = await Promise.all(Array.from({ length: 12 }, () => errorOf(ask(LIST, {}, by))));
    const refused = { code: 8, details: 'rejected by rate limit' };
    expect(asked.filter(Boolean)).toEqual([refused, refused]);
    nowMs += 10;
    expect([await errorOf(ask(LIST, {}, by)), await errorOf(ask(LIST, {}, by))]).toEqual([
      undefined,
      refused,
    ]);
  });

  test('that calls a missing method gets Unimplemented', async () => {
    const unknown = { ...LIST, path: '/v1.PodResourcesLister/Unknown' };
    expect(await errorOf(ask(unknown, {}))).toMatchObject({ code: 12 });
  });

  test('that sends more than a request may have is refused, and others are not', async () => {
    const huge = 'x'.repeat(1024 * 1024);
    expect(await errorOf(ask(GET, { podName: huge, podNamespace: '' }))).toBeDefined();
    expect(await errorOf(ask(LIST, {}))).toBeUndefined();
  });

  test('that does not read its answers delays no other client', async () => {
    const createOwn = () => createConnection(path());
    const stuck = connect('http://localhost', {
      createConnection: createOwn,
      settings: { initialWindowSize: 0 },
    });
    stuck.on('error', () => undefined);
    const begun = Array.from({ length: 8 }, async () => {
      const asked = stuck.request({ ':method': 'POST', ':path': LIST.path, te: 'trailers' });
      asked.on('error', () => undefined).end(Buffer.alloc(5));
      await once(asked, 'response');
    });
    await Promise.all(begun);
    expect(await errorOf(ask(LIST, {}))).toBeUndefined();
    stuck.destroy();
  });

  test('that speaks no gRPC is disconnected, and idle clients do not keep others out', async () => {
    const idle: Socket[] = [];
    for (let count = 0; count < 60; count++) {
      const one = createConnection(path());
      one.on('error', () => undefined).on('close', () => undefined);
      await new Promise((resolve) => one.once('connect', resolve));
      if (count % 2 === 0) one.write('GET / HTTP/1.1\r\n\r\n');
      idle.push(one);
    }
    expect(await errorOf(ask(LIST, {}))).toBeUndefined();
    for (const one of idle) one.destroy();
  });
});

test('the socket can be reached by its owner alone, and is gone when the daemon has stopped', async () => {
  expect((lstatSync(join(rootDir, 'pod-resources')).mode & 0o777).toString(8)).toBe('750');
  expect(lstatSync(path()).isSocket()).toBe(true);
  await socket.close();
  expect(lstatSync(path(), { throwIfNoEntry: false })).toBeUndefined();
});

test('the socket is gone also when the agent has stopped before it listened', async () => {
  await socket.close();
  const listening = socket.listen(rootDir);
  await socket.close();
  await listening;
  expect(lstatSync(path(), { throwIfNoEntry: false })).toBeUndefined();
});
