import { CreatedPods } from '../../../src/simulation/node/created-pods.ts';
import type { HostContext } from '../../../src/simulation/node/host-context.ts';
import { VirtualClock } from '../../../src/simulation/node/virtual-clock.ts';
import { newTally } from '../../../src/simulation/tally.ts';

/** What the parts of a simulated node use, of which a test gives what it looks at. */
export function hostContext(own: Partial<HostContext>): HostContext {
  return {
    node: 1,
    clock: new VirtualClock(),
    random: () => 0.5,
    faults: () => new Set(),
    pods: new CreatedPods(),
    disk: new Map(),
    tally: newTally(),
    tell: () => undefined,
    violated: () => undefined,
    ...own,
  };
}
