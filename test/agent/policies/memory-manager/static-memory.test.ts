import { describe, expect, test } from '@jest/globals';
import {
  areSame,
  emptyMachine,
  type MemoryByNode,
  type NumaMemory,
  sumOf,
} from '../../../../src/agent/policies/memory-manager/numa-memory.ts';
import { memoryHints } from '../../../../src/agent/policies/memory-manager/memory-hints.ts';
import {
  type MemoryAssignments,
  memoryStateText,
  readMemoryState,
} from '../../../../src/agent/policies/memory-manager/memory-state.ts';
import { reservedMemoryProblem } from '../../../../src/agent/policies/memory-manager/reserved-memory.ts';
import {
  blocksOf,
  containerHints,
  memoryState,
  memoryStateProblem,
  podHints,
  withContainer,
} from '../../../../src/agent/policies/memory-manager/static-memory.ts';
import type { TopologyHint } from '../../../../src/agent/policies/topology/topology-hint.ts';
import { seededRandom } from '../../../../src/simulation/plan/seeded-random.ts';
import type { Container, Pod } from '../../../../src/types/kubernetes.ts';

const PAGES = 'hugepages-2Mi';
const MIB = 2 ** 20;

/** In mebibytes; huge pages are a part of the memory. */
type NodeSizes = readonly [memory: number, hugePages: number];

const sizes = (...nodes: readonly NodeSizes[]): MemoryByNode =>
  new Map(
    nodes.map(([memory, hugePages], id) => [
      id,
      new Map([
        ['memory', memory * MIB],
        [PAGES, hugePages * MIB],
      ]),
    ]),
  );
const machine = (...nodes: readonly NodeSizes[]): NumaMemory => emptyMachine(sizes(...nodes), new Map());
const TWO = machine([100, 0], [100, 0]);
const FOUR = machine([100, 0], [100, 0], [100, 0], [100, 0]);

const container = (name: string, memory: number, more: Partial<Container> = {}, pages = 0): Container => {
  const amounts = { cpu: '1', memory: `${memory}Mi`, ...(pages > 0 && { [PAGES]: `${pages}Mi` }) };
  return { name, image: 'app:1', resources: { requests: amounts, limits: amounts }, ...more };
};
const pod = (uid: string, containers: Container[], initContainers: Container[] = []): Pod => ({
  metadata: { uid, name: uid, namespace: 'default' },
  spec: { containers, initContainers },
});

function assign(
  empty: NumaMemory,
  pods: readonly Pod[],
  hint?: TopologyHint,
  assigned: MemoryAssignments = new Map(),
) {
  let state = memoryState(empty, assigned);
  for (const each of pods)
    for (const one of [...(each.spec.initContainers ?? []), ...each.spec.containers])
      state = memoryState(empty, withContainer(state, each, one, hint));
  return state;
}
const on = (...numaNodes: number[]): TopologyHint => ({ numaNodes, preferred: false });
const free = ({ machine }: { machine: NumaMemory }) =>
  [...machine.keys()].map((id) => sumOf(machine, [id], 'memory', 'free') / MIB);

test('huge pages and what is reserved are taken off the memory of their node', () => {
  const reserved = new Map([[0, new Map([['memory', 10 * MIB]])]]);
  const empty = emptyMachine(sizes([100, 20], [100, 0]), reserved);
  expect(empty.get(0)).toMatchObject({ numberOfAssignments: 0, cells: [0] });
  expect(empty.get(0)?.memoryMap.get('memory')).toEqual({
    total: 100 * MIB,
    systemReserved: 10 * MIB,
    allocatable: 70 * MIB,
    reserved: 0,
    free: 70 * MIB,
  });
});

