/** The plan of a simulation: operations on its nodes, in their order, drawn from the seed alone. */
import TinyQueue from 'tinyqueue';
import type { CallName } from '../runtime/chance.ts';
import type { PodSpec } from '../../types/kubernetes.ts';
import { type ClusterChange, clusterChanges } from './cluster-changes.ts';
import { type ContentChange, contentChanges } from './content-changes.ts';
import { type HandDeletion, handDeletions, type LeftRemains, leftRemains } from './local-changes.ts';
import { HOUR_MS, type PlannedChange } from './planned-change.ts';
import { withContents, withoutContents } from './pod-contents.ts';
import { podSpec } from './pod-specs.ts';
import { type ResizeChange, resizeChanges } from './resize-changes.ts';
import { seededRandom, type SeededRandom } from './seeded-random.ts';

export interface PlanOptions {
  readonly seed: number;
  readonly nodes: number;
  /** How many pod names there are on each node. Each name has at most one pod at a time. */
  readonly pods: number;
  /** Simulated time. */
  readonly hours: number;
}

/** What an operation does. A change that needs a pod does nothing if the name has none. */
export type Change =
  | ClusterChange
  | ContentChange
  | HandDeletion
  | LeftRemains
  | ResizeChange
  | { readonly kind: 'create'; readonly source: 'file' | 'api' | 'local'; readonly spec: PodSpec }
  /** Creates the last pod of the name again, with its UID. */
  | { readonly kind: 'create again' }
  | { readonly kind: 'flap'; readonly times: number }
  | { readonly kind: 'relabel'; readonly times: number }
  | { readonly kind: 'change image' }
  /** The API server sets a deletionTimestamp. The manifest of another pod is removed. */
  | { readonly kind: 'delete'; readonly graceSeconds: number }
  /** The pod is removed from its source at once. */
  | { readonly kind: 'remove' }
  | { readonly kind: 'kill'; readonly kills: readonly Kill[]; readonly everyMs: number }
  | { readonly kind: 'end container'; readonly code: number }
  | { readonly kind: 'end sandbox' }
  | { readonly kind: 'crash agent'; readonly downMs: number }
  | { readonly kind: 'restart agent'; readonly downMs: number }
  | { readonly kind: 'stop runtime'; readonly downMs: number }
  /** The inner change is made as soon as the next such call about the pod has begun. */
  | { readonly kind: 'ambush'; readonly call: CallName; readonly change: Change };

export interface Kill {
  readonly graceSeconds: number;
  /** The reason for the pod's final status, if any. */
  readonly reason: 'Preempting' | 'Evicted' | undefined;
}

export interface Operation {
  /** `--only` names operations by this number. */
  readonly number: number;
  /** Since the start of the simulation. */
  readonly atMs: number;
  readonly node: number;
  /** The pod's name; empty where it is about the node. */
  readonly name: string;
  readonly change: Change;
}

/** The average for each pod name. */
const OPERATIONS_PER_HOUR = 12;
/** Operations come in volleys, so that later ones meet effects of earlier ones that are still under way. */
const MAX_VOLLEY = 4;
const VOLLEY_GAP_MS = 3_000;

/**
 * Sorted by time. The plan is the same for all choices of faults: operations of faults that are switched off are skipped later. It
 * draws each operation when it is needed, so that a long plan takes no more memory than a short one.
 */
export function* plan(options: PlanOptions): Generator<Operation, undefined> {
  const queue = new TinyQueue<Ahead>([], inOrder);
  for (const [slot, operations] of slots(options).entries()) enqueue(queue, slot, operations);
  for (let number = 1; ; number++) {
    const ahead = queue.pop();
    if (ahead === undefined) return;
    yield { number, ...ahead.operation };
    enqueue(queue, ahead.slot, ahead.later);
  }
}

export function countOperations(options: PlanOptions): number {
  return slots(options).reduce((sum, operations) => sum + lengthOf(operations), 0);
}

type Unnumbered = Omit<Operation, 'number'>;
type Operations = Generator<Unnumbered, undefined>;

/** The next operation of a name, and the operations after it. */
interface Ahead {
  readonly slot: number;
  readonly operation: Unnumbered;
  readonly later: Operations;
}

