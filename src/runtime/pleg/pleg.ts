/**
 * The pod lifecycle event generator: knows what the runtime holds of each pod and says what has changed. Runtime events
 * are hints that lead to a read of that one pod; a relist finds what no hint told of.
 */
import { type Observable, Subject, type Subscription } from 'rxjs';
import { emptyRuntimePodStatus, isEmpty, isRunning } from '../../policies/status/runtime-pod-status.ts';
import type { Clock, TimerHandle } from '../../types/clock.ts';
import type { ContainerEvent } from '../../types/cri.ts';
import type { PodReference } from '../../types/event-recorder.ts';
import type { RuntimePodStatus } from '../../types/runtime-pod.ts';
import { type ListedPod, listPodStates, readPod, statesOf } from './pod-reader.ts';
import type { CallOptions, RuntimeService } from '../service/runtime-service.ts';

/** How long a relist may be overdue before the agent counts as unhealthy (the kubelet's relistThreshold). */
const RELIST_THRESHOLD_MS = 3 * 60_000;
/** The kubelet's relist period where it has no runtime events. */
const RELIST_PERIOD_WITHOUT_EVENTS_MS = 1_000;
const NS_PER_MS = 1e6;

export interface PlegOptions {
  readonly runtime: RuntimeService;
  readonly clock: Clock;
  readonly relistPeriodMs: number;
  /** With every periodic relist when it begins; `relist` settles when it has ended. */
  readonly onRelist: (relist: Promise<void>) => void;
}

interface PodRecord {
  status: RuntimePodStatus;
  /** Effects at work on this pod; they read for themselves, and hints only count. */
  holders: number;
  /** How many reasons there have been to read the pod again, and how many of them the status answers. */
  hints: number;
  answered: number;
  reading: Promise<void> | undefined;
}

export class Pleg {
  readonly #options: PlegOptions;
  readonly #records = new Map<string, PodRecord>();
  readonly #changes = new Subject<string>();
  #relisting: Promise<void> | undefined;
  #timer: TimerHandle | undefined;
  #hints: Subscription | undefined;
  #lastGoodRelist = 0;
  #running = false;
  #relistPeriodMs: number;

  constructor(options: PlegOptions) {
    this.#options = options;
    this.#relistPeriodMs = options.relistPeriodMs;
  }

  /** The UID of each pod that has changed. What an effect has read itself is not told again. */
  get changes(): Observable<string> {
    return this.#changes;
  }

