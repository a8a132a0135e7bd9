/** Passes the events and snapshots of an agent's actors to the judges and to the history. */
import type { InspectedEventEvent, InspectionEvent, SnapshotFrom } from 'xstate';
import type { PodSnapshot } from '../../agent/actors/pods/pod-registry.ts';
import { stateName } from '../../agent/actors/transitions.ts';
import type { EvictionPluginsEvent } from '../../agent/machines/eviction-plugins-machine.ts';
import type { EvictionEvent, evictionMachine } from '../../agent/machines/eviction-machine.ts';
import type { PodEvent } from '../../agent/machines/pod-machine.ts';
import type { PreemptionContext, PreemptionEvent } from '../../agent/machines/preemption-machine.ts';
import type { Eviction } from '../../agent/policies/eviction/pass.ts';
import { PRESSURE_CONDITIONS } from '../../agent/policies/eviction/signals.ts';
import type { AdmissionJudge } from '../judges/admission-judge.ts';
import type { EvictionView } from '../judges/eviction/eviction-judge.ts';
import type { LifecycleJudge } from '../judges/lifecycle-judge.ts';
import type { PodEndJudge } from '../judges/pod-end-judge.ts';
import { isEndingState } from '../judges/pod-states.ts';

export interface ActorInspectionOptions {
  readonly lifecycle: LifecycleJudge;
  readonly admission: AdmissionJudge;
  readonly ends: PodEndJudge;
  /** Adds a line about the pod to the history. */
  readonly tell: (uid: string, name: string, what: string) => void;
  /** The pod's actor has reached its last state. */
  readonly onFinished: (uid: string) => void;
}

type EvictionSnapshot = SnapshotFrom<typeof evictionMachine>;

export class ActorInspection {
  readonly #options: ActorInspectionOptions;

  constructor(options: ActorInspectionOptions) {
    this.#options = options;
  }

  inspect(event: InspectionEvent): void {
    if (event.type === '@xstate.event') {
      this.#inspectPreemption(event);
      this.#inspectEviction(event);
      this.#inspectPlugins(event);
    }
    if (event.type !== '@xstate.snapshot') return;
    if (isEviction(event)) {
      const view = viewOf(event.snapshot as EvictionSnapshot);
      this.#options.admission.evictions?.shows(event.event as EvictionEvent, view);
    }
    if (isOfPlugins(event)) this.#options.admission.plugins?.shows(event.event as EvictionPluginsEvent);
    const snapshot = event.snapshot as unknown as PodSnapshot;
    if (isPod(snapshot)) this.#inspectPod(event.actorRef, snapshot, event.event as PodEvent);
  }

  #inspectPod(actor: object, snapshot: PodSnapshot, event: PodEvent): void {
    const { lifecycle, admission, ends, tell, onFinished } = this.#options;
    const { uid, fullName } = snapshot.context;
    const state = stateName(snapshot.value);
    const [name = ''] = fullName.split('_');
    tell(uid, name, `${event.type} -> ${state}`);
    admission.onSnapshot(actor, snapshot, event);
    const hasNewState = lifecycle.onSnapshot(actor, snapshot, event);
    if (hasNewState && isEndingState(state)) ends.checkRequested(uid, name);
    if (hasNewState && state === 'Terminated.Finished') {
      ends.checkFinished(uid, event);
      onFinished(uid);
    }
  }

  #inspectPreemption({ actorRef, event }: InspectedEventEvent): void {
    const { context } = actorRef.getSnapshot() as { context?: Partial<PreemptionContext> };
    if (context?.preemptor === undefined || event.type.startsWith('xstate.')) return;
    const { uid, name } = context.preemptor;
    this.#options.tell(uid, name, `preemption: ${lineOf(event as PreemptionEvent)}`);
    this.#options.admission.onPreemptionEvent(uid, event as PreemptionEvent);
  }

  #inspectEviction(inspected: InspectedEventEvent): void {
    if (!isEviction(inspected) || inspected.event.type.startsWith('xstate.')) return;
    const event = inspected.event as EvictionEvent;
    for (const { pod, signal } of evictionsOf(event))
      this.#options.tell(pod.uid, pod.name, `eviction: is chosen to go for ${signal}`);
    this.#options.admission.evictions?.hears(event);
  }

  #inspectPlugins(inspected: InspectedEventEvent): void {
    if (!isOfPlugins(inspected) || inspected.event.type.startsWith('xstate.')) return;
    const event = inspected.event as EvictionPluginsEvent;
    if (event.type === 'CHOSEN')
      for (const { pod, plugin } of event.choice.ending)
        this.#options.tell(pod.metadata.uid, pod.metadata.name, `plugins: ${plugin} ends it`);
    this.#options.admission.plugins?.hears(event);
  }
}

/** Whether it is the actor that asks eviction plugins. */
function isOfPlugins({ actorRef }: InspectionEvent): boolean {
  return 'id' in actorRef && actorRef.id === 'evictionPlugins';
}

/** The event in one line, with the UIDs of the pods that it is about. */
function lineOf(event: PreemptionEvent): string {
  if (event.type === 'VICTIMS_SELECTED') {
    const victims = event.decision.victims.map(({ candidate }) => candidate.uid);
    return `${event.type} ${victims.join()}; awaited: ${event.awaited.join()}`;
  }
  return 'uid' in event ? `${event.type} ${event.uid}` : event.type;
}

/** The evictions that the event decides on. */
function evictionsOf(event: EvictionEvent): readonly Eviction[] {
  if (event.type === 'EVALUATED') return event.evaluation.overLimit;
  return event.type === 'RANKED' && event.choice.eviction !== undefined ? [event.choice.eviction] : [];
}

function isEviction({ actorRef }: InspectionEvent): boolean {
  return 'id' in actorRef && actorRef.id === 'eviction';
}

function viewOf(snapshot: EvictionSnapshot): EvictionView {
  const conditions = PRESSURE_CONDITIONS.filter((condition) => snapshot.hasTag(condition));
  const { Pass: pass } = snapshot.value;
  return {
    pass: typeof pass === 'string' ? pass : 'Evaluating',
    isMeasuringMemory: snapshot.matches({ Pass: { Evaluating: 'Memory' } }),
    conditions,
  };
}

/** A request that a chart invokes has no context. */
function isPod(snapshot: Partial<PodSnapshot>): snapshot is PodSnapshot {
  return snapshot.context !== undefined && 'runtimeHolds' in snapshot.context;
}
