/** What happens to the ConfigMaps and Secrets of a node's cluster: they are made late, changed, deleted, and made immutable. */
import type { ContentResource } from '../api/pod-references.ts';
import { type PlannedChange, type PlannedFor, timesAtRate } from './planned-change.ts';
import type { SeededRandom } from './seeded-random.ts';

export type ContentChange =
  /** Makes the object, or replaces its data. An immutable one stays as it is, as the API server refuses the change. */
  | {
      readonly kind: 'set object';
      readonly resource: ContentResource;
      readonly name: string;
      readonly keys: readonly string[];
      readonly immutable: boolean;
    }
  | { readonly kind: 'delete object'; readonly resource: ContentResource; readonly name: string };

export const CONFIG_NAMES = ['config-1', 'config-2', 'config-3'] as const;
export const SECRET_NAMES = ['secret-1', 'secret-2'] as const;
export const KEYS = ['a', 'b', 'c'] as const;

/** The average for each node. */
const CHANGES_PER_HOUR = 30;

/** The first change of an object creates it, perhaps minutes after the first pod that refers to it. */
export function* contentChanges(
  random: SeededRandom,
  { hours }: Pick<PlannedFor, 'hours'>,
): Generator<PlannedChange<ContentChange>, undefined> {
  for (const atMs of timesAtRate(random, hours, CHANGES_PER_HOUR)) {
    const object = random.pick(OBJECTS);
    const isDeletion = random.next() < 0.3;
    const change = isDeletion ? ({ kind: 'delete object', ...object } as const) : setting(object, random);
    yield { atMs, name: '', change };
  }
}

interface NamedObject {
  readonly resource: ContentResource;
  readonly name: string;
}

const OBJECTS: readonly NamedObject[] = [
  ...CONFIG_NAMES.map((name) => ({ resource: 'configmaps', name }) as const),
  ...SECRET_NAMES.map((name) => ({ resource: 'secrets', name }) as const),
];

/** Mostly with all keys: a pod that requires a key waits for it. */
function setting(object: NamedObject, random: SeededRandom): ContentChange {
  const keys = random.next() < 0.8 ? KEYS : KEYS.filter(() => random.next() < 0.6);
  return { kind: 'set object', ...object, keys, immutable: random.next() < 0.15 };
}
