import { expect, test } from '@jest/globals';
import { allocatableOf, HollowManagers } from '../../../src/hollow/node/hollow-managers.ts';
import { DEFAULT_PLAN, parseHollowPlan } from '../../../src/hollow/plan/hollow-plan.ts';
import { VirtualClock } from '../../../src/simulation/node/virtual-clock.ts';
import type { NodeManagers } from '../../../src/simulation/node/node-managers.ts';
import { SimulatedRuntime } from '../../../src/simulation/runtime/simulated-runtime.ts';
import type { Pod } from '../../../src/types/kubernetes.ts';
import { testContext } from '../../support/test-context.ts';

const MI = 2 ** 20;

const planOf = (text: string) => parseHollowPlan(text, 'plan.yaml');

test('what is reserved is not allocatable', () => {
  const plan = planOf(`
capacity: { cpu: 8, memory: 1Gi, example.com/license: 3 }
cpuManagerPolicy: static
reservedSystemCPUs: "0,4"
memoryManagerPolicy: Static
`);
  expect(allocatableOf(plan)).toMatchObject({
    cpu: '6',
    memory: String(924 * MI),
    pods: '110',
    'example.com/license': '3',
  });
  expect(allocatableOf(DEFAULT_PLAN)).toEqual(DEFAULT_PLAN.capacity);
});

function guaranteed(uid: string, cpu: string): Pod {
  const amounts = { cpu, memory: '128Mi' };
  const resources = { requests: amounts, limits: amounts };
  return {
    metadata: { name: uid, namespace: 'shop', uid },
    spec: { containers: [{ name: 'main', image: 'web', resources }] },
  };
}

test('containers get CPUs of one NUMA node, which the next agent still knows', async () => {
  const plan = planOf(`
capacity: { cpu: 8, memory: 1Gi }
numaNodes: 2
cpuManagerPolicy: static
topologyManagerPolicy: single-numa-node
`);
  const clock = new VirtualClock();
  const runtime = new SimulatedRuntime({ clock, random: () => 0 });
  const managers = new HollowManagers(plan, () => 0);
  const start = () => managers.forAgent(testContext({ clock }), runtime.connect());
  const admission = async ({ subsystems }: NodeManagers, pod: Pod) => {
    const { signal } = new AbortController();
    const answers = Promise.all(subsystems.map(async (one) => one.admit?.(pod, signal)));
    // The state is written meanwhile.
    await clock.advance(1_000);
    return (await answers).find((refusal) => refusal);
  };
  const first = start();
  expect(await admission(first, guaranteed('wide', '5'))).toMatchObject({ reason: 'TopologyAffinityError' });
  expect(await admission(first, guaranteed('narrow', '4'))).toBeUndefined();
  // The first node has the reserved CPU.
  expect(first.cpus?.exclusive('narrow', 'main')).toEqual([2, 3, 6, 7]);
  expect(start().cpus?.exclusive('narrow', 'main')).toEqual([2, 3, 6, 7]);
});
