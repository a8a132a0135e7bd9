/** Compares the effects of pods (sync, stop, cleanup) with the invariants: one at a time, and each as the pod's chart wants it. */
import type { PodEffects } from '../../agent/actors/pods/pod-actor.ts';
import type { PodContext } from '../../agent/machines/pod-machine.ts';
import type { CallUnderWay } from '../runtime/witness.ts';
import type { PodProgress } from './pod-progress.ts';
import { DRAINING, isRead, type RuntimeTruth } from './pod-states.ts';

export type EffectName = Exclude<keyof PodEffects, 'refreshStatus'>;

export interface EffectJudgeOptions {
  readonly truth: RuntimeTruth;
  /** Whether the call was begun by an earlier agent, or has been abandoned. */
  readonly isForeign: (call: CallUnderWay) => boolean;
  readonly violated: (invariant: string, uid: string, what: string) => void;
}

interface Effect {
  readonly name: EffectName;
  readonly context: PodContext;
  readonly signal: AbortSignal;
  isUnderWay: boolean;
  /** A call about the pod failed or was not answered properly, or an abandoned call may still be carried out. */
  isDisturbed: boolean;
}

export class EffectJudge {
  readonly #options: EffectJudgeOptions;
  /** By UID, the latest effect. */
  readonly #effects = new Map<string, Effect>();
  /** UIDs of the pods about which a call was carried out late, before any further effect has begun. */
  readonly #late = new Set<string>();
  /** UIDs of the pods that the agent has not read since. */
  readonly #unread = new Set<string>();

  constructor(options: EffectJudgeOptions) {
    this.#options = options;
  }

  /** Returns a function to call when the effect has ended. */
  begins(name: EffectName, context: PodContext, signal: AbortSignal): () => void {
    const { uid } = context;
    const { truth, isForeign } = this.#options;
    this.#checkAlone(uid, name);
    const isDisturbed =
      this.#late.delete(uid) || this.#unread.has(uid) || truth.inFlight(uid).some(isForeign);
    const effect: Effect = { name, context, signal, isUnderWay: true, isDisturbed };
    this.#effects.set(uid, effect);
    return () => {
      effect.isUnderWay = false;
    };
  }

  /** A call about the pod failed or was not answered properly. */
  disturbed(uid: string): void {
    const effect = this.#effects.get(uid);
    if (effect !== undefined) effect.isDisturbed = true;
  }

  /** An abandoned call has been carried out. The effect under way cannot know of it, and the next one may not know yet. */
  landedLate(uid: string): void {
    this.#late.add(uid);
    this.#unread.add(uid);
    this.disturbed(uid);
  }

  /** The agent reads the pod in the runtime. Until then, effects begin with what an earlier read has found. */
  read(uid: string): void {
    this.#unread.delete(uid);
  }

  /** Whether a call was carried out late that no effect has had the chance to see. */
  hasLateCall(uid: string): boolean {
    return this.#late.has(uid);
  }

  /** An effect that does not fit the pod's state any more must have been aborted. */
  checkFits({ uid, state, orders }: PodProgress): void {
    const effect = this.#effects.get(uid);
    if (effect?.isUnderWay !== true || effect.signal.aborted) return;
    if (state === DRAINING) this.#options.violated('I2', uid, `${effect.name} goes on in ${DRAINING}`);
    if (effect.name !== 'stopPod') return;
    const { gracePeriodSeconds = Infinity } = effect.context;
    const { graceSeconds } = orders;
    if (gracePeriodSeconds <= graceSeconds) return;
    const what = `a stop with ${gracePeriodSeconds} s is under way, though ${graceSeconds} s were asked for`;
    this.#options.violated('I4', uid, what);
  }

  /** A stop checks what runs (lifecycle 7). It fails only if one of its calls fails. */
  checkFailedStop({ uid }: PodProgress): void {
    if (this.#effects.get(uid)?.isDisturbed === false)
      this.#options.violated('rule 7', uid, 'a stop fails, though all that it asked for was done');
  }

  /** I5: an effect begins only when no call of the effect before it that changes something is in flight. */
  #checkAlone(uid: string, name: EffectName): void {
    const { truth, isForeign, violated } = this.#options;
    const before = this.#effects.get(uid);
    if (before?.isUnderWay === true) violated('I5', uid, `${name} begins beside ${before.name}`);
    for (const call of truth.inFlight(uid)) {
      if (isForeign(call) || isRead(call.name)) continue;
      // Containers of an earlier incarnation may be removed while this one ends, but not while it starts.
      if (call.name.startsWith('Remove') && name !== 'syncPod') continue;
      violated('I5', uid, `${name} begins while ${call.name} is in flight`);
    }
  }
}
