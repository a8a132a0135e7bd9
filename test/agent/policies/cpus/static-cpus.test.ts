import { describe, expect, test } from '@jest/globals';
import { type CpuOptions, packedCpus } from '../../../../src/agent/policies/cpus/cpu-choice.ts';
import { distributedCpus } from '../../../../src/agent/policies/cpus/cpu-distribution.ts';
import { cpuHints } from '../../../../src/agent/policies/cpus/cpu-hints.ts';
import {
  both,
  cpuSet,
  cpuSetString,
  parseCpuSet,
  union,
} from '../../../../src/agent/policies/cpus/cpu-set.ts';
import {
  assignedCpus,
  cpuStateText,
  exclusiveCpus,
  readCpuState,
  withoutPod,
} from '../../../../src/agent/policies/cpus/cpu-state.ts';
import { partNumbers } from '../../../../src/agent/policies/cpus/cpu-topology.ts';
import {
  containerHints,
  initialState,
  reservedCpus,
  smtProblem,
  stateProblem,
  type StaticCpus,
  withContainer,
} from '../../../../src/agent/policies/cpus/static-cpus.ts';
import { seededRandom } from '../../../../src/simulation/plan/seeded-random.ts';
import type { Container, Pod } from '../../../../src/types/kubernetes.ts';
import { machine, MACHINES, NO_CPU_OPTIONS } from '../../../support/cpu-machine.ts';

const policy = (name: string, options: Partial<CpuOptions> = {}, reserved = '0'): StaticCpus => ({
  topology: machine(name),
  options: { ...NO_CPU_OPTIONS, ...options },
  reserved: parseCpuSet(reserved)!,
});

const container = (name: string, cpu: string, more: Partial<Container> = {}): Container => ({
  name,
  image: 'app:1',
  resources: { requests: { cpu, memory: '1Mi' }, limits: { cpu, memory: '1Mi' } },
  ...more,
});

const pod = (uid: string, containers: Container[], initContainers: Container[] = []): Pod => ({
  metadata: { uid, name: uid, namespace: 'default' },
  spec: { containers, initContainers },
});

function assign(own: StaticCpus, pods: readonly Pod[], state = initialState(own)) {
  for (const each of pods)
    for (const one of [...(each.spec.initContainers ?? []), ...each.spec.containers])
      state = withContainer(own, state, each, one, undefined);
  return state;
}

test.each(['', '0', '0-3', '0-1,3,7-9'])('the set %j is read and written the same', (text) => {
  expect(cpuSetString(parseCpuSet(text)!)).toBe(text);
});

test.each(['3-1', 'a', '1,', '0-999999', '-1'])('%j is no set', (text) => {
  expect(parseCpuSet(text)).toBeUndefined();
});

describe('packed', () => {
  const take = (name: string, count: number, free = cpuSetString(machine(name).cpus), options = {}) =>
    cpuSetString(packedCpus(machine(name), parseCpuSet(free)!, count, { ...NO_CPU_OPTIONS, ...options }));

  test('whole cores first, and what is left of a broken one before another is broken', () => {
    expect(take('one socket with SMT', 2)).toBe('0,4');
    expect(take('one socket with SMT', 1, '1-7')).toBe('4');
    expect(take('one socket with SMT', 3)).toBe('0-1,4');
  });

  test('a whole socket where one is wanted, else the fuller socket', () => {
    expect(take('two sockets with SMT', 6)).toBe('0,2,4,6,8,10');
    expect(take('two sockets with SMT', 2, '1-11')).toBe('2,8');
    expect(take('two sockets with SMT', 6, '1-11')).toBe('1,3,5,7,9,11');
  });

  test('distribute-cpus-across-cores takes CPUs of different cores', () => {
    expect(take('one socket with SMT', 2, '0-7', { 'distribute-cpus-across-cores': true })).toBe('0-1');
  });

  test('prefer-align-cpus-by-uncorecache does not go across caches where one has enough', () => {
    const aligned = { 'prefer-align-cpus-by-uncorecache': true };
    expect(take('one node with two caches', 4, '0-2,4-10,12-15', NO_CPU_OPTIONS)).toBe('0-1,8-9');
    expect(take('one node with two caches', 8, '1-15', aligned)).toBe('4-7,12-15');
    expect(take('one node with two caches', 6, '2-15', aligned)).toBe('4-6,12-14');
  });

  test('too few are an error with both numbers', () => {
    expect(() => take('one socket', 3, '0-1')).toThrow(
      'not enough cpus available to satisfy request: requested=3, available=2',
    );
  });
});

test('distribute-cpus-across-numa takes as many from each node', () => {
  const topology = machine('four NUMA nodes of two sockets');
  const taken = distributedCpus(topology, topology.cpus, 8, 1, NO_CPU_OPTIONS);
  expect(partNumbers(topology, 'node', taken)).toHaveLength(2);
  const some = distributedCpus(topology, topology.cpus, 6, 2, NO_CPU_OPTIONS);
  expect(partNumbers(topology, 'node', some)).toHaveLength(2);
  expect(some).toHaveLength(6);
});

