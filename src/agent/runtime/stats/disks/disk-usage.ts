import { setTimeout as delay } from 'node:timers/promises';
import type { AgentContext } from '../../../../types/agent-context.ts';
import { errorMessage } from '../../../../types/errors.ts';
import type { RuntimePodStatus } from '../../../../types/runtime-pod.ts';
import { podFields } from '../../../../types/logger.ts';
import { Pace } from './disk-walk.ts';
import { measurePodDisk, type PodDisk, type PodDiskPlaces } from './pod-disk.ts';

/** The time limit for one pod, pauses included. What was counted by then is the pod's figure. */
const LIMIT_MS = 60_000;

export interface MeasuredPodDisk extends PodDisk {
  readonly measuredAt: number;
}

/**
 * How much of the disk pods use. A pod is measured when its figures are asked for and too old: one pod at a time, slowly, in
 * the background. The caller waits for a limited time and gets the figures known by then.
 */
export class DiskUsage {
  readonly #context: AgentContext;
  readonly #places: PodDiskPlaces;
  readonly #limitMs: number;
  readonly #known = new Map<string, MeasuredPodDisk>();
  readonly #abort = new AbortController();
  readonly #pace = new Pace(this.#abort.signal);
  /** Measurements under way, by UID: all callers share one. */
  readonly #pending = new Map<string, Promise<void>>();
  #last: Promise<void> = Promise.resolve();
  readonly #warned = new Set<string>();

  constructor(context: AgentContext, places: PodDiskPlaces, limitMs = LIMIT_MS) {
    this.#context = context;
    this.#places = places;
    this.#limitMs = limitMs;
  }

  /** By UID, without pods that have not been measured yet. */
  async of(
    pods: readonly RuntimePodStatus[],
    { maxAgeMs, patienceMs }: { readonly maxAgeMs: number; readonly patienceMs: number },
  ): Promise<ReadonlyMap<string, MeasuredPodDisk>> {
    this.#forgetOthers(pods);
    const old = pods.filter(({ uid }) => !this.#isYoung(uid, maxAgeMs));
    const measured = Promise.all(old.map((pod) => this.#measure(pod)));
    const patience = new AbortController();
    const patienceOver = delay(patienceMs, undefined, { signal: patience.signal }).catch(() => undefined);
    if (old.length > 0) await Promise.race([measured, patienceOver]);
    patience.abort();
    return new Map(this.#known);
  }

  /** Resolves when no measurement is under way. */
  async stop(): Promise<void> {
    this.#abort.abort();
    await this.#last;
  }

  /** A time in the future is from before the clock was set back: it counts as old. */
  #isYoung(uid: string, maxAgeMs: number): boolean {
    const known = this.#known.get(uid);
    const ageMs = known && this.#context.clock.now() - known.measuredAt;
    return ageMs !== undefined && ageMs >= 0 && ageMs <= maxAgeMs;
  }

  #measure(pod: RuntimePodStatus): Promise<void> {
    const { uid } = pod;
    const pending = this.#pending.get(uid);
    if (pending) return pending;
    const work = this.#last.then(() => this.#measureNow(pod)).finally(() => this.#pending.delete(uid));
    this.#pending.set(uid, work);
    this.#last = work;
    return work;
  }

  /** Never rejects: the next pod in the queue is measured in any case. */
  async #measureNow(pod: RuntimePodStatus): Promise<void> {
    const { signal } = this.#abort;
    const limitMs = this.#limitMs;
    if (signal.aborted) return;
    try {
      const measure = () => measurePodDisk(this.#context, pod, this.#places, this.#pace);
      const disk = await this.#pace.within(limitMs, measure);
      this.#known.set(pod.uid, { ...disk, measuredAt: this.#context.clock.now() });
      if (this.#pace.isOver) {
        const seconds = limitMs / 1000;
        this.#warnOnce(pod, `More files than can be measured in ${seconds} s: the pod uses more`);
      }
    } catch (error) {
      if (!this.#abort.signal.aborted)
        this.#warnOnce(pod, `The disk usage of the pod is not known: ${errorMessage(error)}`);
    }
  }

  #warnOnce(pod: RuntimePodStatus, message: string): void {
    if (this.#warned.has(pod.uid)) return;
    this.#warned.add(pod.uid);
    this.#context.logger.warn(podFields(pod), message);
  }

  #forgetOthers(pods: readonly RuntimePodStatus[]): void {
    const uids = new Set(pods.map(({ uid }) => uid));
    for (const uid of this.#known.keys()) if (!uids.has(uid)) this.#known.delete(uid);
    for (const uid of this.#warned) if (!uids.has(uid)) this.#warned.delete(uid);
  }
}
