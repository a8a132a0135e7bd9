import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { topNode, topPods } from '../../../src/commands/client/top.ts';
import { answerJSON } from '../../../src/agent/server/routes/route.ts';
import { OWN_CPUS_ANNOTATION } from '../../../src/agent/server/routes/local-routes.ts';
import type { Summary } from '../../../src/types/stats.ts';
import { type OwnerSocket, ownerSocket } from '../../support/owner-socket.ts';

const MIB = 1024 * 1024;
const usage = (milli: number, mebibytes: number) => ({
  cpu: { usageNanoCores: milli * 1e6 },
  memory: { workingSetBytes: mebibytes * MIB + 1000 },
});
const pod = (name: string, namespace: string, containers: Summary['pods'][number]['containers'] = []) => ({
  podRef: { name, namespace, uid: name },
  ...usage(999, 999),
  containers,
});
const SUMMARY: Summary = {
  node: { nodeName: 'node-a', ...usage(500, 1024) },
  pods: [
    pod('web-node-a', 'default', [
      { name: 'main', ...usage(10, 20) },
      { name: 'side', ...usage(0.2, 5) },
    ]),
    pod('new-node-a', 'default', [{ name: 'main' }]),
    pod('proxy-node-a', 'kube-system', [{ name: 'main', ...usage(100, 1) }]),
    pod('empty', 'default'),
  ],
};
const NODE = { kind: 'Node', status: { allocatable: { cpu: '1800m', memory: '4Gi' } } };
const GPUS = {
  name: 'main',
  image: '',
  imageID: '',
  ready: true,
  restartCount: 0,
  allocatedResourcesStatus: [
    { name: 'example.com/gpu', resources: [{ resourceID: '1' }, { resourceID: '2' }] },
  ],
};
const HOLDERS = [
  {
    metadata: {
      name: 'gpus',
      namespace: 'shop',
      uid: 'gpus',
      annotations: { [OWN_CPUS_ANNOTATION]: '2-3' },
    },
    spec: { containers: [] },
    status: { containerStatuses: [GPUS] },
  },
  {
    metadata: { name: 'grows', namespace: 'shop', uid: 'grows' },
    spec: { containers: [] },
    status: { conditions: [{ type: 'PodResizeInProgress', status: 'True' }] },
  },
];

let asked: string[];
/** Before the usual one. */
let answers: Summary[];
let socket: OwnerSocket;
beforeEach(async () => {
  asked = [];
  answers = [];
  socket = await ownerSocket(
    [
      {
        path: '/stats/summary',
        handle: ({ query }, response) => {
          asked.push(query);
          answerJSON(response, answers.shift() ?? SUMMARY);
        },
      },
      { path: '/node', handle: (_, response) => answerJSON(response, NODE) },
    ],
    [
      {
        metadata: {
          name: 'proxy-node-a',
          namespace: 'kube-system',
          uid: 'proxy-node-a',
          labels: { app: 'proxy' },
        },
        spec: { containers: [] },
      },
      ...HOLDERS,
    ],
  );
});
afterEach(async () => socket.close());

const lines = (...text: string[]) => `${text.join('\n')}\n`;

describe('pods', () => {
  const top = (flags = {}, name?: string) => topPods(name, { ...flags, rootDir: socket.rootDir });

  test('are those with the labels that are asked for', async () => {
    expect(await top({ selector: 'app=proxy', headers: false })).toMatch(/^kube-system +proxy-node-a .*\n$/u);
    expect(await top({ selector: 'app=none' })).toBe('No pods with figures.\n');
  });

  test('have the sums of their containers; only CPU and memory are measured for them', async () => {
    expect(await top()).toBe(
      lines(
        'NAMESPACE     NAME           CPU(cores)   MEMORY(bytes)',
        'default       new-node-a     <unknown>    <unknown>',
        'default       web-node-a     11m          25Mi',
        'kube-system   proxy-node-a   100m         1Mi',
      ),
    );
    expect(asked).toEqual(['only_cpu_and_memory=true']);
  });

  test('of one namespace, with the largest first, and their sum', async () => {
    expect(await top({ namespace: 'default', sortBy: 'cpu', sum: true })).toBe(
      lines(
        'NAME         CPU(cores)   MEMORY(bytes)',
        'web-node-a   11m          25Mi',
        'new-node-a   <unknown>    <unknown>',
        'total        11m          25Mi',
      ),
    );
  });

  test('one of them, by its containers, without heading', async () => {
    expect(await top({ containers: true, headers: false }, 'web')).toBe(
      lines('default   web-node-a   main   10m   20Mi', 'default   web-node-a   side   1m    5Mi'),
    );
    expect(await top({}, 'kube-system/proxy')).toContain('proxy-node-a');
  });

  test('have what they alone hold, and a resize, in columns that are there only for such pods', async () => {
    const shop = ['gpus', 'grows', 'other'].map((name) =>
      pod(name, 'shop', [{ name: 'main', ...usage(1, 1) }]),
    );
    answers.push({ ...SUMMARY, pods: shop }, { ...SUMMARY, pods: shop });
    expect(await top({ namespace: 'shop', sum: true })).toBe(
      lines(
        'NAME    CPU(cores)   MEMORY(bytes)   CPUS   DEVICES             RESIZE',
        'gpus    1m           1Mi             2-3    example.com/gpu=2',
        'grows   1m           1Mi                                        InProgress',
        'other   1m           1Mi',
        'total   3m           3Mi',
      ),
    );
    expect(await top({ namespace: 'shop', headers: false }, 'grows')).toBe(
      lines('grows   1m   1Mi   InProgress'),
    );
  });

  test('a missing one is reported', async () => {
    await expect(top({}, 'nope')).rejects.toMatchObject({ kind: 'NotFound' });
    expect(await top({ namespace: 'nope' })).toBe('No pods with figures.\n');
  });
});

describe('what has been measured only once', () => {
  const first = { cpu: { usageCoreNanoSeconds: 5 }, memory: { workingSetBytes: MIB } };

  test('is measured again, so that there is a rate of CPU time', async () => {
    answers.push({
      node: { nodeName: 'node-a' },
      pods: [pod('web', 'default', [{ name: 'main', ...first }])],
    });
    expect(await topPods('web', { rootDir: socket.rootDir, headers: false })).toBe(
      lines('default   web-node-a   11m   25Mi'),
    );
    answers.push({ node: { nodeName: 'node-a', ...first }, pods: [] });
    expect(await topNode({ rootDir: socket.rootDir })).toContain('500m');
    expect(asked).toHaveLength(4);
  });

  test('is not waited for where it is not shown', async () => {
    answers.push({ ...SUMMARY, node: { nodeName: 'node-a', ...first } });
    await topPods('web', { rootDir: socket.rootDir });
    expect(asked).toHaveLength(1);
  });
});

test('the node has its share of what pods may use', async () => {
  expect(await topNode({ rootDir: socket.rootDir })).toBe(
    lines(
      'NAME     CPU(cores)   CPU(%)   MEMORY(bytes)   MEMORY(%)',
      'node-a   500m         27%      1024Mi          25%',
    ),
  );
});