test('on every machine and with every option CPUs are taken from the free ones, exactly as many as are wanted', () => {
  for (let seed = 0; seed < 300; seed++) {
    const random = seededRandom(seed);
    const name = random.pick(Object.keys(MACHINES));
    const topology = machine(name);
    const free = topology.cpus.filter(() => random.next() < 0.7);
    const count = random.integer(0, free.length);
    const options = {
      ...NO_CPU_OPTIONS,
      'distribute-cpus-across-cores': seed % 5 === 0,
      'prefer-align-cpus-by-uncorecache': seed % 5 === 1,
    };
    const group = random.pick([1, topology.cpusPerCore]);
    for (const taken of [
      packedCpus(topology, free, count, options),
      distributedCpus(topology, free, count, group, options),
    ]) {
      expect({ seed, name, taken: taken.length }).toEqual({ seed, name, taken: count });
      expect(both(taken, free)).toEqual(taken);
      expect(cpuSet(taken)).toEqual(taken);
    }
  }
});

test('hints are those sets of nodes that have enough CPUs, and those with fewest nodes are preferred', () => {
  for (let seed = 0; seed < 200; seed++) {
    const random = seededRandom(seed);
    const topology = machine(random.pick(Object.keys(MACHINES)));
    const available = topology.cpus.filter(() => random.next() < 0.6);
    const count = random.integer(1, topology.cpus.length);
    const hints = cpuHints(topology, { available, reusable: [], count, alignsBySocket: false });
    const nodeOf = (cpu: number) => topology.places.get(cpu)!.node;
    const has = (nodes: readonly number[], cpus: readonly number[]) =>
      cpus.filter((cpu) => nodes.includes(nodeOf(cpu))).length;
    const subsets = Array.from({ length: 2 ** topology.nodes.length - 1 }, (_, mask) =>
      topology.nodes.filter((_, bit) => ((mask + 1) >> bit) & 1),
    );
    const enough = subsets.filter((nodes) => has(nodes, available) >= count);
    expect(hints).toHaveLength(enough.length);
    const fewest = Math.min(
      ...subsets.filter((nodes) => has(nodes, topology.cpus) >= count).map(({ length }) => length),
    );
    for (const { numaNodes, preferred } of hints) {
      expect(enough).toContainEqual(numaNodes);
      expect(preferred).toBe(numaNodes!.length === fewest);
    }
  }
});

