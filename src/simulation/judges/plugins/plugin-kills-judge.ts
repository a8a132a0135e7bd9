/** Compares the ends of pods for plugins with the choices: only chosen pods are ended, each once, each gets its kill, each ends. */
import type { PodEvent } from '../../../agent/machines/pod-machine.ts';
import { isEndingOrEnded, type PodRecord } from '../pod-records.ts';
import { isTerminated } from '../pod-states.ts';

export type KillEvent = Extract<PodEvent, { readonly type: 'SyncPodKill' }>;

export interface PluginKillsJudgeOptions {
  readonly get: (uid: string) => PodRecord | undefined;
  /** Whether this node ends the pod itself: then the pod gets SyncPodKill at once. */
  readonly endsHere: (record: PodRecord) => boolean;
  readonly violated: (subject: { readonly uid: string }, what: string) => void;
}

/** A pod that was chosen. */
interface Order {
  readonly record: PodRecord;
  readonly plugin: string;
  /** Of the shortest SyncPodKill; undefined where there was none. */
  graceSeconds: number | undefined;
}

const TEXT = /^Eviction plugin (\S+) chose this pod: /;

/** Whether a kill is for a plugin, by the status that it sets. */
export function isOfPlugin({ options }: KillEvent): boolean {
  return TEXT.test(options?.podStatus?.message ?? '');
}

export class PluginKillsJudge {
  readonly #options: PluginKillsJudgeOptions;
  /** By UID, the latest. */
  readonly #orders = new Map<string, Order>();

  constructor(options: PluginKillsJudgeOptions) {
    this.#options = options;
  }

  /** The pod has been chosen. It is ended from now on, until it has ended. */
  chosen(record: PodRecord, plugin: string): void {
    this.#orders.set(record.uid, { record, plugin, graceSeconds: undefined });
    if (!this.#options.endsHere(record)) return;
    queueMicrotask(() => {
      if (!isEndingOrEnded(record)) this.#violated(record, 'is chosen by a plugin, and is not told');
    });
  }

  /** It was chosen before, and has not ended. */
  isOpen(uid: string): boolean {
    const order = this.#orders.get(uid);
    return order !== undefined && isOfNow(order, this.#options.get(uid)) && !hasEnded(order);
  }

  killed(record: PodRecord, { options }: KillEvent): void {
    const { podStatus, podTerminationGracePeriodSecondsOverride: graceSeconds = 0, evict } = options ?? {};
    const [, plugin = ''] = TEXT.exec(podStatus?.message ?? '') ?? [];
    const order = this.#orders.get(record.uid);
    if (order?.record !== record) {
      this.#violated(record, `is ended for ${plugin}, and was not chosen`);
      return;
    }
    if (order.plugin !== plugin) this.#violated(record, `is ended for ${plugin}, not for ${order.plugin}`);
    if (podStatus?.reason !== 'Evicted' || podStatus.phase !== 'Failed' || evict !== true)
      this.#violated(record, 'is ended for a plugin, and not as one that is evicted');
    if (graceSeconds >= (order.graceSeconds ?? Infinity))
      this.#violated(record, `is ended for a plugin twice: within ${graceSeconds} s the second time`);
    order.graceSeconds = graceSeconds;
  }

  /** A pod that was chosen and goes on, if there is one. */
  get unfinished(): { readonly uid: string; readonly what: string } | undefined {
    for (const [uid, order] of this.#orders)
      if (this.isOpen(uid)) return { uid, what: `was chosen by ${order.plugin}, and has not ended` };
    return undefined;
  }

  #violated(record: PodRecord, what: string): void {
    this.#options.violated(record, what);
  }
}

/** A pod that was made again after its end is another one. */
const isOfNow = ({ record }: Order, now: PodRecord | undefined): boolean => record === now;

const hasEnded = ({ record }: Order): boolean => record.isGone || isTerminated(record.state);