describe('the policy Static', () => {
  test.each([
    ['a Guaranteed pod', pod('a', [container('main', 60)]), [40, 100]],
    [
      'a pod without limits',
      pod('a', [container('main', 60, { resources: { requests: { memory: '60Mi' } } })]),
      [100, 100],
    ],
    [
      'resources of the pod as a whole',
      { ...pod('a', [container('main', 60)]), spec: { containers: [container('main', 60)], resources: {} } },
      [100, 100],
    ],
  ])('%s', (_, each, left) => {
    expect(free(assign(TWO, [each]))).toEqual(left);
  });

  test('the next container is on the next node, and what takes both nodes is on both', () => {
    expect(free(assign(TWO, [pod('a', [container('a', 60), container('b', 60)])]))).toEqual([40, 40]);
    const both = assign(TWO, [pod('a', [container('main', 150)])]);
    expect(blocksOf(both, 'a', 'main')).toEqual([{ numaAffinity: [0, 1], type: 'memory', size: 150 * MIB }]);
    expect(free(both)).toEqual([0, 50]);
  });

  test('nodes that are used together are not used alone, and alone again afterwards', () => {
    const both = assign(FOUR, [pod('a', [container('main', 150)])]);
    const small = pod('b', [container('main', 10)]);
    expect(containerHints(both, small, small.spec.containers[0]!).get('memory')).toEqual(
      [[2], [3], [0, 1], [2, 3]].map((numaNodes) => ({ numaNodes, preferred: numaNodes.length === 1 })),
    );
    expect(blocksOf(assign(FOUR, [small], on(0), both.assigned), 'b', 'main')?.[0]?.numaAffinity).toEqual([
      0, 1,
    ]);
    const alone = assign(FOUR, [small]);
    expect(
      containerHints(alone, pod('c', [container('main', 150)]), container('main', 150)).get('memory'),
    ).toEqual(
      [
        [1, 2],
        [1, 3],
        [2, 3],
        [1, 2, 3],
      ].map((numaNodes) => ({ numaNodes, preferred: numaNodes.length === 2 })),
    );
  });

  test('a hint is followed, extended where it is too small, and refused where it goes against containers of one node', () => {
    const nodesOf = (hint: TopologyHint, memory: number) =>
      blocksOf(assign(FOUR, [pod('a', [container('main', memory)])], hint), 'a', 'main')?.[0]?.numaAffinity;
    expect(nodesOf(on(2), 60)).toEqual([2]);
    expect(nodesOf(on(2), 160)).toEqual([0, 2]);
    const first = assign(TWO, [pod('a', [container('main', 10)])]);
    const second = (memory: number, hint?: TopologyHint) => () =>
      assign(TWO, [pod('b', [container('main', memory)])], hint, first.assigned);
    expect(second(50, on(0, 1))).toThrow('[memorymanager] preferred hint violates NUMA node allocation');
    expect(second(95, on(0))).toThrow(
      '[memorymanager] failed to find NUMA nodes to extend the current topology hint',
    );
    expect(second(120)).toThrow(
      '[memorymanager] failed to get the default NUMA affinity, no NUMA nodes with enough memory is available',
    );
    const preferred = { preferred: true };
    expect(() =>
      assign(
        FOUR,
        [pod('d', [container('main', 95)])],
        { numaNodes: undefined, ...preferred },
        assign(
          FOUR,
          [0, 1, 2, 3].map((id) => pod(`p${id}`, [container('main', 60)])),
        ).assigned,
      ),
    ).toThrow('[memorymanager] failed to get the default NUMA affinity');
  });

  test('huge pages that the machine does not have are refused', () => {
    expect(() => assign(TWO, [pod('a', [container('main', 1, {}, 2)])])).toThrow(
      'no NUMA nodes with enough memory',
    );
  });

  test('memory of init containers is used again, that of a sidecar is not', () => {
    const sidecar = container('sidecar', 10, { restartPolicy: 'Always' });
    const inits = [sidecar, container('first', 30), container('second', 50)];
    const each = pod('a', [container('main', 40), container('other', 20)], inits);
    const state = assign(TWO, [each]);
    expect(free(state)).toEqual([30, 100]);
    expect(podHints(memoryState(TWO, new Map()), each).get('memory')?.[0]).toEqual({
      numaNodes: [0],
      preferred: true,
    });
    const of = (name: string) => (blocksOf(state, 'a', name)?.[0]?.size ?? 0) / MIB;
    expect(['sidecar', 'first', 'second', 'main', 'other'].map(of)).toEqual([10, 0, 0, 40, 20]);
    expect(withContainer(state, each, inits[1]!, undefined)).toBe(state.assigned);
  });

  test('a container that has its memory already keeps it', () => {
    const each = pod('a', [container('main', 60)]);
    const state = assign(TWO, [each], on(1));
    expect(containerHints(state, each, each.spec.containers[0]!).get('memory')).toEqual([
      { numaNodes: [1], preferred: true },
    ]);
    expect(containerHints(state, each, container('main', 70)).size).toBe(0);
  });
});

