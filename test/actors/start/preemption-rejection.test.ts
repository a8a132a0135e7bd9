import { expect, test } from '@jest/globals';
import { createActor, type InspectionEvent, setup } from 'xstate';
import { Preemptions } from '../../../src/actors/start/preemptions.ts';
import { VirtualClock } from '../../../src/simulation/node/virtual-clock.ts';
import { nodeOf, requestingPod } from '../../support/admission.ts';

const critical = requestingPod('critical', { requests: { cpu: '2' }, critical: true });
const silent = () => undefined;

test('a pod that ends by rejection has been rejected before it is gone', () => {
  const told: string[] = [];
  const inspect = (event: InspectionEvent) => {
    if (event.type === '@xstate.microstep') told.push(event.event.type);
  };
  const parent = createActor(setup({}).createMachine({}), { inspect }).start();
  const preemptions: Preemptions = new Preemptions({
    podOf: () => critical,
    facts: () => ({
      node: nodeOf({ cpu: '1' }),
      holders: [],
      lowerPriorityFirst: true,
      room: { ending: new Set(), promisedTo: [] },
    }),
    holds: () => false,
    kill: silent,
    gracePeriodSeconds: () => 30,
    admit: () => ({ kind: 'admitted' }),
    // A pod that has never started is finished at once.
    reject: (uid) => preemptions.ended(uid),
    onPromiseOver: silent,
    clock: new VirtualClock(),
    recorder: { event: silent },
    logger: { trace: silent, debug: silent, info: silent, warn: silent, error: silent },
    preempting: silent,
    parent,
  });
  preemptions.begin(critical.metadata);
  const ends = told.filter((type) => ['REJECTED', 'PREEMPTOR_GONE'].includes(type));
  expect(ends[0]).toBe('REJECTED');
  expect(preemptions.has('critical')).toBe(false);
});
