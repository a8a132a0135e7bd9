/**
 * The pod lifecycle event generator (PLEG): knows what the runtime holds of each pod and emits which pods have changed. An event of the runtime is a
 * hint: it leads to a read of that pod. A relist finds the changes that had no event.
 */
import { type Observable, Subject, type Subscription } from 'rxjs';
import { emptyRuntimePodStatus, isEmpty, isRunning } from '../../policies/cri/runtime-pod-status.ts';
import { Timer } from '../../../system/timer.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import type { ContainerEvent } from '../../../types/cri.ts';
import type { PodReference } from '../../../types/event-recorder.ts';
import type { RuntimePodStatus } from '../../../types/runtime-pod.ts';
import { type ListedPod, listPodStates, readPod, statesOf } from './pod-reader.ts';
import type { CallOptions, RuntimeService } from '../service/runtime-service.ts';

/** The agent is unhealthy when the last good relist is older than this (the kubelet's relistThreshold). */
const RELIST_THRESHOLD_MS = 3 * 60_000;
/** The safety net under the runtime's events. */
export const RELIST_PERIOD_MS = 10_000;
/** The kubelet's relist period without runtime events. */
const RELIST_PERIOD_WITHOUT_EVENTS_MS = 1_000;
const NS_PER_MS = 1e6;

interface PodRecord {
  status: RuntimePodStatus;
  /** How many effects hold the pod. While one does, hints are counted and lead to no read. */
  holders: number;
  /** How many hints there were, and how many of them came before the read of `status` began. */
  hints: number;
  answered: number;
  reading: Promise<void> | undefined;
}

export class Pleg {
  readonly #context: AgentContext;
  readonly #runtime: RuntimeService;
  readonly #onRelist: (relist: Promise<void>) => void;
  readonly #records = new Map<string, PodRecord>();
  readonly #changes = new Subject<string>();
  #relisting: Promise<void> | undefined;
  readonly #timer: Timer;
  #hints: Subscription | undefined;
  #lastGoodRelist = 0;
  #running = false;
  #relistPeriodMs = RELIST_PERIOD_MS;

  /** `onRelist` is called when a periodic relist begins; `relist` settles when it has ended. */
  constructor(context: AgentContext, runtime: RuntimeService, onRelist: (relist: Promise<void>) => void) {
    this.#context = context;
    this.#runtime = runtime;
    this.#onRelist = onRelist;
    this.#timer = new Timer(context.clock);
  }

  /** The UIDs of pods that have changed. A change that an effect has read itself is not emitted. */
  get changes(): Observable<string> {
    return this.#changes;
  }