test('hints are those sets of nodes that have enough, and those with fewest nodes are preferred', () => {
  for (let seed = 0; seed < 200; seed++) {
    const random = seededRandom(seed);
    const empty = machine(
      ...Array.from(
        { length: random.integer(1, 4) },
        () => [random.integer(40, 100), random.integer(0, 20)] as const,
      ),
    );
    let state = memoryState(empty, new Map());
    for (let step = 0; step < 4; step++)
      try {
        state = assign(
          empty,
          [pod(`p${step}`, [container('main', random.integer(1, 80))])],
          undefined,
          state.assigned,
        );
      } catch {
        break;
      }
    const wanted = new Map([
      ['memory', random.integer(1, 150) * MIB],
      [PAGES, random.integer(1, 20) * MIB],
    ]);
    const ids = [...empty.keys()];
    const subsets = Array.from({ length: 2 ** ids.length - 1 }, (_, mask) =>
      ids.filter((id) => ((mask + 1) >> id) & 1),
    );
    const has = (nodes: readonly number[], field: 'free' | 'allocatable') =>
      [...wanted].every(
        ([type, size]) =>
          nodes.reduce((sum, id) => sum + state.machine.get(id)!.memoryMap.get(type)![field], 0) >= size,
      );
    const held = [...state.assigned.values()].flatMap((one) => [...one.values()].flat());
    const disturbs = (nodes: readonly number[]) =>
      held.some(
        ({ numaAffinity }) => numaAffinity.some((id) => nodes.includes(id)) && !areSame(numaAffinity, nodes),
      );
    const fewest = Math.min(
      ...subsets.filter((nodes) => has(nodes, 'allocatable')).map(({ length }) => length),
    );
    const expected = subsets.filter((nodes) => has(nodes, 'free') && !disturbs(nodes));
    const hints = memoryHints(state.machine, wanted, () => 0);
    expect({ seed, count: hints.length }).toEqual({ seed, count: expected.length });
    for (const { numaNodes, preferred } of hints) {
      expect(expected).toContainEqual(numaNodes);
      expect(preferred).toBe(numaNodes.length === fewest);
    }
  }
});

test('whatever comes and goes, no memory is given twice, none is lost, and a next agent reads the same', () => {
  for (let seed = 0; seed < 40; seed++) {
    const random = seededRandom(seed);
    const empty = machine(...Array.from({ length: random.integer(1, 4) }, () => [100, 20] as const));
    const ids = [...empty.keys()];
    let assigned: MemoryAssignments = new Map();
    for (let step = 0; step < 20; step++) {
      const uid = `uid-${random.integer(0, 5)}`;
      const rest = new Map(assigned);
      if (rest.delete(uid)) assigned = rest;
      else {
        const init = container('init', random.integer(1, 60));
        const main = container('main', random.integer(1, 120), {}, random.integer(0, 10));
        const hint = random.pick([undefined, on(random.pick(ids)), on(...ids)]);
        try {
          ({ assigned } = assign(empty, [pod(uid, [main], [init])], hint, assigned));
        } catch (error) {
          expect(String(error)).toContain('[memorymanager]');
        }
      }
      const state = memoryState(empty, assigned);
      const held = [...assigned.values()].flatMap((one) => [...one.values()].flat());
      for (const type of ['memory', PAGES]) {
        const sum = held.filter((block) => block.type === type).reduce((all, { size }) => all + size, 0);
        expect(sumOf(state.machine, ids, type, 'reserved')).toBe(sum);
        expect(sumOf(state.machine, ids, type, 'free')).toBe(sumOf(empty, ids, type, 'allocatable') - sum);
      }
      for (const { numaAffinity } of held)
        for (const id of numaAffinity) expect(state.machine.get(id)?.cells).toEqual(numaAffinity);
      const read = readMemoryState(memoryStateText('Static', state), 'Static');
      expect(read).toEqual(state);
      expect(memoryStateProblem(empty, read)).toBeUndefined();
    }
  }
});

