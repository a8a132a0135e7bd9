/** Checks the pods against their manifests, and finds violations, by the runtime and the records of the containers. */
import type { Container, PodSandbox } from '../../../src/types/cri.ts';
import type { Pod } from '../../../src/types/kubernetes.ts';
import { stateOf } from '../daemon.ts';
import type { RuntimeTap } from '../runtime-tap.ts';
import { completes, type Incarnation, kindOf } from './pods.ts';
import { CONTAINER_NAME, POD_UID, type Witness } from './witness.ts';
import type { Note, World } from './world.ts';

export interface Sight {
  readonly sandboxes: readonly PodSandbox[];
  readonly containers: readonly Container[];
  /** The pod as the daemon serves it. */
  readonly served: readonly Pod[];
  readonly notes: readonly Note[];
}

/** The differences from the manifests. */
export function problems(wanted: readonly Incarnation[], sight: Sight): readonly string[] {
  const uids = new Set(wanted.map(({ uid }) => uid));
  const held = [...sight.sandboxes, ...sight.containers].map(({ labels }) => labels[POD_UID] ?? '?');
  const served = sight.served.map(({ metadata }) => metadata.uid);
  return [
    ...held.filter((uid) => !uids.has(uid)).map((uid) => `something of ${uid} is left`),
    ...served.filter((uid) => !uids.has(uid)).map((uid) => `${uid} is served`),
    ...wanted.flatMap((pod) => problemsOf(pod, sight).map((problem) => `${pod.uid} ${problem}`)),
  ];
}

function problemsOf(pod: Incarnation, sight: Sight): string[] {
  const { once, restless } = kindOf(pod);
  const noted = (container: string, what: Note['what']) =>
    notesOf(pod, container, sight).some((note) => note.what === what);
  const [served, another] = sight.served.filter(({ metadata }) => metadata.uid === pod.uid);
  if (served === undefined || another !== undefined) return ['is served twice, or not at all'];
  return [
    ...once.filter((name) => !noted(name, 'ends')).map((name) => `${name} has not run to its end`),
    ...restless.filter((name) => !noted(name, 'starts')).map((name) => `${name} has not started`),
    ...twins(pod, sight),
    ...(completes(pod) ? completed(pod, sight, served) : runs(pod, sight, served)),
  ];
}

/** Instances in all states: each instance has its own attempt number. */
function twins(pod: Incarnation, { containers }: Sight): string[] {
  const own = containers.filter(({ labels }) => labels[POD_UID] === pod.uid);
  const instances = own.map(({ metadata: { name, attempt } }) => `${name} ${String(attempt)}`);
  return instances.length === new Set(instances).size ? [] : [`has twins: ${instances.join()}`];
}

function completed(pod: Incarnation, sight: Sight, served: Pod): string[] {
  const isOver = served.status?.phase === 'Succeeded' && stateOf(served) === 'Terminated.Finished';
  return [
    ...(running(pod, sight).length > 0 ? ['still runs'] : []),
    ...(readySandboxes(pod, sight) > 0 ? ['still has a sandbox'] : []),
    ...(isOver ? [] : [`is in ${stateOf(served) ?? '?'} with ${JSON.stringify(served.status)}`]),
  ];
}

function runs(pod: Incarnation, sight: Sight, served: Pod): string[] {
  const ready = readySandboxes(pod, sight);
  return [
    ...(ready === 1 ? [] : [`has ${String(ready)} sandboxes`]),
    ...(served.status?.phase === 'Running' ? [] : [`is served with ${JSON.stringify(served.status)}`]),
    ...kindOf(pod).lasting.flatMap((name) => runsOnce(pod, name, sight, served)),
  ];
}

function runsOnce(pod: Incarnation, name: string, sight: Sight, served: Pod): string[] {
  const [instance, another] = running(pod, sight).filter((container) => nameOf(container) === name);
  if (instance === undefined || another !== undefined) return [`has two of ${name}, or none`];
  const isCurrent = notesOf(pod, name, sight).at(-1)?.revision === pod.revision;
  return [
    ...(isCurrent ? [] : [`${name} is not of revision ${String(pod.revision)}`]),
    ...(isServedAs(instance, served) ? [] : [`${name} is served with ${JSON.stringify(served.status)}`]),
  ];
}