/** Operations at the same time come in the order of their names. */
const inOrder = (a: Ahead, b: Ahead): number => a.operation.atMs - b.operation.atMs || a.slot - b.slot;

function enqueue(queue: TinyQueue<Ahead>, slot: number, later: Operations): void {
  const { value: operation } = later.next();
  if (operation !== undefined) queue.push({ slot, operation, later });
}

/**
 * One sequence of operations for each pod name on each node, and for whatever else happens to a node: in its cluster, to its objects, by a
 * person, to pods that no API server knows, and to what is left of pods. All sequences draw from one series of random numbers, one sequence
 * after the other. So each is drawn once here, to find where the numbers of the next one begin.
 */
function slots({ seed, nodes, pods, hours }: PlanOptions): Operations[] {
  const random = seededRandom(seed);
  const ofPods = Array.from({ length: nodes * pods }, (_, slot) => {
    const who = { node: Math.floor(slot / pods) + 1, name: `pod-${String((slot % pods) + 1)}` };
    return operationsOf(who, random, hours);
  });
  const ofNodes = (drawn: (random: SeededRandom) => Iterable<PlannedChange<Change>>) =>
    Array.from({ length: nodes }, (_, index) => {
      const ofNode = random.fork();
      lengthOf(drawn(random));
      return onNode(index + 1, drawn(ofNode));
    });
  const ofClusters = ofNodes((numbers) => clusterChanges(numbers, { pods, hours }));
  const ofHands = ofNodes((numbers) => handDeletions(numbers, { pods, hours }));
  const ofContents = ofNodes((numbers) => contentChanges(numbers, { hours }));
  const ofLocalPods = Array.from({ length: nodes }, (_, index) =>
    localNames(pods).map((name) => operationsOf({ node: index + 1, name }, random, hours, ofLocalPod)),
  );
  const ofRemains = ofNodes((numbers) => leftRemains(numbers, { pods, hours }));
  const ofResizes = ofNodes((numbers) => resizeChanges(numbers, { pods, hours }));
  return [
    ...ofPods,
    ...ofClusters,
    ...ofHands,
    ...ofContents,
    ...ofLocalPods.flat(),
    ...ofRemains,
    ...ofResizes,
  ];
}

/** Takes as many numbers as the operations will. */
function operationsOf(
  who: Pick<Operation, 'node' | 'name'>,
  random: SeededRandom,
  hours: number,
  adapted?: (change: Change) => Change,
): Operations {
  const ofTimes = random.fork();
  const count = lengthOf(times(random, hours));
  const ofChanges = random.fork();
  for (let index = 0; index < count; index++) changes(index, random);
  return operations(who, times(ofTimes, hours), ofChanges, adapted);
}

function* onNode(node: number, changes: Iterable<PlannedChange<Change>>): Operations {
  for (const change of changes) yield { node, ...change };
}

function* operations(
  who: Pick<Operation, 'node' | 'name'>,
  times: Iterable<number>,
  random: SeededRandom,
  adapted = (change: Change) => change,
): Operations {
  let index = 0;
  for (const atMs of times)
    for (const change of changes(index++, random)) yield { atMs, ...who, change: adapted(change) };
}

function lengthOf(items: Iterable<unknown>): number {
  const iterator = items[Symbol.iterator]();
  let length = 0;
  while (iterator.next().done !== true) length += 1;
  return length;
}

/** The first operation comes within a minute, so that a short simulation has operations, too. */
function* times(random: SeededRandom, hours: number): Generator<number, undefined> {
  const endMs = Math.round(hours * HOUR_MS);
  let atMs = random.integer(0, Math.min(60_000, endMs));
  while (atMs < endMs) {
    const volley = random.integer(1, MAX_VOLLEY);
    for (let shot = 0; shot < volley && atMs < endMs; shot++) {
      yield atMs;
      atMs += random.integer(0, VOLLEY_GAP_MS);
    }
    const meanMs = (volley * HOUR_MS) / OPERATIONS_PER_HOUR;
    atMs += random.integer(0, 2 * meanMs);
  }
}