describe('the file', () => {
  const blocks = [{ numaAffinity: [0], type: 'memory', size: 512 }];
  const table = { total: 2048, systemReserved: 512, allocatable: 1536, reserved: 512, free: 1024 };
  const KUBELET = {
    policyName: 'static',
    machineState: { 0: { numberOfAssignments: 0, memoryMap: { memory: table }, cells: [] } },
    entries: { pod: { container1: blocks } },
    // Of the kubelet's own tests.
    checksum: 4_215_593_881,
  };

  test('has the checksum and the shape of the kubelet', () => {
    const state = readMemoryState(JSON.stringify(KUBELET), 'static');
    expect(state.assigned).toEqual(new Map([['pod', new Map([['container1', blocks]])]]));
    expect(JSON.parse(memoryStateText('static', state))).toEqual(KUBELET);
  });

  test('of a kubelet is read, and written again byte by byte', () => {
    const ofKubelet =
      '{"policyName":"Static","machineState":{"0":{"numberOfAssignments":1,"memoryMap":{"hugepages-1Gi":{"total":0,"systemReserved":0,"allocatable":0,"reserved":0,"free":0},' +
      '"hugepages-2Mi":{"total":0,"systemReserved":0,"allocatable":0,"reserved":0,"free":0},' +
      '"memory":{"total":18616188928,"systemReserved":1073741824,"allocatable":17542447104,"reserved":67108864,"free":17475338240}},"cells":[0]}},' +
      '"entries":{"f9109df4f50b0ae2eb64bf4650c1e51b":{"main":[{"numaAffinity":[0],"type":"memory","size":67108864}]}},"checksum":3357413390}';
    expect(memoryStateText('Static', readMemoryState(ofKubelet, 'Static'))).toBe(ofKubelet);
  });

  const text = memoryStateText('Static', assign(TWO, [pod('a', [container('main', 60)])]));

  test.each([
    [
      'another policy',
      text,
      'None',
      'configured policy "None" differs from state checkpoint policy "Static"',
    ],
    ['a changed size', text.replace('"size":6', '"size":5'), 'Static', 'checkpoint is corrupted'],
    ['a size below zero', text.replace('"size":6', '"size":-6'), 'Static', 'checkpoint is corrupted'],
    ['no object', 'null', 'Static', 'checkpoint is corrupted'],
  ])('is refused with %s', (_, content, name, problem) => {
    expect(() => readMemoryState(content, name)).toThrow(problem);
  });

  test.each([
    [
      'another machine',
      machine([100, 0], [90, 0]),
      'the expected machine state is different from the real one',
    ],
    ['a node less', machine(), 'the memory assignment uses the NUMA that does not exist'],
    [
      'a kind less',
      emptyMachine(new Map([[0, new Map([[PAGES, MIB]])]]), new Map()),
      'the memory assignment uses memory resource that does not exist',
    ],
  ])('does not fit %s', (_, other, problem) => {
    expect(memoryStateProblem(other, readMemoryState(text, 'Static'))).toContain(problem);
  });

  test('without a machine is one of a node that has not started yet', () => {
    const none = { machine: new Map(), assigned: new Map() };
    expect(memoryStateProblem(TWO, none)).toBeUndefined();
    expect(memoryStateProblem(TWO, { ...none, assigned: new Map([['a', new Map()]]) })).toContain(
      'can not be empty',
    );
  });
});

test.each([
  ['what the node reserves', [{ numaNode: 0, limits: { memory: '1Gi' } }], { memory: '1024Mi' }, undefined],
  [
    'less',
    [{ numaNode: 0, limits: { memory: '1Gi' } }],
    { memory: '1124Mi' },
    'the total amount "1Gi" of type "memory" is not equal to the value "1124Mi" determined by Node Allocatable feature',
  ],
  [
    'none',
    [],
    { memory: '100Mi' },
    'the total amount "0" of type "memory" is not equal to the value "100Mi" determined by Node Allocatable feature',
  ],
  [
    'none where the node has none',
    [],
    { cpu: '1' },
    '[memorymanager] you should specify the system reserved memory',
  ],
  [
    'a node that is not there',
    [{ numaNode: 7, limits: { memory: '1Gi' } }],
    {},
    'the reserved memory configuration references a NUMA node 7 that does not exist on this machine',
  ],
])('reservedMemory: %s', (_, reservations, nodeReserved, problem) => {
  expect(reservedMemoryProblem(reservations, [0, 1], nodeReserved)).toBe(problem);
});
