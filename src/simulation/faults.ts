import type { RuntimeFaults } from '../runtime/simulated/faults.ts';
import type { NodeFaults } from './simulated-node.ts';

/** What can be made to go wrong, and how that is told to a person. */
export const FAULTS = {
  fail: 'a call to the runtime fails, nothing has been done',
  'lost-answer': 'a call is carried out, and answered with an error',
  hang: 'a call is not answered before its deadline; it may still be carried out, later',
  slow: 'a call takes a hundred times as long',
  disappear: 'what was listed a moment ago is said not to be there',
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

/** Probabilities of what happens in the runtime by itself. */
export function runtimeFaults(faults: ReadonlySet<Fault>): RuntimeFaults {
  const chance = (fault: Fault, probability: number) => (faults.has(fault) ? probability : 0);
  return {
    anyCall: {
      fail: chance('fail', 0.05),
      lostAnswer: chance('lost-answer', 0.03),
      hang: chance('hang', 0.01),
      slow: chance('slow', 0.03),
      disappear: chance('disappear', 0.03),
    },
    events: {
      lost: chance('events', 0.1),
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
