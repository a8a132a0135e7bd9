/** The facts about a pod or the node for `statelet why`. */
import { stateName } from './transitions.ts';
import { readyProblems } from '../policies/node/ready-problems.ts';
import { evictionChoice, whyNode } from '../policies/why/why-node.ts';
import { initAndRegular } from '../policies/pod-actions/restart.ts';
import { fullName } from '../policies/pod/pod-kinds.ts';
import { type RecordedPod, whyGone } from '../policies/why/why-gone.ts';
import { amountOf, heldText, type Lack } from '../policies/why/lacked-parts.ts';
import { type Why, whyPod } from '../policies/why/why-pod.ts';
import type { Clock } from '../../types/clock.ts';
import type { CoreEvent, Pod } from '../../types/kubernetes.ts';
import type { NodeAgent } from './node-agent.ts';
import type { PodEntry } from './pods/pod-registry.ts';

export interface WhySources {
  readonly agent: Pick<
    NodeAgent,
    'supervisor' | 'statusManager' | 'nodeFacts' | 'nodeHealth' | 'eviction' | 'holders'
  >;
  readonly clock: Clock;
  /** The oldest first. */
  readonly events: () => readonly CoreEvent[];
}

export interface NamedPod {
  readonly namespace: string;
  readonly name: string;
}

/** Also for a pod that is gone, while there are events about it; else undefined. */
export function whyOfPod(sources: WhySources, namespace: string, name: string): Why | undefined {
  const known = knownPod(sources, { namespace, name });
  return known ? whyKnown(sources, known) : whyOfGone(sources, { namespace, name });
}

/** The same, with the record of a pod that is gone, or that was chosen to end. The record is read only for these. */
export async function whyOfPodWithRecord(
  sources: WhySources,
  pod: NamedPod,
  read: (pod: NamedPod) => Promise<RecordedPod | undefined>,
): Promise<Why | undefined> {
  const known = knownPod(sources, pod);
  if (known === undefined) {
    const recorded = await read(pod).catch(() => undefined);
    // The pod may have come meanwhile.
    const come = knownPod(sources, pod);
    return come ? whyKnown(sources, come) : whyOfGone(sources, recorded?.life ?? pod, recorded);
  }
  const why = whyKnown(sources, known);
  const { cause, choice } = why.end ?? {};
  if (choice !== undefined || (cause !== 'Preempted' && cause !== 'Evicted')) return why;
  const recorded = await read(pod).catch(() => undefined);
  const isSame = recorded?.life.uid === known.pod.metadata.uid && recorded.life.end?.cause === cause;
  return isSame ? whyKnown(sources, known, recorded) : why;
}

interface KnownPod {
  readonly pod: Pod;
  readonly entry: PodEntry | undefined;
}

function knownPod({ agent: { supervisor } }: WhySources, name: NamedPod): KnownPod | undefined {
  const called = fullName(name);
  const entry = newest([...supervisor.registry.entries()].filter((one) => one.fullName === called));
  const pod = entry?.actor.getSnapshot().context.pod ?? supervisor.desired.getByFullName(called);
  return pod && { pod, entry };
}

function whyOfGone(
  sources: WhySources,
  { namespace, name }: NamedPod,
  recorded?: RecordedPod,
): Why | undefined {
  const events = sources.events().filter(({ involvedObject: { kind, ...object } }) => {
    return kind === 'Pod' && object.namespace === namespace && object.name === name;
  });
  return whyGone({ namespace, name, events, recorded, nowMs: sources.clock.now() });
}

/** A pod that has not ended comes before one that has. */
function newest(entries: readonly PodEntry[]): PodEntry | undefined {
  return entries.findLast(({ actor }) => !actor.getSnapshot().hasTag('finished')) ?? entries.at(-1);
}

/** Of a pod that has an actor, with the events about it. Undefined where the pod is known by its name alone. */
export function whyOfEntry(
  sources: WhySources,
  entry: PodEntry,
  events: readonly CoreEvent[],
): Why | undefined {
  const { pod } = entry.actor.getSnapshot().context;
  return pod && whyKnown({ ...sources, events: () => events }, { pod, entry });
}

/** `recorded`: facts that the agent itself does not know any more. */
function whyKnown(
  { agent, clock, events }: WhySources,
  { pod, entry }: KnownPod,
  recorded?: RecordedPod,
): Why {
  const { supervisor, statusManager } = agent;
  const { uid } = pod.metadata;
  const snapshot = entry?.actor.getSnapshot();
  const outcome = snapshot?.context.lastOutcome;
  return whyPod({
    pod,
    status: statusManager.get(uid),
    state: snapshot === undefined ? '' : stateName(snapshot.value),
    sinceMs: entry && supervisor.registry.inStateSince(entry),
    delay: snapshot?.context.delay,
    mountProblem: outcome?.kind === 'notMounted' ? outcome.problem : undefined,
    podWait: supervisor.registry.podWait(uid),
    resizeDelay: supervisor.resizeDelay(uid),
    holdersOf: (lack) => holdersOf(agent, lack),
    rejection: snapshot?.context.rejection,
    override: snapshot?.context.statusOverride,
    endedMs: recorded?.life.end?.endedMs,
    choice: recorded?.choice ?? (agent.eviction && evictionChoice(agent.eviction, uid)),
    gracePeriodSeconds: snapshot?.context.gracePeriodSeconds,
    isUnwanted: supervisor.desired.get(uid) === undefined,
    nextTryMs: supervisor.nextSyncAt(uid),
    events: events().filter(({ involvedObject }) => involvedObject.uid === uid),
    nowMs: clock.now(),
  });
}

/** Which pods hold what a pod lacks. Containers of ended pods hold nothing. */
function holdersOf({ supervisor, holders }: WhySources['agent'], lack: Lack): string | undefined {
  const pods = [...supervisor.registry.entries()].flatMap(
    ({ actor }) => actor.getSnapshot().context.pod ?? [],
  );
  const all = pods.map((pod) => ({
    name: `${pod.metadata.namespace}/${pod.metadata.name}`,
    held: initAndRegular(pod).map((container) => holders.ofContainer(pod, container)),
  }));
  return heldText(lack, all, amountOf(holders.allocatable(), lack.part));
}

export function whyOfNode({ agent, clock }: WhySources): Why {
  const { supervisor, statusManager } = agent;
  const { name, conditions } = agent.nodeFacts();
  const here = [...supervisor.registry.entries()].filter(
    ({ actor }) => !actor.getSnapshot().hasTag('finished'),
  );
  const namesOf = (entries: readonly PodEntry[]) => entries.map(({ pod }) => `${pod.namespace}/${pod.name}`);
  const isEnding = ({ actor }: PodEntry) => actor.getSnapshot().hasTag('terminationRequested');
  const isRunning = ({ pod: { uid } }: PodEntry) => statusManager.get(uid)?.phase === 'Running';
  const { value } = supervisor.actor.getSnapshot() as { readonly value: object };
  return whyNode({
    name,
    problems: readyProblems(agent.nodeHealth(), clock.now()),
    conditions,
    pressure: agent.eviction,
    nowMs: clock.now(),
    states: Object.entries(value).map(([region, state]) => `${region}.${String(state)}`),
    pods: here.length,
    waiting: namesOf(here.filter((entry) => !isEnding(entry) && !isRunning(entry))),
    ending: namesOf(here.filter(isEnding)),
  });
}
