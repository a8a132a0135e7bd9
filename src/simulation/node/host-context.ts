import type { Clock } from '../../types/clock.ts';
import type { Violation } from '../history.ts';
import type { Fault } from '../plan/fault-kinds.ts';
import type { Tally } from '../tally.ts';
import type { CreatedPods } from './created-pods.ts';
import type { SimulatedDisk } from './simulated-disk.ts';

/** What all parts of a simulated node use, those of the machine and those of its agents. `Host` makes it. */
export interface HostContext {
  readonly node: number;
  readonly clock: Clock;
  /** In [0, 1), by the key. */
  readonly random: (key: string) => number;
  /** Those that are switched on. */
  readonly faults: () => ReadonlySet<Fault>;
  readonly pods: CreatedPods;
  readonly disk: SimulatedDisk;
  readonly tally: Tally;
  /** Adds a line to the history: about the node, or about the pod of that name or UID. A minor one is not part of a violation's story. */
  readonly tell: (
    what: string,
    pod?: { readonly name?: string; readonly uid?: string },
    isMinor?: boolean,
  ) => void;
  readonly violated: (violation: Omit<Violation, 'node'>) => void;
}
