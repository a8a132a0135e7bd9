import { resolve } from 'node:path';
import { expect, test } from '@jest/globals';
import { DEFAULT_PLAN, parseHollowPlan } from '../../../src/hollow/plan/hollow-plan.ts';

const parse = (text: string) => parseHollowPlan(text, 'plan.yaml');

test('an empty plan is one in which nothing happens', () => {
  expect(parse('')).toEqual(DEFAULT_PLAN);
  expect(DEFAULT_PLAN).toMatchObject({ callFailures: 0, crashes: { share: 0 }, deaths: undefined });
});

test('a plan says what nodes are like and what happens on them', () => {
  const plan = parse(`
seed: 7
names: pool-a-
labels: { pool: a }
taints: [{ key: hollow, value: "yes", effect: NoSchedule }]
capacity: { cpu: 4, memory: 8Gi, example.com/gpu: "2" }
calls: { PullImage: [2s, 1m], RunPodSandbox: 500ms }
callFailures: 0.01
crashes: { share: 0.1, after: [10s, 5m], exitCode: 3 }
outOfMemory: { share: 0.2 }
probeFailures: { share: 0.05, window: 30s }
cpu: { uses: [0.2] }
memory: { uses: [0.5], growing: 0.25, perSecond: 4Mi }
disk: { uses: [0.1], growing: 1 }
deaths: { every: [30m, 2h], down: 90s }
staticPodPath: manifests
csiDrivers: [{ name: disks.csi.test, maxVolumes: 9, calls: { NodeStageVolume: 2s }, attacher: false, resizer: false }]
devicePlugins: [{ resourceName: example.com/nic, devices: 4, failures: { every: [1h, 2h] } }]
numaNodes: 2
cpuManagerPolicy: static
memoryManagerPolicy: Static
topologyManagerPolicy: restricted
draDrivers: [{ name: gpus.dra.test, devices: 2, attributes: { model: a, fast: true, index: 3 }, capacity: { memory: 1Gi } }]
`);
  expect(plan).toMatchObject({
    seed: 7,
    names: 'pool-a-',
    labels: { pool: 'a' },
    taints: [{ key: 'hollow', value: 'yes', effect: 'NoSchedule' }],
    capacity: { cpu: '4', memory: '8Gi', pods: '110', 'example.com/gpu': '2' },
    callFailures: 0.01,
    crashes: { share: 0.1, afterMs: [10_000, 300_000], exitCode: 3 },
    outOfMemory: { share: 0.2, exitCode: 137 },
    probeFailures: { share: 0.05, windowMs: 30_000 },
    cpu: { uses: [0.2] },
    memory: { uses: [0.5], growing: 0.25, bytesPerSecond: 4 * 2 ** 20 },
    disk: { uses: [0.1], growing: 1, bytesPerSecond: 2 ** 20 },
    deaths: { everyMs: [1_800_000, 7_200_000], downMs: [90_000, 90_000] },
    staticPodPath: resolve('manifests'),
    csiDrivers: [
      {
        name: 'disks.csi.test',
        isStaging: true,
        maxVolumes: 9,
        callFailures: 0,
        isAttaching: false,
        isResizing: false,
      },
    ],
  });
  expect(plan.devicePlugins).toEqual([
    {
      resourceName: 'example.com/nic',
      devices: 4,
      calls: { Allocate: [20, 100] },
      callFailures: 0,
      failures: { everyMs: [3_600_000, 7_200_000], downMs: [60_000, 600_000] },
    },
  ]);
  expect(plan.managers).toEqual({
    numaNodes: 2,
    cpuManagerPolicy: 'static',
    reservedSystemCPUs: [0],
    memoryManagerPolicy: 'Static',
    topologyManagerPolicy: 'restricted',
    topologyManagerScope: 'container',
  });
  expect(plan.draDrivers).toMatchObject([
    {
      name: 'gpus.dra.test',
      devices: 2,
      attributes: { model: { string: 'a' }, fast: { bool: true }, index: { int: 3 } },
      capacity: { memory: { value: '1Gi' } },
    },
  ]);
  expect(plan.csiDrivers[0]?.calls).toMatchObject({
    NodeStageVolume: [2_000, 2_000],
    NodePublishVolume: [20, 100],
  });
  expect(plan.calls).toMatchObject({
    PullImage: [2_000, 60_000],
    RunPodSandbox: [500, 500],
    Version: DEFAULT_PLAN.calls.Version,
  });
});