describe('the static policy', () => {
  const own = policy('one socket');

  test.each([
    ['whole CPUs of a Guaranteed pod', pod('a', [container('main', '2')]), '1-2'],
    ['a part of a CPU', pod('a', [container('main', '1500m')]), undefined],
    ['no limit', pod('a', [container('main', '1', { resources: { requests: { cpu: '1' } } })]), undefined],
  ])('%s', (_, each, cpus) => {
    const assigned = assignedCpus(assign(own, [each]), 'a', 'main');
    expect(assigned && cpuSetString(assigned)).toBe(cpus);
  });

  test('CPUs of an init container are used again, those of a sidecar are not', () => {
    const init = container('init', '2');
    const sidecar = container('sidecar', '1', { restartPolicy: 'Always' });
    const state = assign(own, [pod('a', [container('main', '2')], [sidecar, init])]);
    const of = (name: string) => cpuSetString(assignedCpus(state, 'a', name)!);
    expect([of('sidecar'), of('init'), of('main')]).toEqual(['1', '2-3', '2-3']);
    expect(state.shared).toEqual([0]);
    expect(withoutPod(state, 'a').shared).toEqual([0, 1, 2, 3]);
  });

  test('full-pcpus-only refuses what is not whole cores, and cores of which a CPU is reserved', () => {
    const full = policy('one socket with SMT', { 'full-pcpus-only': true });
    const problem = (cpu: string, state = initialState(full)) =>
      smtProblem(full, state, pod('a', [container('main', cpu)]), container('main', cpu));
    expect(problem('1')).toEqual({
      message: 'SMT Alignment Error: requested 1 cpus not multiple cpus per core = 2',
      isForGood: true,
    });
    expect(problem('6')).toBeUndefined();
    expect(problem('8')).toEqual({
      message:
        'SMT Alignment Error: not enough free physical CPUs: available physical CPUs = 6, requested CPUs = 8, CPUs per core = 2',
      isForGood: false,
    });
  });

  test('with strict-cpu-reservation one CPU stays shared, of a core that is not whole anyway', () => {
    const strict = policy('one socket', { 'strict-cpu-reservation': true });
    const asks = (cpu: string) => pod(`asks for ${cpu}`, [container('main', cpu)]);
    expect(assign(strict, [asks('2')]).shared).toEqual([1]);
    expect(() => assign(strict, [asks('3')])).toThrow('requested=3, available=2');
    expect(containerHints(strict, initialState(strict), asks('3'), container('main', '3'))).toEqual([]);
    const whole = policy('one socket with SMT', { 'strict-cpu-reservation': true, 'full-pcpus-only': true });
    expect(assign(whole, [asks('6')]).shared).toEqual([4]);
    expect(smtProblem(whole, initialState(whole), asks('6'), container('main', '6'))).toBeUndefined();
  });

  test('a former agent may have given away the last CPU, too', () => {
    const strict = policy('one socket', { 'strict-cpu-reservation': true });
    const assigned = new Map([['a', new Map([['main', [1, 2, 3]]])]]);
    expect(stateProblem(strict, { shared: [], assigned })).toBeUndefined();
    expect(stateProblem(strict, { shared: [], assigned: new Map() })).toBe('default cpuset cannot be empty');
  });

  test('reserved are the CPUs of the lowest cores', () => {
    const topology = machine('one socket with SMT');
    expect(reservedCpus(topology, NO_CPU_OPTIONS, 1500n)).toEqual([0, 4]);
  });

  test('strict-cpu-reservation leaves reserved CPUs to no pod', () => {
    const strict = policy('one socket', { 'strict-cpu-reservation': true });
    expect(initialState(strict).shared).toEqual([1, 2, 3]);
    expect(stateProblem(strict, initialState(strict))).toBeUndefined();
    expect(stateProblem(strict, initialState(own))).toBe(
      'some of strictly reserved cpus: "0" are present in defaultCpuSet: "0-3"',
    );
  });

  test('a state of other CPUs is refused', () => {
    expect(stateProblem(own, { shared: [0, 1], assigned: new Map() })).toBe(
      `current set of available CPUs "0-3" doesn't match with CPUs in state "0-1"`,
    );
    expect(stateProblem(own, { shared: [1, 2, 3], assigned: new Map() })).toBe(
      'not all reserved cpus: "0" are present in defaultCpuSet: "1-3"',
    );
  });

  test('whatever comes and goes, no CPU is in two containers, none is lost, and a next agent reads the same', () => {
    for (let seed = 0; seed < 100; seed++) {
      const random = seededRandom(seed);
      const any = policy(random.pick(Object.keys(MACHINES)));
      let state = initialState(any);
      const uids = new Set<string>();
      for (let step = 0; step < 20; step++) {
        const uid = `uid-${random.integer(0, 5)}`;
        if (uids.delete(uid)) state = withoutPod(state, uid);
        else {
          const each = pod(uid, [container('a', String(random.integer(1, 3))), container('b', '1')]);
          try {
            state = assign(any, [each], state);
            uids.add(uid);
          } catch {
            state = withoutPod(state, uid);
          }
        }
        const sets = [state.shared, ...[...state.assigned.values()].flatMap((one) => [...one.values()])];
        expect(sets.flat().length).toBe(any.topology.cpus.length);
        expect(union(...sets)).toEqual(any.topology.cpus);
        expect(both(exclusiveCpus(state), any.reserved)).toEqual([]);
        expect(stateProblem(any, readCpuState(cpuStateText('static', state), 'static'))).toBeUndefined();
      }
    }
  });
});

describe('the file', () => {
  test('has the checksum of the kubelet', () => {
    const empty = { shared: [4, 5, 6], assigned: new Map() };
    expect(cpuStateText('none', empty)).toBe(
      '{"policyName":"none","defaultCpuSet":"4-6","checksum":354655845}',
    );
  });

  test('of a kubelet is read, and written again byte by byte', () => {
    const ofKubelet =
      '{"policyName":"static","defaultCpuSet":"0","entries":{"f9109df4f50b0ae2eb64bf4650c1e51b":{"before":"1","main":"1"}},"checksum":3148820029}';
    expect(cpuStateText('static', readCpuState(ofKubelet, 'static'))).toBe(ofKubelet);
  });

  const state = { shared: [0], assigned: new Map([['uid', new Map([['main', [1]]])]]) };

  test('has the shape of the kubelet', () => {
    expect(JSON.parse(cpuStateText('static', state))).toMatchObject({
      policyName: 'static',
      defaultCpuSet: '0',
      entries: { uid: { main: '1' } },
      checksum: expect.any(Number),
    });
    expect(readCpuState(cpuStateText('static', state), 'static')).toEqual(state);
  });

  test.each([
    ['another policy', (text: string) => text, 'none', 'configured policy "none" differs'],
    ['a changed set', (text: string) => text.replace('"1"', '"1-2"'), 'static', 'checkpoint is corrupted'],
    ['no object', () => '{}', 'static', 'checkpoint is corrupted'],
  ])('is refused with %s', (_, change, name, problem) => {
    expect(() => readCpuState(change(cpuStateText('static', state)), name)).toThrow(problem);
  });
});