const GRACES = [0, 1, 2, 5, 10, 30, 60];

/** An item with a weight is drawn in proportion to it. */
type Weighted<T> = readonly [weight: number, make: (random: SeededRandom) => T];

/** A static pod may not refer to objects of the cluster. */
const create = (random: SeededRandom): Change => {
  const source = random.pick(['file', 'api'] as const);
  const spec = podSpec(random);
  return { kind: 'create', source, spec: source === 'api' ? withContents(spec, random) : spec };
};

const crash = (random: SeededRandom): Change => ({ kind: 'crash agent', downMs: random.integer(0, 60_000) });

const CHANGES: readonly Weighted<Change>[] = [
  [30, create],
  [6, () => ({ kind: 'create again' })],
  [4, (random) => ({ kind: 'flap', times: random.integer(1, 10) })],
  [6, (random) => ({ kind: 'relabel', times: random.pick([1, 1, 3, 100]) })],
  [5, () => ({ kind: 'change image' })],
  [10, (random) => ({ kind: 'delete', graceSeconds: random.pick(GRACES) })],
  [8, () => ({ kind: 'remove' })],
  [
    12,
    (random) => ({
      kind: 'kill',
      kills: Array.from({ length: random.integer(1, 4) }, () => ({
        graceSeconds: random.pick(GRACES),
        reason: random.pick([undefined, undefined, 'Preempting', 'Evicted']),
      })),
      everyMs: random.pick([0, 0, 50, 1_000]),
    }),
  ],
  [8, (random) => ({ kind: 'end container', code: random.pick([0, 1, 137]) })],
  [4, () => ({ kind: 'end sandbox' })],
  [1, crash],
  [0.5, (random) => ({ kind: 'restart agent', downMs: random.integer(0, 5_000) })],
  [0.5, (random) => ({ kind: 'stop runtime', downMs: random.integer(100, 60_000) })],
  [15, (random) => ({ kind: 'ambush', call: random.pick(AMBUSHED_CALLS), change: drawn(CHANGES, random) })],
];

/** Changes that come at the same time. */
const VOLLEYS: readonly Weighted<readonly Change[]>[] = [
  [96, (random) => [drawn(CHANGES, random)]],
  // A change while no agent runs.
  [3, (random) => [crash(random), drawn(CHANGES, random)]],
  // The pod is removed while no agent runs, and created again while its containers are being removed.
  [
    1,
    (random) => [
      crash(random),
      { kind: 'remove' },
      { kind: 'ambush', call: 'RemoveContainer', change: { kind: 'create again' } },
    ],
  ],
];

/** The first change creates a pod: there is nothing to change yet. */
const changes = (index: number, random: SeededRandom): readonly Change[] =>
  index === 0 ? [create(random)] : drawn(VOLLEYS, random);

const AMBUSHED_CALLS: readonly CallName[] = [
  'PullImage',
  'RunPodSandbox',
  'CreateContainer',
  'StartContainer',
  'StopContainer',
  'StopPodSandbox',
  'RemoveContainer',
  'RemovePodSandbox',
  'ListContainers',
];

function drawn<T>(weighted: readonly Weighted<T>[], random: SeededRandom): T {
  let left = random.next() * weighted.reduce((sum, [weight]) => sum + weight, 0);
  const chosen = weighted.find(([weight]) => (left -= weight) < 0);
  return (chosen ?? random.pick(weighted))[1](random);
}

/** How many names of such pods there are on a node, beside `pods` others. */
export function localNames(pods: number): readonly string[] {
  return Array.from({ length: Math.ceil(pods / 4) }, (_, index) => `local-${String(index + 1)}`);
}

/** A manifest that changes is a new pod, so what changes a pod in place becomes a deletion by hand, or a manifest that goes and comes. */
export function ofLocalPod(change: Change): Change {
  switch (change.kind) {
    case 'create':
      return { ...change, source: 'local', spec: withoutContents(change.spec) };
    case 'relabel':
      return { kind: 'delete by hand' };
    case 'change image':
      return { kind: 'flap', times: 1 };
    case 'ambush':
      return { ...change, change: ofLocalPod(change.change) };
    default:
      return change;
  }
}
