/**
 * Rules of docs/lifecycle.md that every path must keep. They are checked without the machine, by the events that the pod's
 * actor gets and by the effects that begin.
 */
import { stateName } from '../../../src/actors/transitions.ts';
import type { PodContext, PodEvent } from '../../../src/machines/pod-machine.ts';
import { isStaticPod } from '../../../src/policies/pod/pod-kinds.ts';
import { isEnding } from '../../../src/policies/termination/pod-termination.ts';
import type { PodState } from './pod-environment.ts';

const REASONS_TO_SYNC: ReadonlySet<string> = new Set([
  ...['SyncPodCreate', 'SyncPodUpdate', 'SyncPodSync', 'ADMITTED'],
]);

export class PodRules {
  readonly #broken: string[] = [];
  /** The event since the begin of the last sync that asks for another sync. */
  #reasonToSync: string | undefined;
  #mustEnd = false;
  #evicted = false;
  #statusOverride: PodContext['statusOverride'];
  /** The grace period of the last stop. */
  #stopSeconds: number | undefined;

  /** The actor is in `state` and gets an event. */
  told(event: PodEvent, state: PodState): void {
    if (REASONS_TO_SYNC.has(event.type) || ('again' in event && event.again)) this.#reasonToSync = event.type;
    if ('pod' in event && event.pod && isEnding(event.pod)) this.#mustEnd = true;
    if (event.type === 'SYNC_DONE' && event.terminal) this.#mustEnd = true;
    if (event.type === 'REJECTED' && !waitsForRoom(event, state)) this.#mustEnd = true;
    if (event.type !== 'SyncPodKill') return;
    this.#mustEnd = true;
    if (state.matches('Terminated')) return;
    this.#evicted ||= event.options?.evict === true;
    this.#statusOverride = event.options?.podStatus ?? this.#statusOverride;
  }

  /** Whether an event has asked for this sync. */
  syncBegins(): boolean {
    const isAskedFor = this.#reasonToSync !== undefined;
    if (!isAskedFor) this.#broken.push('2: nothing has asked for this sync');
    this.#reasonToSync = undefined;
    return isAskedFor;
  }

  stopBegins({ gracePeriodSeconds }: PodContext): void {
    this.#stopSeconds = gracePeriodSeconds;
  }

  /** The broken rules, with their numbers. */
  broken(state: PodState): readonly string[] {
    const { evicted, statusOverride, gracePeriodSeconds } = state.context;
    const at = stateName(state.value);
    const rests = at === 'Syncing.Settled' || at === 'Syncing.BackingOff';
    const stops = at === 'Terminating.Stopping' || at === 'Terminating.BackingOff';
    const found = {
      [`2: ${String(this.#reasonToSync)} is left lying`]: rests && this.#reasonToSync !== undefined,
      '2: an eviction is forgotten': evicted !== this.#evicted,
      '3: the pod does not end': this.#mustEnd && !state.hasTag('terminationRequested'),
      '4: a shorter grace period waits': stops && this.#stopSeconds !== gracePeriodSeconds,
      '5: the last status is not the final one': statusOverride !== this.#statusOverride,
    };
    return [...this.#broken, ...Object.keys(found).filter((what) => found[what])];
  }
}

/** A static pod that lacks only room waits and does not end. */
function waitsForRoom({ lack }: { readonly lack?: object }, { context }: PodState): boolean {
  return lack !== undefined && context.pod !== undefined && isStaticPod(context.pod);
}
