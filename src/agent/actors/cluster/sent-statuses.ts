import { hasNoStatusYet, type KnownPods, outdatedVersions } from '../../policies/cluster/status-write.ts';
import type { Clock } from '../../../types/clock.ts';
import type { Pod } from '../../../types/kubernetes.ts';

/** For so long after an answer with a pod, its next status is written without reading the pod. A start has about three statuses in a few seconds. */
const RECENT_MS = 10_000;

/** A pod as the API server had it at that time (Unix ms). */
export interface Answer {
  readonly pod: Pod;
  readonly answeredAt: number;
}

interface SentStatus {
  /** The newest version that the server has. */
  written?: number;
  /** A status was sent, perhaps in an earlier life of the pod. */
  wasSent: boolean;
  answer?: Answer;
  refusal?: { readonly problem: string; readonly times: number };
}

/** The statuses that were sent to the API server, and its answers, by the UID that the pod has there. */
export class SentStatuses {
  readonly #clock: Clock;
  readonly #sent = new Map<string, SentStatus>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The newest version that the server has. */
  get(uid: string): number | undefined {
    return this.#sent.get(uid)?.written;
  }

  keys(): MapIterator<string> {
    return this.#sent.keys();
  }

  /** The pod as the server has just answered with it; else as the watch has shown it (`seen`), where it has no status that could be lost. */
  recent(uid: string, seen: Pod | undefined): Answer | undefined {
    const { answer, wasSent = false } = this.#sent.get(uid) ?? {};
    if (this.#isRecent(answer)) return answer;
    return !wasSent && seen && hasNoStatusYet(seen)
      ? { pod: seen, answeredAt: this.#clock.now() }
      : undefined;
  }

  /** The answer makes the pod recent again. */
  sending(uid: string): void {
    this.#change(uid, { wasSent: true, answer: undefined });
  }

  /** Without an answer, the server has no such pod. */
  written(uid: string, version: number, answer?: Answer): void {
    this.#change(uid, { written: version, answer: answer && { ...answer, pod: withoutSpec(answer.pod) } });
  }

  accepted(uid: string): void {
    this.#change(uid, { refusal: undefined });
  }

  /** Returns how often the server has refused the status of the pod for that reason, in a row. */
  refused(uid: string, problem: string): number {
    const known = this.#sent.get(uid)?.refusal;
    const times = known?.problem === problem ? known.times + 1 : 1;
    this.#change(uid, { refusal: { problem, times } });
    return times;
  }

  /** The next write reads the pod: it may have been changed at the API server. */
  forgetAnswer(uid: string): void {
    this.#change(uid, { answer: undefined });
  }

  /** The pod's versions begin again. `wasSent` stays: the watch may still show the pod without its last status. */
  beginLife(uid: string): void {
    this.#change(uid, { written: undefined, answer: undefined });
  }

  /** Forgets pods that neither this node nor the API server knows any more, and answers that are too old. */
  tidy(pods: KnownPods, known: (uid: string) => boolean): void {
    for (const uid of outdatedVersions({ written: this, pods, known })) this.#sent.delete(uid);
    for (const [uid, { answer }] of this.#sent) if (!this.#isRecent(answer)) this.forgetAnswer(uid);
  }

  #isRecent(answer: Answer | undefined): boolean {
    const ageMs = this.#clock.now() - (answer?.answeredAt ?? -Infinity);
    return ageMs >= 0 && ageMs < RECENT_MS;
  }

  #change(uid: string, change: Partial<SentStatus>): void {
    this.#sent.set(uid, { wasSent: false, ...this.#sent.get(uid), ...change });
  }
}

/** The spec is the larger part, and no write needs it. */
function withoutSpec({ metadata, status }: Pod): Pod {
  return { metadata, spec: { containers: [] }, ...(status && { status }) };
}
