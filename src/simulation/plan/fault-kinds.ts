import type { RuntimeFaults } from '../../runtime/simulated/call-faults.ts';
import type { NodeFaults } from '../node/simulated-node.ts';
import type { StatsFaults } from '../resources/simulated-stats.ts';

/** What can be made to go wrong, and how that is told to a person. */
export const FAULTS = {
  fail: 'a call to the runtime fails, nothing has been done; the node cannot be measured',
  'lost-answer': 'a call is carried out, and answered with an error',
  hang: 'a call is not answered before its deadline; it may still be carried out, later',
  slow: 'a call takes a hundred times as long; figures of the node come late',
  disappear: 'what was listed a moment ago is said not to be there',
  untrue: 'a sandbox is said to be stopped, and is not',
  events: 'events of the runtime are lost, late, doubled, or come in another order',
  'sandbox-death': 'a sandbox dies',
  exit: 'a container ends that was to go on',
  volumes: 'volumes cannot be mounted, or released',
  images: 'an image cannot be pulled',
  agent: 'the agent is killed, or stopped, at any step, and starts again',
  runtime: 'the runtime goes down and comes back; what runs keeps running',
} as const;

export type Fault = keyof typeof FAULTS;

export const ALL_FAULTS = Object.keys(FAULTS) as readonly Fault[];

/** How much of a fault there is, compared with others: nodes on which everything goes wrong alike are all the same. */
const SHARES = [0, 1, 1, 3];

/** Probabilities of what happens in the runtime by itself. `random` says how much of each fault there is on this node. */
export function runtimeFaults(faults: ReadonlySet<Fault>, random: (key: string) => number): RuntimeFaults {
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
  // What lands late of these is what most can go wrong with.
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

/** Probabilities of what happens on the node around the runtime. */
export function nodeFaults(faults: ReadonlySet<Fault>): NodeFaults {
  const volumes = faults.has('volumes') ? 0.1 : 0;
  return { mount: volumes, release: volumes, pull: faults.has('images') ? 0.1 : 0 };
}

/** Probabilities of what happens as the node is measured. */
export function statsFaults(faults: ReadonlySet<Fault>): StatsFaults {
  return { fail: faults.has('fail') ? 0.1 : 0, slow: faults.has('slow') ? 0.1 : 0 };
}
