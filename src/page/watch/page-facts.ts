/** What the page shows of the node and its pods, made when it is asked for. */
import type { AnyActorRef, AnyStateMachine, StateValue } from 'xstate';
import { milliValue, parseQuantity, quantityValue } from '../../agent/policies/formats/quantity.ts';
import { podSummaryIn } from '../../agent/policies/status/pod-table.ts';
import { podHealth } from '../../agent/policies/why/pod-health.ts';
import { type RecordedLife, whyGone } from '../../agent/policies/why/why-gone.ts';
import type { Why } from '../../agent/policies/why/why-pod.ts';
import type { CoreEvent } from '../../types/kubernetes.ts';
import type {
  ActorsInState,
  ActorView,
  ChartActivity,
  GonePod,
  GoneRow,
  NodeView,
  PodEnd,
  PodRow,
  PodView,
  RoomView,
} from '../../types/page-views.ts';
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

/** `10:32:05Z (in 37s)`: a row is not sent again for long, and the page counts by itself. */
const DISTANCE = / \((?:in [\ddhmsy]+|[\ddhmsy]+ ago)\)/gu;
const GONE_MAX = 200;
const NODE_REASONS: readonly string[] = ['Evicted', 'Preempting', 'NodeShutdown'];
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

  /** The events about these pods. */
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
    const sinceMs = supervisor.registry.inStateSince(entry);
    const state = stateName(value);
    const pod = context.pod && { ...context.pod, ...(status && { status }) };
    const summary = pod && podSummaryIn(pod, state);
    return {
      ...{ uid, namespace, name, state },
      status: summary?.status ?? 'Unknown',
      ...this.#health(entry, state),
      sinceMs,
      phase: status?.phase ?? '',
      ready: summary?.ready ?? 0,
      containers: summary?.total ?? 0,
      restarts: summary?.restarts ?? 0,
      ...(why?.nextTry !== undefined && { nextTryMs: Date.parse(why.nextTry) }),
      says: (why?.sentences[0] ?? '').replace(`${namespace}/${name} `, '').replaceAll(DISTANCE, ''),
    };
  }

  /** A row may not be sent again for long, so it also has the health that follows by time alone. */
  #health(entry: PodEntry, state: string): Pick<PodRow, 'health' | 'later'> {
    const { supervisor, statusManager } = this.#sources.agent;
    const { pod, gracePeriodSeconds } = entry.actor.getSnapshot().context;
    if (pod === undefined) return { health: { kind: 'ending' } };
    const facts = {
      ...{ pod, state, gracePeriodSeconds },
      status: statusManager.get(entry.pod.uid),
      sinceMs: supervisor.registry.inStateSince(entry),
      isUnwanted: supervisor.desired.get(entry.pod.uid) === undefined,
    };
    const health = podHealth({ ...facts, nowMs: this.now() });
    const { untilMs } = health;
    return { health, ...(untilMs !== undefined && { later: podHealth({ ...facts, nowMs: untilMs }) }) };
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
  gonePod(namespace: string, name: string): GonePod {
    return gonePod(whyOfPod(this.#sources, namespace, name));
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

  /** Pods that are gone, from the record and from events. The newest first. */
  gone(lives: readonly RecordedLife[]): readonly GoneRow[] {
    const events = this.#sources.events().filter(({ involvedObject: { kind } }) => kind === 'Pod');
    const byUID = Map.groupBy(events, ({ involvedObject: { uid = '' } }) => uid);
    const recorded = new Map(lives.map((life) => [life.uid, life]));
    const uids = [...new Set([...byUID.keys(), ...recorded.keys()])];
    const rows = uids
      .filter((uid) => this.#registry.get(uid) === undefined)
      .flatMap((uid) => goneRow(uid, recorded.get(uid), byUID.get(uid) ?? [], this.now()));
    return rows.sort((a, b) => (b.endedMs ?? 0) - (a.endedMs ?? 0)).slice(0, GONE_MAX);
  }

  /** Events of the node, and of pods that it has evicted or ended for others. */
  nodeEvents(): readonly CoreEvent[] {
    return this.#sources
      .events()
      .filter(
        ({ involvedObject: { kind }, reason = '' }) => kind === 'Node' || NODE_REASONS.includes(reason),
      );
  }

  /** The states of the actors of each chart. */
  charts(): readonly ChartActivity[] {
    const found = new Map<string, { actors: number; states: Map<string, ActorsInState> }>();
    const pods = [...this.#registry.entries()].map(({ actor }) => actor);
    for (const { chart, actor, states } of [...pods, ...this.#active()].flatMap(actorView)) {
      const activity = found.get(chart) ?? { actors: 0, states: new Map<string, ActorsInState>() };
      found.set(chart, activity);
      activity.actors += 1;
      for (const state of states) {
        const { count = 0 } = activity.states.get(state) ?? {};
        activity.states.set(state, { state, actor, count: count + 1 });
      }
    }
    return [...found].map(([chart, { actors, states }]) => {
      return { chart, actors, states: [...states.values()].sort((a, b) => b.count - a.count) };
    });
  }

  #active(): readonly AnyActorRef[] {
    const actors = new Set(this.#sources.agent.roots.flatMap((root) => [...runningActors(root)]));
    return [...actors].filter((actor) => (actor.getSnapshot() as SeenSnapshot).status === 'active');
  }

  /** For pods, only the actor with the requested name. */
  actors(chart: string): readonly ActorView[] {
    return this.#active()
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

/** Empty if nothing is known to show. */
function goneRow(
  uid: string,
  life: RecordedLife | undefined,
  events: readonly CoreEvent[],
  nowMs: number,
): readonly GoneRow[] {
  const last = events.at(-1);
  const { namespace = '', name = '' } = life ?? last?.involvedObject ?? {};
  const why = whyGone({
    ...{ namespace, name, events, nowMs },
    ...(life && { recorded: { life, choice: undefined } }),
  });
  if (why === undefined) return [];
  const { end } = life ?? {};
  const endedMs = end?.endedMs ?? life?.sinceMs ?? Date.parse(last?.lastTimestamp ?? '');
  return [
    {
      ...{ namespace, name, uid, ...podEnd(why.end) },
      ...(!Number.isNaN(endedMs) && { endedMs }),
      says: why.sentences.join(' ').replaceAll(DISTANCE, ''),
    },
  ];
}

/** `why`: of a pod that is not here. */
export function gonePod(why: Why | undefined): GonePod {
  return {
    sentences: why?.sentences ?? [],
    ...(why?.state === 'Gone' && { end: podEnd(why.end) }),
  };
}

/** As in kubectl, a pod whose containers have all ended, some of them with failure, is not Completed. */
function podEnd(end: Why['end']): PodEnd {
  if (end === undefined) return { status: 'Gone', kind: 'done' };
  const { cause, phase, reason } = end;
  const hasFailed = phase === 'Failed';
  const status = cause === 'Completed' && hasFailed ? 'Error' : cause;
  return { status: reason ?? status, kind: hasFailed ? 'failed' : 'done' };
}