  /** Begins to emit changes. The caller has relisted before. */
  start(): void {
    this.#running = true;
    const withoutHints = () => this.#relistOften();
    this.#hints = this.#runtime
      .containerEvents()
      .subscribe({ next: (event) => this.#hint(event), error: withoutHints, complete: withoutHints });
    this.#armRelist();
  }

  stop(): void {
    this.#running = false;
    this.#hints?.unsubscribe();
    this.#timer.disarm();
    this.#changes.complete();
  }

  /** When all pods were last listed, in Unix milliseconds. */
  get lastRelistMs(): number | undefined {
    return this.#lastGoodRelist === 0 ? undefined : this.#lastGoodRelist;
  }

  /** Why the agent is unhealthy, if it is. */
  health(): string | undefined {
    if (this.#lastGoodRelist === 0) return 'pleg has yet to be successful';
    const ageMs = this.#context.clock.now() - this.#lastGoodRelist;
    if (ageMs <= RELIST_THRESHOLD_MS) return undefined;
    return `pleg was last seen active ${String(Math.round(ageMs / 1000))}s ago; threshold is 3m0s`;
  }

  /** The pods that have a sandbox or a container in the runtime. */
  pods(): readonly RuntimePodStatus[] {
    return [...this.#records.values()].map(({ status }) => status).filter((status) => !isEmpty(status));
  }

  /** The last status that was read; the runtime may be further. */
  lastSeen(uid: string): RuntimePodStatus | undefined {
    return this.#records.get(uid)?.status;
  }

  runtimeHolds(uid: string): 'nothing' | 'ended' | 'running' {
    const status = this.lastSeen(uid);
    if (status === undefined || isEmpty(status)) return 'nothing';
    return isRunning(status) ? 'running' : 'ended';
  }

  /** An effect takes the pod over. Until `release`, the effect alone reads it. */
  hold(pod: PodReference): void {
    this.#record(pod).holders += 1;
  }

  /** The effect has ended. If hints came after its last read, the pod is read now. */
  release(uid: string): void {
    const record = this.#records.get(uid);
    if (record === undefined) return;
    record.holders -= 1;
    if (record.holders > 0) return;
    if (isStale(record)) void this.#refresh(record);
    else if (record.reading === undefined) this.#forgetIfEmpty(record);
  }

  /** An effect was aborted: the last status may lack what it has done. */
  doubt(uid: string): void {
    const record = this.#records.get(uid);
    if (record !== undefined) record.hints += 1;
  }

  /** Reads the pod from the runtime, for an effect that acts upon the status. */
  async read(pod: PodReference, options?: CallOptions): Promise<RuntimePodStatus> {
    const record = this.#record(pod);
    const { hints } = record;
    try {
      record.status = await this.#readPod(pod, options);
    } catch (error) {
      record.hints += 1;
      throw error;
    }
    answer(record, hints);
    return record.status;
  }

  /** Whether the runtime holds nothing of a pod that no effect holds. Asks it: the last status may be old. */
  async isAbsent(pod: PodReference): Promise<boolean> {
    return isEmpty(await this.#readPod(pod));
  }

  /**
   * The status with which an effect may begin: the last one if no hint came since, else a fresh read. A pod that the last
   * relist did not find needs no read: only the agent brings pods to the runtime.
   */
  async current(pod: PodReference, options?: CallOptions): Promise<RuntimePodStatus> {
    const record = this.#record(pod);
    if (isStale(record)) return this.read(pod, options);
    if (record.status.observedAt === 0 && this.#lastGoodRelist === 0) return this.read(pod, options);
    return record.status;
  }

  /** Compares the runtime's lists with the known statuses, and reads the pods that differ. */
  async relist(): Promise<void> {
    this.#relisting ??= this.#relist().finally(() => (this.#relisting = undefined));
    return this.#relisting;
  }

  async #relist(): Promise<void> {
    const listed = await listPodStates(this.#runtime, this.#context.clock.now());
    for (const { pod } of listed.values()) this.#record(pod);
    const differing = [...this.#records.values()].filter(
      (record) => record.holders === 0 && listed.get(record.status.uid)?.states !== statesOf(record.status),
    );
    for (const record of differing) record.hints += 1;
    await Promise.all(differing.map((record) => this.#refresh(record)));
    for (const record of differing) this.#takeAsListed(record, listed.get(record.status.uid));
    this.#lastGoodRelist = this.#context.clock.now();
  }

  /** A pod that was listed and could not be read gets the status that the lists show. It is read again before its next effect. */
  #takeAsListed(record: PodRecord, listed: ListedPod | undefined): void {
    if (listed !== undefined && isStale(record) && isEmpty(record.status)) record.status = listed.status();
  }

  #armRelist(): void {
    if (!this.#running) return;
    this.#timer.arm(this.#relistPeriodMs, () => {
      const relist = this.relist();
      this.#onRelist(relist);
      // The health check finds out why a relist failed. The next one tries again.
      void relist.catch(() => undefined).finally(() => this.#armRelist());
    });
  }

  /** The runtime has no events: relists alone find changes. */
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

  /** At most one read of a pod at a time. A hint that comes during the read leads to another read. */
  #refresh(record: PodRecord): Promise<void> {
    record.reading ??= this.#refreshWhileStale(record);
    return record.reading;
  }

  /** `reading` is cleared together with the end of the loop, so that the next hint starts a new loop. */
  async #refreshWhileStale(record: PodRecord): Promise<void> {
    try {
      while (isStale(record) && record.holders === 0) await this.#readAgain(record);
    } catch {
      // The next relist finds the change. If the relist fails, too, the runtime counts as not ready.
    } finally {
      record.reading = undefined;
      if (!isStale(record)) this.#forgetIfEmpty(record);
    }
  }

  /** If an effect has begun during the read, the result is dropped: the effect reads the pod itself. */
  async #readAgain(record: PodRecord): Promise<void> {
    const { hints, status: before } = record;
    const after = await this.#readPod(before);
    if (record.holders > 0) return;
    answer(record, hints);
    // If the status has changed, an effect has read the pod during this read: its status is newer.
    if (record.status === before) this.#observe(record, after);
  }

  async #readPod(pod: PodReference, options?: CallOptions): Promise<RuntimePodStatus> {
    const { clock, measurements } = this.#context;
    const end = measurements?.pleg.podRelist();
    try {
      return await readPod(this.#runtime, pod, clock.now(), options);
    } finally {
      end?.();
    }
  }

  #observe(record: PodRecord, after: RuntimePodStatus): void {
    const hasChanged = statesOf(record.status) !== statesOf(after);
    record.status = after;
    if (hasChanged) this.#changes.next(after.uid);
  }

  /** Called after the change was emitted: a subscriber may ask for the pod's last status. */
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

/** `hints`: how many there were when the read began. */
function answer(record: PodRecord, hints: number): void {
  record.answered = Math.max(record.answered, hints);
}