test.each([
  ['{', 'plan.yaml: '],
  ['[]', 'plan.yaml: is not a map'],
  ['speed: 1', 'plan.yaml: speed: is not known here; known are seed, names,'],
  ['seed: -1', 'plan.yaml: seed: is not a whole number from 0 to 4294967295'],
  ['names: Node', 'plan.yaml: names: "Node" cannot begin the name of a node'],
  ['labels: { pool: 1 }', 'plan.yaml: labels.pool: is not a text'],
  ['taints: [{ key: a, effect: Never }]', 'plan.yaml: taints[0].effect: "Never" is none of NoSchedule,'],
  ['taints: [{ key: a }]', 'plan.yaml: taints[0]: needs key and effect'],
  ['taints: []', 'plan.yaml: taints: is empty'],
  ['capacity: { memory: much }', 'plan.yaml: capacity.memory: '],
  ['capacity: { gpu: 1 }', 'plan.yaml: capacity: "gpu" is none of cpu, memory, pods, ephemeral-storage,'],
  ['capacity: { hugepages-0: 1Gi }', 'plan.yaml: capacity: "hugepages-0" is none of'],
  [
    'cpuManagerPolicy: static\ncapacity: { cpu: 1M }',
    'plan.yaml: cpuManagerPolicy: needs a capacity of whole',
  ],
  ['capacity: { memory: [1] }', 'plan.yaml: capacity.memory: is not a quantity such as 16Gi'],
  ['calls: { Pull: 1s }', 'plan.yaml: calls.Pull: is not known here; known are Version,'],
  ['calls: { PullImage: 5 }', 'plan.yaml: calls.PullImage: is not a duration'],
  ['calls: { PullImage: [5s, 1s] }', 'plan.yaml: calls.PullImage: begins after its end'],
  ['calls: { PullImage: [5s] }', 'plan.yaml: calls.PullImage: has not two durations'],
  ['calls: { PullImage: 9999h }', 'plan.yaml: calls.PullImage: is not a duration'],
  ['callFailures: 1.1', 'plan.yaml: callFailures: is not a number from 0 to 1'],
  ['crashes: { exitCode: 256 }', 'plan.yaml: crashes.exitCode: is not a whole number from 0 to 255'],
  ['outOfMemory: { exitCode: 1 }', 'plan.yaml: outOfMemory.exitCode: is not known here'],
  ['cpu: { used: [1] }', 'plan.yaml: cpu.used: is not known here; known are uses'],
  ['memory: { uses: [-1] }', 'plan.yaml: memory.uses[0]: is not a number from 0 on'],
  ['numaNodes: 0', 'plan.yaml: numaNodes: is not a whole number from 1 to 8'],
  ['numaNodes: 3', 'plan.yaml: numaNodes: a capacity of 8 CPUs cannot be divided among 3 of them'],
  ['numaNodes: 2\ncapacity: { cpu: 1500m }', 'plan.yaml: numaNodes: a capacity of 1500m CPUs cannot'],
  ['cpuManagerPolicy: fixed', 'plan.yaml: cpuManagerPolicy: "fixed" is none of none, static'],
  [
    'cpuManagerPolicy: static\ncapacity: { cpu: 1 }',
    'plan.yaml: cpuManagerPolicy: needs a capacity of whole',
  ],
  ['reservedSystemCPUs: "1"', 'plan.yaml: reservedSystemCPUs: needs cpuManagerPolicy: static'],
  [
    'cpuManagerPolicy: static\nreservedSystemCPUs: "8"',
    'plan.yaml: reservedSystemCPUs: does not name some, but not all, of the CPUs 0-7',
  ],
  ['cpuManagerPolicy: static\nreservedSystemCPUs: all', 'plan.yaml: reservedSystemCPUs: is no list of CPUs'],
  ['devicePlugins: [{ devices: 1 }]', 'plan.yaml: devicePlugins[0]: needs a resourceName'],
  ['devicePlugins: [{ resourceName: gpu }]', 'plan.yaml: devicePlugins[0].resourceName: "gpu" is no name of'],
  ['devicePlugins: [{ resourceName: a.b/gpu }]', 'plan.yaml: devicePlugins[0]: needs devices, such as 8'],
  [
    'devicePlugins: [{ resourceName: a.b/c, devices: 1 }, { resourceName: a.b/c, devices: 1 }]',
    'plan.yaml: devicePlugins[1].resourceName: there are two of the name "a.b/c"',
  ],
  [
    'devicePlugins: [{ resourceName: a.b/c, devices: 1, failures: { down: 1s } }]',
    'plan.yaml: devicePlugins[0].failures: needs every',
  ],
  ['disk: { perSecond: fast }', 'plan.yaml: disk.perSecond: '],
  ['csiDrivers: [{}]', 'plan.yaml: csiDrivers[0]: needs a name'],
  ['csiDrivers: [{ name: "a/b" }]', 'plan.yaml: csiDrivers[0].name: "a/b" is no name of a driver'],
  ['csiDrivers: [{ name: a }, { name: a }]', 'plan.yaml: csiDrivers[1].name: there are two of the name "a"'],
  ['csiDrivers: [{ name: a, staging: 1 }]', 'plan.yaml: csiDrivers[0].staging: is neither true nor false'],
  [
    'csiDrivers: [{ name: a, calls: { NodeGetInfo: 1s } }]',
    'plan.yaml: csiDrivers[0].calls.NodeGetInfo: is not known here; known are NodeStageVolume,',
  ],
  ['draDrivers: [{ name: a }]', 'plan.yaml: draDrivers[0]: needs devices, such as 8'],
  [
    'draDrivers: [{ name: a, devices: 129 }]',
    'plan.yaml: draDrivers[0].devices: is not a whole number from 0 to 128',
  ],
  [
    'draDrivers: [{ name: a, devices: 1, attributes: { x: [1] } }]',
    'plan.yaml: draDrivers[0].attributes.x: is neither a text, nor a whole number, nor true or false',
  ],
  ['deaths: { down: 1m }', 'plan.yaml: deaths: needs every'],
])('a plan that is wrong is refused with its file and the field: %s', (text, message) => {
  expect(() => parse(text)).toThrow(message);
});
