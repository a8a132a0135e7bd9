/** What happens to the ConfigMaps and Secrets of a node's cluster: they are made late, changed, deleted, and made immutable. */
import type { ContentResource } from '../api/pod-references.ts';
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

export interface PlannedContentChange {
  readonly atMs: number;
  /** Empty: it is about no pod. */
  readonly name: '';
  readonly change: ContentChange;
}

export const CONFIG_NAMES = ['config-1', 'config-2', 'config-3'] as const;
export const SECRET_NAMES = ['secret-1', 'secret-2'] as const;
export const KEYS = ['a', 'b', 'c'] as const;

const HOUR_MS = 3_600_000;
/** The average for each node. */
const CHANGES_PER_HOUR = 30;

/** An object is there after its first change, which may come minutes after the first pod that refers to it. */
export function* contentChanges(
  random: SeededRandom,
  { hours }: { readonly hours: number },
): Generator<PlannedContentChange, undefined> {
  const endMs = Math.round(hours * HOUR_MS);
  for (let atMs = later(random); atMs < endMs; atMs += later(random)) {
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

const later = (random: SeededRandom): number => random.integer(0, (2 * HOUR_MS) / CHANGES_PER_HOUR);

/** Mostly with all keys: a pod that requires a key waits for it. */
function setting(object: NamedObject, random: SeededRandom): ContentChange {
  const keys = random.next() < 0.8 ? KEYS : KEYS.filter(() => random.next() < 0.6);
  return { kind: 'set object', ...object, keys, immutable: random.next() < 0.15 };
}
