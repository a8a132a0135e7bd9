import { expect, test } from '@jest/globals';
import type { TopologyHint } from '../../../../src/agent/policies/topology/topology-hint.ts';
import { AdmissionRefusal, type HintProvider } from '../../../../src/agent/runtime/topology/hint-provider.ts';
import {
  TopologyManager,
  type TopologyManagerOptions,
} from '../../../../src/agent/runtime/topology/topology-manager.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import { RecordedMeasurements } from '../../../support/recorded-measurements.ts';

const POD: Pod = {
  metadata: { uid: 'uid-web', name: 'web', namespace: 'default' },
  spec: {
    initContainers: [{ name: 'setup', image: 'app:1' }],
    containers: [{ name: 'main', image: 'app:1' }],
  },
};
const NEVER = new AbortController().signal;

function bed(options: Partial<TopologyManagerOptions>, calls: string[] = []) {
  const provider = (name: string, nodes: readonly number[]): HintProvider => ({
    name,
    hints: (_, container) => {
      calls.push(`${name} hints ${container.name}`);
      return new Map([[name, nodes.map((node) => ({ numaNodes: [node], preferred: true }))]]);
    },
    podHints: () => {
      calls.push(`${name} podHints`);
      return new Map([[name, nodes.map((node) => ({ numaNodes: [node], preferred: true }))]]);
    },
    allocate: (_, container, hint: TopologyHint | undefined) => {
      calls.push(`${name} ${container.name} on ${hint?.numaNodes?.join() ?? 'any'}`);
    },
    complete: () => {
      calls.push(`${name} completes`);
      return Promise.resolve();
    },
    holds: () => false,
    release: (uid) => void calls.push(`${name} releases ${uid}`),
  });
  const manager = new TopologyManager({
    policy: 'restricted',
    scope: 'container',
    numa: {
      ids: [0, 1],
      distances: [
        [10, 20],
        [20, 10],
      ],
    },
    prefersClosest: false,
    providers: [provider('devices', [1]), provider('cpus', [0, 1])],
    ...options,
  });
  return { manager, calls, provider };
}

test('each container is asked for and served in turn, init containers first, and what takes its time comes last', async () => {
  const { manager, calls } = bed({});
  expect(await manager.admit(POD, NEVER)).toBeUndefined();
  const of = (container: string) => [
    ...[`devices hints ${container}`, `cpus hints ${container}`],
    ...[`devices ${container} on 1`, `cpus ${container} on 1`],
  ];
  expect(calls).toEqual([...of('setup'), ...of('main'), 'devices completes', 'cpus completes']);
});

test.each<[Partial<TopologyManagerOptions>, readonly string[], readonly string[]]>([
  [
    { policy: 'single-numa-node' },
    ['admission begins', 'container within numa_node', 'container within numa_node', 'admission ends'],
    ['admission begins', 'container not within numa_node', 'admission ends in failure'],
  ],
  [
    { policy: 'single-numa-node', scope: 'pod' },
    ['admission begins', 'pod within numa_node', 'admission ends'],
    ['admission begins', 'pod not within numa_node', 'admission ends in failure'],
  ],
  [
    { policy: 'restricted' },
    ['admission begins', 'admission ends'],
    ['admission begins', 'admission ends in failure'],
  ],
  [{ policy: 'none' }, ['admission begins', 'admission ends'], ['admission begins', 'admission ends']],
])('with %j, admissions are measured as with the kubelet', async (options, whole, apart) => {
  const { provider } = bed({});
  for (const [nodes, told] of [
    [0, whole],
    [1, apart],
  ] as const) {
    const measurements = new RecordedMeasurements();
    const providers = [provider('devices', [0]), provider('cpus', [nodes])];
    const { manager } = bed({ ...options, providers, measurements: measurements.placement });
    await manager.admit(POD, NEVER);
    expect(measurements.told).toEqual(told);
  }
});

test('in the scope of the pod one hint is for all its containers', async () => {
  const { manager, calls } = bed({ scope: 'pod' });
  expect(await manager.admit(POD, NEVER)).toBeUndefined();
  expect(calls.filter((call) => call.includes('int'))).toEqual(['devices podHints', 'cpus podHints']);
  expect(calls).toContain('cpus main on 1');
});

test('without a policy nothing is asked', async () => {
  const { manager, calls } = bed({ policy: 'none' });
  expect(await manager.admit(POD, NEVER)).toBeUndefined();
  expect(calls.filter((call) => call.includes('hints'))).toEqual([]);
  expect(calls).toContain('devices setup on any');
});

test('a pod whose parts are nowhere near each other is refused', async () => {
  const { provider } = bed({});
  const { manager, calls } = bed({ providers: [provider('devices', [0]), provider('cpus', [1])] });
  expect(await manager.admit(POD, NEVER)).toEqual({
    reason: 'TopologyAffinityError',
    message: 'Resources cannot be allocated with Topology locality',
  });
  expect(calls).toEqual([]);
});

test('a refusal has the reason of the provider', async () => {
  const calls: string[] = [];
  const { provider } = bed({}, calls);
  const refusing: HintProvider = {
    ...provider('cpus', [0]),
    complete: () => Promise.reject(new AdmissionRefusal('SMTAlignmentError', 'SMT Alignment Error: odd')),
  };
  const { manager } = bed({ providers: [refusing] });
  expect(await manager.admit(POD, NEVER)).toEqual({
    reason: 'SMTAlignmentError',
    message: 'SMT Alignment Error: odd',
  });
});

test('what is withdrawn is free at once at all providers, also where one cannot remember it', async () => {
  const calls: string[] = [];
  const { provider } = bed({}, calls);
  const held = { ...provider('devices', [1]), holds: () => true };
  const forgetful = { ...held, release: () => Promise.reject(new Error('no space left on device')) };
  const { manager } = bed({ providers: [forgetful, held, provider('cpus', [1])] });
  expect(manager.withdraw('uid-web')).toBe(true);
  expect(calls).toEqual(['devices releases uid-web', 'cpus releases uid-web']);
  await expect(manager.release('uid-web')).rejects.toThrow('no space left on device');
});

test('of a pod that has nothing, nothing is withdrawn', () => {
  const { manager, calls } = bed({});
  expect(manager.withdraw('uid-web')).toBe(false);
  expect(calls).toEqual([]);
});
