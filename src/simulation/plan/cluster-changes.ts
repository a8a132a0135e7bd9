/** What happens in a node's cluster, beside what happens to its pods: outages of the API server, and what others do there. */
import { drawnPodName, type PlannedChange, type PlannedFor, timesAtRate } from './planned-change.ts';
import type { SeededRandom } from './seeded-random.ts';

export type ClusterChange =
  /** The server cannot be reached. `silent`: it takes requests and answers none. `forgetful`: then it knows no older versions. */
  | {
      readonly kind: 'stop api';
      readonly downMs: number;
      readonly silent: boolean;
      readonly forgetful: boolean;
    }
  /** Watches that end cannot go on where they were. */
  | { readonly kind: 'forget versions' }
  /** Somebody deletes the mirror pod of a static pod. */
  | { readonly kind: 'delete mirror'; readonly graceSeconds: number }
  /** A controller sets a condition of the pod, such as a readiness gate. */
  | { readonly kind: 'set condition'; readonly status: 'True' | 'False' }
  /** The node is cordoned, or not any more, and gets another label. */
  | { readonly kind: 'cordon'; readonly unschedulable: boolean };

/** The average for each node. */
const CHANGES_PER_HOUR = 12;

export function* clusterChanges(
  random: SeededRandom,
  { pods, hours }: PlannedFor,
): Generator<PlannedChange<ClusterChange>, undefined> {
  for (const atMs of timesAtRate(random, hours, CHANGES_PER_HOUR)) {
    const name = drawnPodName(random, pods);
    const change = clusterChange(random);
    const isOfPod = change.kind.endsWith('mirror') || change.kind.endsWith('condition');
    yield { atMs, name: isOfPod ? name : '', change };
  }
}

function clusterChange(random: SeededRandom): ClusterChange {
  const kind = random.pick([
    'stop api',
    'stop api',
    'forget versions',
    'delete mirror',
    'set condition',
    'cordon',
  ]);
  const [downMs, one, two] = [random.integer(100, 120_000), random.next() < 0.3, random.next() < 0.5];
  switch (kind) {
    case 'stop api':
      return { kind, downMs, silent: one, forgetful: two };
    case 'delete mirror':
      return { kind, graceSeconds: one ? 0 : 30 };
    case 'set condition':
      return { kind, status: two ? 'True' : 'False' };
    case 'cordon':
      return { kind, unschedulable: two };
    default:
      return { kind: 'forget versions' };
  }
}
