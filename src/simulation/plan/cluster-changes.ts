/** What happens in a node's cluster, beside what happens to its pods: outages of the API server, and what others do there. */
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

const HOUR_MS = 3_600_000;
/** The average for each node. */
const CHANGES_PER_HOUR = 12;

export interface PlannedClusterChange {
  readonly atMs: number;
  /** The pod's name; empty where it is about the node. */
  readonly name: string;
  readonly change: ClusterChange;
}

export function* clusterChanges(
  random: SeededRandom,
  { pods, hours }: { readonly pods: number; readonly hours: number },
): Generator<PlannedClusterChange, undefined> {
  const endMs = Math.round(hours * HOUR_MS);
  for (let atMs = later(random); atMs < endMs; atMs += later(random)) {
    const name = `pod-${String(random.integer(1, Math.max(1, pods)))}`;
    const change = clusterChange(random);
    yield {
      atMs,
      name: change.kind.endsWith('mirror') || change.kind.endsWith('condition') ? name : '',
      change,
    };
  }
}

const later = (random: SeededRandom): number => random.integer(0, (2 * HOUR_MS) / CHANGES_PER_HOUR);

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
