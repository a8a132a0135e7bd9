import type { RuntimeFaults } from '../runtime/call-faults.ts';
import type { ApiFaults } from '../api/api-faults.ts';
import type { NodeFaults } from '../node/node-fault-draws.ts';
import type { StatsFaults } from '../resources/simulated-stats.ts';

/** The faults that can be switched on, with their texts for the help. */
export const FAULTS = {
  fail: 'a call to the runtime fails and has no effect; the node cannot be measured',
  'lost-answer': 'a call is carried out, but returns an error',
  hang: 'a call gets no answer before its deadline; it may still be carried out later',
  slow: 'a call takes a hundred times as long; measurements of the node come late',
  disappear: 'the runtime says that something it has just listed does not exist',
  untrue: 'the runtime says that a sandbox is stopped, and it is not',
  events: 'events of the runtime are lost, late, doubled or in the wrong order',
  'sandbox-death': 'a sandbox dies',
  exit: 'a container ends unexpectedly',
  volumes: 'volumes cannot be mounted or released, or are mounted late',
  images: 'an image cannot be pulled',
  agent: 'the agent is killed or stopped at any step, and starts again',
  runtime: 'the runtime goes down and comes back; containers keep running',
  api: 'requests to the API server fail, hang, are slow, or are carried out without an answer',
  'api-outage': 'the API server goes away and comes back',
  watch: 'watches of the API server end, break, fall silent, come late, or need a new list',
  devices: 'device plugins come and go, fail, hang, are slow, lie and flood, and devices break',
  drivers: 'CSI and DRA drivers come and go, fail, hang and answer late; volumes cannot be attached',
  plugins: 'eviction plugins fail, hang, come late, come and go, and name what they must not name',
} as const;

export type Fault = keyof typeof FAULTS;

export const ALL_FAULTS = Object.keys(FAULTS) as readonly Fault[];

/** How often a fault happens on a node, compared with other nodes. Nodes with equal shares would all behave alike. */
const SHARES = [0, 1, 1, 3];

/** Probabilities of faults in the runtime. `random` draws the node's share of each fault. */
export function runtimeFaults(
  faults: ReadonlySet<Fault>,
  random: (key: string) => number,
): Required<RuntimeFaults> {
  const share = (fault: Fault) => SHARES[Math.floor(random(`faults/${fault}`) * SHARES.length)] ?? 1;
  const chance = (fault: Fault, probability: number) =>
    faults.has(fault) ? Math.min(1, share(fault) * probability) : 0;
  const anyCall = {
    fail: chance('fail', 0.05),
    lostAnswer: chance('lost-answer', 0.03),
    hang: chance('hang', 0.01),
    slow: chance('slow', 0.03),
    disappear: chance('disappear', 0.03),
    untrue: chance('untrue', 0.1),
  };
  // Calls that start something cause the most trouble when they are carried out late.
  const creation = { ...anyCall, hang: chance('hang', 0.04) };
  return {
    anyCall,
    calls: { RunPodSandbox: creation, CreateContainer: creation, StartContainer: creation },
    events: {
      lost: chance('events', 0.2),
      late: chance('events', 0.05),
      doubled: chance('events', 0.05),
      reordered: chance('events', 0.05),
    },
    sandboxDeath: chance('sandbox-death', 0.1),
  };
}

/** Probabilities of faults between the agent and the API server. */
export function apiFaults(faults: ReadonlySet<Fault>): ApiFaults {
  const [api, watch] = [faults.has('api') ? 1 : 0, faults.has('watch') ? 1 : 0];
  return {
    fail: 0.05 * api,
    lostAnswer: 0.03 * api,
    hang: 0.01 * api,
    slow: 0.03 * api,
    lateRights: 0.1 * api,
    lateEvents: 0.02 * watch,
    brokenWatch: 0.3 * watch,
    oldList: 0.3 * watch,
  };
}

/** Probabilities of faults of the node itself. */
export function nodeFaults(faults: ReadonlySet<Fault>): NodeFaults {
  const volumes = faults.has('volumes') ? 1 : 0;
  return {
    mount: 0.1 * volumes,
    mountHang: 0.05 * volumes,
    mountOutage: 0.05 * volumes,
    release: 0.1 * volumes,
    pull: faults.has('images') ? 0.1 : 0,
  };
}

/** Probabilities of faults when the node is measured. */
export function statsFaults(faults: ReadonlySet<Fault>): StatsFaults {
  return { fail: faults.has('fail') ? 0.1 : 0, slow: faults.has('slow') ? 0.1 : 0 };
}