  /** From now on changes are told. The caller has relisted before, and so knows what there was. */
  start(): void {
    this.#running = true;
    const withoutHints = () => this.#relistOften();
    this.#hints = this.#options.runtime
      .containerEvents()
      .subscribe({ next: (event) => this.#hint(event), error: withoutHints, complete: withoutHints });
    this.#armRelist();
  }

  stop(): void {
    this.#running = false;
    this.#hints?.unsubscribe();
    if (this.#timer !== undefined) this.#options.clock.clearTimeout(this.#timer);
    this.#changes.complete();
  }

  /** Why the generator cannot be trusted now, if so. */
  health(): string | undefined {
    const ageMs = this.#options.clock.now() - this.#lastGoodRelist;
    if (ageMs <= RELIST_THRESHOLD_MS) return undefined;
    return `pleg was last seen active ${String(Math.round(ageMs / 1000))}s ago; threshold is 3m0s`;
  }

  /** The pods of which the runtime holds something. */
  pods(): readonly RuntimePodStatus[] {
    return [...this.#records.values()].map(({ status }) => status).filter((status) => !isEmpty(status));
  }

  /** The last observation; it may be behind the runtime. */
  lastSeen(uid: string): RuntimePodStatus | undefined {
    return this.#records.get(uid)?.status;
  }

  runtimeHolds(uid: string): 'nothing' | 'ended' | 'running' {
    const status = this.lastSeen(uid);
    if (status === undefined || isEmpty(status)) return 'nothing';
    return isRunning(status) ? 'running' : 'ended';
  }

  /** An effect takes the pod over: until `release`, hints and relists leave the reading to it. */
  hold(pod: PodReference): void {
    this.#record(pod).holders += 1;
  }

  /** The effect is done. What was hinted at after its last read is read now. */
  release(uid: string): void {
    const record = this.#records.get(uid);
    if (record === undefined) return;
    record.holders -= 1;
    if (record.holders > 0) return;
    if (isStale(record)) void this.#refresh(record);
    else if (record.reading === undefined) this.#forgetIfEmpty(record);
  }

  /** An effect was given up: what it has done so far is not in the last observation. */
  doubt(uid: string): void {
    const record = this.#records.get(uid);
    if (record !== undefined) record.hints += 1;
  }

  /** Reads the pod from the runtime itself, for an effect that acts upon what it reads. */
  async read(pod: PodReference, options?: CallOptions): Promise<RuntimePodStatus> {
    const record = this.#record(pod);
    const { hints } = record;
    try {
      record.status = await readPod(this.#options.runtime, pod, this.#options.clock.now(), options);
    } catch (error) {
      record.hints += 1;
      throw error;
    }
    answer(record, hints);
    return record.status;
  }

  /**
   * What an effect may begin with: the last observation where nothing has been hinted at since, else a fresh read. Of a pod
   * that the last relist did not find the runtime holds nothing: only the agent itself brings pods there.
   */
  async current(pod: PodReference, options?: CallOptions): Promise<RuntimePodStatus> {
    const record = this.#record(pod);
    if (isStale(record)) return this.read(pod, options);
    if (record.status.observedAt === 0 && this.#lastGoodRelist === 0) return this.read(pod, options);
    return record.status;
  }

  /** Compares everything that the runtime lists with what is known; reads the pods that differ. */
  async relist(): Promise<void> {
    this.#relisting ??= this.#relist().finally(() => (this.#relisting = undefined));
    return this.#relisting;
  }

  async #relist(): Promise<void> {
    const listed = await listPodStates(this.#options.runtime, this.#options.clock.now());
    for (const { pod } of listed.values()) this.#record(pod);
    const differing = [...this.#records.values()].filter(
      (record) => record.holders === 0 && listed.get(record.status.uid)?.states !== statesOf(record.status),
    );
    for (const record of differing) record.hints += 1;
    await Promise.all(differing.map((record) => this.#refresh(record)));
    for (const record of differing) this.#takeAsListed(record, listed.get(record.status.uid));
    this.#lastGoodRelist = this.#options.clock.now();
  }

  /** What was listed and could not be read is not nothing; it is read again before anybody acts upon it. */
  #takeAsListed(record: PodRecord, listed: ListedPod | undefined): void {
    if (listed !== undefined && isStale(record) && isEmpty(record.status)) record.status = listed.status();
  }

  #armRelist(): void {
    if (!this.#running) return;
    if (this.#timer !== undefined) this.#options.clock.clearTimeout(this.#timer);
    this.#timer = this.#options.clock.setTimeout(() => {
      const relist = this.relist();
      this.#options.onRelist(relist);
      // Why a relist failed is found out by who is told of it; the next one tries again.
      void relist.catch(() => undefined).finally(() => this.#armRelist());
    }, this.#relistPeriodMs);
  }

  /** The runtime has no events to tell: what has changed is found by looking. */
  #relistOften(): void {
    if (!this.#running) return;
    this.#relistPeriodMs = Math.min(this.#relistPeriodMs, RELIST_PERIOD_WITHOUT_EVENTS_MS);
    this.#armRelist();
  }

  #hint(event: ContainerEvent): void {
    const { uid, name, namespace } = event.podSandboxMetadata;
    const record = this.#record({ uid, name, namespace });
    if (event.createdAt / NS_PER_MS < record.status.observedAt) return;
    record.hints += 1;
    if (record.holders === 0) void this.#refresh(record);
  }

  /** One read at a time per pod; a hint that arrives meanwhile leads to another. */
  #refresh(record: PodRecord): Promise<void> {
    record.reading ??= this.#refreshWhileStale(record);
    return record.reading;
  }

  /** `reading` ends with the loop itself: who makes the record stale right after it begins another. */
  async #refreshWhileStale(record: PodRecord): Promise<void> {
    try {
      while (isStale(record) && record.holders === 0) await this.#readAgain(record);
    } catch {
      // The relist will find it, and its own failure makes the runtime count as not ready.
    } finally {
      record.reading = undefined;
      if (!isStale(record)) this.#forgetIfEmpty(record);
    }
  }

  /** An effect that has begun meanwhile does not wait for this: it reads for itself, and so does who comes after it. */
  async #readAgain(record: PodRecord): Promise<void> {
    const { hints, status: before } = record;
    const after = await readPod(this.#options.runtime, before, this.#options.clock.now());
    if (record.holders > 0) return;
    answer(record, hints);
    // Otherwise an effect has read for itself meanwhile, and later than this read began.
    if (record.status === before) this.#observe(record, after);
  }

  #observe(record: PodRecord, after: RuntimePodStatus): void {
    const hasChanged = statesOf(record.status) !== statesOf(after);
    record.status = after;
    if (hasChanged) this.#changes.next(after.uid);
  }

  /** Not before its end has been told: whoever hears of it may ask what it was. */
  #forgetIfEmpty({ holders, status }: PodRecord): void {
    if (holders === 0 && isEmpty(status)) this.#records.delete(status.uid);
  }

  #record({ uid, name, namespace }: PodReference): PodRecord {
    let record = this.#records.get(uid);
    if (record === undefined) {
      const status = emptyRuntimePodStatus({ uid, name, namespace }, 0);
      record = { status, holders: 0, hints: 0, answered: 0, reading: undefined };
      this.#records.set(uid, record);
    }
    return record;
  }
}

function isStale({ hints, answered }: PodRecord): boolean {
  return answered < hints;
}

/** A read that began when there had been so many hints. */
function answer(record: PodRecord, hints: number): void {
  record.answered = Math.max(record.answered, hints);
}