function isServedAs(instance: Container, { status }: Pod): boolean {
  const { initContainerStatuses = [], containerStatuses = [] } = status ?? {};
  const all = [...initContainerStatuses, ...containerStatuses];
  const served = all.find(({ name }) => name === nameOf(instance));
  return (
    served?.containerID?.endsWith(`://${instance.id}`) === true &&
    served.restartCount === instance.metadata.attempt &&
    served.state?.running !== undefined &&
    served.ready
  );
}

/** Remembers the containers that must keep running, and finds violations that waiting cannot repair. */
export class Judge {
  readonly #world: World;
  readonly #witness: Witness;
  readonly #tap: RuntimeTap;
  /** IDs of containers that must keep running, by UID. */
  readonly #kept = new Map<string, Set<string>>();

  constructor(world: World, witness: Witness, tap: RuntimeTap) {
    this.#world = world;
    this.#witness = witness;
    this.#tap = tap;
  }

  /** Containers that run now must go on running until the manifests of their pods change. */
  keep({ containers }: Pick<Sight, 'containers'>): void {
    for (const pod of this.#world.wanted) {
      const ids = this.#kept.get(pod.uid) ?? new Set();
      this.#kept.set(pod.uid, ids);
      for (const { id } of lastingOf(pod, containers)) ids.add(id);
    }
  }

  /** All pods match their manifests: their containers must keep running from now on. */
  settled(sight: Sight): void {
    this.#kept.clear();
    this.keep(sight);
    this.#world.settled();
  }

  violations(sight: Sight): readonly string[] {
    const ofPods = this.#world.wanted.flatMap((pod) =>
      [...this.#lost(pod, sight), ...this.#repeated(pod, sight)].map((what) => `I10: ${pod.uid} ${what}`),
    );
    return [...this.#witness.violations(), ...ofPods];
  }

  #lost(pod: Incarnation, { containers }: Sight): string[] {
    if (!this.#world.isUndisturbed(pod.uid)) return [];
    const ids = lastingOf(pod, containers).map(({ id }) => id);
    const lost = [...(this.#kept.get(pod.uid) ?? [])].filter((id) => !ids.includes(id));
    return lost.map((id) => `${id} did not go on running`);
  }

  /** By the runtime and by the records: containers start at most as often as their pod was to start. */
  #repeated(pod: Incarnation, sight: Sight): string[] {
    const { lasting, once } = kindOf(pod);
    const { uid } = pod;
    const lives = this.#world.lives(uid);
    return [...lasting, ...once].flatMap((container) => {
      const notes = notesOf(pod, container, sight);
      const count = (what: Note['what']) => notes.filter((note) => note.what === what).length;
      const starts = Math.max(count('starts'), this.#witness.starts(uid, container));
      return [
        ...(starts > lives + this.#cutShort(uid, container) ? [`started ${container} twice`] : []),
        ...(count('ends') > lives ? [`ran ${container} to its end twice`] : []),
      ];
    });
  }

  /** The number of starts that the runtime gave up: the container may have run for a moment. */
  #cutShort(uid: string, container: string): number {
    const labels = [...this.#tap.cutShort].map((id) => this.#tap.made.get(id));
    return labels.filter((one) => one?.[POD_UID] === uid && one[CONTAINER_NAME] === container).length;
  }
}

function notesOf({ uid }: Incarnation, container: string, { notes }: Sight): Note[] {
  return notes.filter((note) => note.uid === uid && note.container === container);
}

function lastingOf(pod: Incarnation, containers: readonly Container[]): Container[] {
  return running(pod, { containers }).filter((container) => kindOf(pod).lasting.includes(nameOf(container)));
}

function running({ uid }: Incarnation, { containers }: Pick<Sight, 'containers'>): Container[] {
  return containers.filter(({ state, labels }) => state === 'CONTAINER_RUNNING' && labels[POD_UID] === uid);
}

function readySandboxes({ uid }: Incarnation, { sandboxes }: Sight): number {
  return sandboxes.filter(({ state, labels }) => state === 'SANDBOX_READY' && labels[POD_UID] === uid).length;
}

function nameOf({ labels }: Container): string {
  return labels[CONTAINER_NAME] ?? '';
}
