/** What the page shows of the node and its pods, made when it is asked for. */
import type { AnyActorRef, AnyStateMachine, StateValue } from 'xstate';
import { milliValue, parseQuantity, quantityValue } from '../../agent/policies/formats/quantity.ts';
import type { Why } from '../../agent/policies/why/why-pod.ts';
import type { CoreEvent } from '../../types/kubernetes.ts';
import type { ActorView, NodeView, PodRow, PodView, RoomView } from '../../types/page-views.ts';
import { runningActors } from '../../agent/actors/agent-actor.ts';
import type { NodeAgent } from '../../agent/actors/node-agent.ts';
import type { PodEntry } from '../../agent/actors/pods/pod-registry.ts';
import { activeNodes, stateName } from '../../agent/actors/transitions.ts';
import { whyOfEntry, whyOfNode, whyOfPod, type WhySources } from '../../agent/actors/why-facts.ts';

interface SeenSnapshot {
  readonly status: string;
  readonly machine?: AnyStateMachine;
  readonly value?: StateValue;
}

export interface PageFactsSources extends WhySources {
  readonly agent: WhySources['agent'] & Pick<NodeAgent, 'roots'>;
  readonly version: string;
}

/** `10:32:05Z (in 37s)`: a row stands for long, and the page counts by itself. */
const DISTANCE = / \((?:in [\ddhmsy]+|[\ddhmsy]+ ago)\)/gu;
const ROOM = ['cpu', 'memory', 'ephemeral-storage'];

export class PageFacts {
  readonly #sources: PageFactsSources;

  constructor(sources: PageFactsSources) {
    this.#sources = sources;
  }

  get #registry() {
    return this.#sources.agent.supervisor.registry;
  }

  get total(): number {
    return this.#registry.size;
  }

  now(): number {
    return this.#sources.clock.now();
  }

  uids(): readonly string[] {
    return [...this.#registry.entries()].map(({ pod }) => pod.uid);
  }

  /** Undefined for a pod that has no actor. `events`: about this pod. */
  row(uid: string, events: readonly CoreEvent[] = this.eventsOf(uid)): PodRow | undefined {
    const entry = this.#registry.get(uid);
    return entry && this.#row(entry, whyOfEntry(this.#sources, entry, events));
  }

  eventsOf(uid: string): readonly CoreEvent[] {
    return this.#sources.events().filter(({ involvedObject }) => involvedObject.uid === uid);
  }

  /** Those about these pods. */
  eventsByUID(uids: readonly string[]): ReadonlyMap<string, readonly CoreEvent[]> {
    const found = new Map<string, CoreEvent[]>(uids.map((uid) => [uid, []]));
    for (const event of this.#sources.events()) found.get(event.involvedObject.uid ?? '')?.push(event);
    return found;
  }

  #row(entry: PodEntry, why: Why | undefined): PodRow {
    const { uid, namespace, name } = entry.pod;
    const { value, context } = entry.actor.getSnapshot();
    const { supervisor, statusManager } = this.#sources.agent;
    const status = statusManager.get(uid);
    const statuses = status?.containerStatuses ?? [];
    const sinceMs = supervisor.registry.inStateSince(entry);
    return {
      uid,
      namespace,
      name,
      state: stateName(value),
      ...(sinceMs !== undefined && { sinceMs }),
      phase: status?.phase ?? '',
      ready: statuses.filter(({ ready }) => ready).length,
      containers: context.pod?.spec.containers.length ?? statuses.length,
      restarts: statuses.reduce((sum, { restartCount }) => sum + restartCount, 0),
      ...(why?.nextTry !== undefined && { nextTryMs: Date.parse(why.nextTry) }),
      says: (why?.sentences[0] ?? '').replace(`${namespace}/${name} `, '').replaceAll(DISTANCE, ''),
    };
  }

  pod(namespace: string, name: string): PodView | undefined {
    const entry = this.#entry(namespace, name);
    const pod = entry?.actor.getSnapshot().context.pod;
    if (entry === undefined || pod === undefined) return undefined;
    const events = this.eventsOf(entry.pod.uid);
    const why = whyOfEntry(this.#sources, entry, events);
    const status = this.#sources.agent.statusManager.get(entry.pod.uid);
    return { row: this.#row(entry, why), sentences: why?.sentences ?? [], pod, status, events };
  }

  /** What is known of a pod that is not here. */
  sentences(namespace: string, name: string): readonly string[] {
    return whyOfPod(this.#sources, namespace, name)?.sentences ?? [];
  }

  #entry(namespace: string, name: string): PodEntry | undefined {
    const found = [...this.#registry.entries()].filter(
      ({ pod }) => pod.namespace === namespace && pod.name === name,
    );
    return found.findLast(({ actor }) => !actor.getSnapshot().hasTag('finished')) ?? found.at(-1);
  }

  node(): NodeView {
    const { agent, version } = this.#sources;
    const why = whyOfNode(this.#sources);
    const { name, conditions } = agent.nodeFacts();
    const { sentences, state } = why;
    return { name, isReady: state === 'Ready', sentences, conditions, room: this.#room(), version };
  }

  #room(): readonly RoomView[] {
    const { supervisor, nodeFacts } = this.#sources.agent;
    const { allocatable } = nodeFacts.call(this.#sources.agent);
    const { reserved } = supervisor;
    const room = ROOM.flatMap((resource) => {
      const amount = allocatable[resource];
      if (amount === undefined) return [];
      const quantity = parseQuantity(amount);
      const most = Number(resource === 'cpu' ? milliValue(quantity) : quantityValue(quantity));
      return [{ resource, requested: reserved.amount(resource), allocatable: most }];
    });
    const pods = Number(allocatable.pods ?? 0);
    return [...room, { resource: 'pods', requested: reserved.pods, allocatable: pods }];
  }

  /** Of pods only the one that is asked for, by the name of its actor. */
  actors(chart: string): readonly ActorView[] {
    const actors = new Set(this.#sources.agent.roots.flatMap((root) => [...runningActors(root)]));
    return [...actors]
      .filter((actor) => (actor.getSnapshot() as SeenSnapshot).status === 'active')
      .flatMap(actorView)
      .filter((view) => view.chart === chart);
  }

  actorOfPod(namespace: string, name: string): readonly ActorView[] {
    const entry = this.#entry(namespace, name);
    return entry === undefined ? [] : actorView(entry.actor);
  }
}

/** Empty for an actor that is no machine. */
function actorView(actor: AnyActorRef): readonly ActorView[] {
  const { machine, value } = actor.getSnapshot() as SeenSnapshot;
  if (machine === undefined || value === undefined) return [];
  const innermost = activeNodes({ machine, value }).filter(
    ({ type }) => type === 'atomic' || type === 'final',
  );
  return [{ chart: machine.id, actor: actor.id, states: innermost.map(({ path }) => path.join('.')) }];
}
