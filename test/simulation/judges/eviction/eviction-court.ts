import type { EvictionEvent } from '../../../../src/agent/machines/eviction-machine.ts';
import type { FileSystemLayout } from '../../../../src/agent/policies/eviction/file-system-parts.ts';
import {
  type Eviction,
  type EvictionEvaluation,
  INITIAL_EVICTION_STATE,
} from '../../../../src/agent/policies/eviction/pass.ts';
import type { EvictionSignal, PressureCondition } from '../../../../src/agent/policies/eviction/signals.ts';
import { evictionKill } from '../../../../src/agent/policies/eviction/eviction-message.ts';
import type { SandboxTruth } from '../../../../src/simulation/runtime/witness.ts';
import type {
  EvictionJudge,
  EvictionView,
} from '../../../../src/simulation/judges/eviction/eviction-judge.ts';
import type { EvictionRules, ThresholdRule } from '../../../../src/simulation/resources/eviction-rules.ts';
import { type DiskUse, NOTHING, type PodUse, sumOf } from '../../../../src/simulation/resources/node-use.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import { after } from '../../../support/child-events.ts';
import { requestingPod, type RequestingPod } from '../../../support/admission.ts';
import { CLEANED_UP, type JudgedPod, STOPPED } from '../lifecycle-judge-bed.ts';
import { AdmissionJudgeBed } from '../admission-judge-bed.ts';

const MESSAGE = 'The node was low on resource: memory. ';
export const DRAINED = { type: 'AT_REST' } as const;

/** A pod that requests so many bytes of memory. Its UID is its name. */
export const pod = (name: string, memory = '50', more: RequestingPod = {}): Pod =>
  requestingPod(name, { requests: { memory }, ...more });

export const ONE_DISK: FileSystemLayout = { dedicatedImageFs: false, splitContainerFs: false };

/** A hard one, without a minimum reclaim. */
export const rule = (signal: EvictionSignal, more: Partial<ThresholdRule> = {}): ThresholdRule => ({
  signal,
  amount: 100,
  gracePeriodMs: 0,
  minReclaim: 0,
  ...more,
});

/** More than 100 bytes of memory are to be left, and more than 300 for most of the time. */
const MEMORY_RULES = [
  rule('memory.available'),
  rule('memory.available', { amount: 300, gracePeriodMs: 30_000 }),
];

export interface Uses {
  readonly memoryBytes?: number;
  readonly processes?: number;
  readonly layer?: Partial<DiskUse>;
  readonly logs?: Partial<DiskUse>;
  /** Of the one volume, `scratch`. */
  readonly volume?: Partial<DiskUse>;
  readonly storageAtMs?: number;
}

function podUse({ memoryBytes = 0, processes = 0, storageAtMs: atMs, ...disk }: Uses, nowMs: number): PodUse {
  const [layer, logs, volume] = [disk.layer, disk.logs, disk.volume].map((use) => ({ ...NOTHING, ...use }));
  const containers = [{ name: 'main', layer: layer!, logs: logs! }];
  const volumes = new Map([['scratch', volume!]]);
  const whole = sumOf([layer!, logs!, volume!]);
  return { memoryBytes, processes, storage: { atMs: atMs ?? nowMs, containers, volumes, whole } };
}

export const evictionOf = (name: string, gracePeriodSeconds = 1, signal = 'memory.available'): Eviction => ({
  pod: { name, namespace: 'default', uid: name },
  signal,
  message: MESSAGE,
  annotations: {},
  gracePeriodSeconds,
  why: '',
  kill: evictionKill(MESSAGE, gracePeriodSeconds, { isDisrupted: true }),
});

function ranked(eviction: Eviction): EvictionEvent {
  const ranking = { candidates: [], awaited: [], victim: undefined } as never;
  return { type: 'RANKED', choice: { ranking, eviction, why: '' } };
}

/** The judge of a node that evicts. */
export class EvictionCourt extends AdmissionJudgeBed {
  /** What is left, by signal, and what pods use. */
  left: Partial<Record<EvictionSignal, number>> = { 'memory.available': 90 };
  uses: Record<string, Uses> = { a: { memoryBytes: 60 } };
  /** What the agent is told holds, and how far its pass has come. */
  conditions: readonly PressureCondition[] = ['MemoryPressure'];
  readonly sandboxes: SandboxTruth[];

  constructor(thresholds: readonly ThresholdRule[] = MEMORY_RULES, layout: FileSystemLayout = ONE_DISK) {
    const rules: EvictionRules = {
      thresholds,
      layout,
      maxPodGracePeriodSeconds: 10,
      pressureTransitionPeriodMs: 60_000,
    };
    const sandboxes: SandboxTruth[] = [];
    const runtime = {
      uids: () => sandboxes.map(({ uid }) => uid),
      sandboxesOf: (uid: string) => sandboxes.filter((one) => one.uid === uid),
    };
    const storageOf = (uid: string) => podUse(this.uses[uid] ?? {}, this.nowMs).storage;
    super([], { rules, runtime, storageOf });
    this.sandboxes = sandboxes;
  }

  get evictions(): EvictionJudge {
    return this.judge.evictions!;
  }

  hear(...events: EvictionEvent[]): void {
    for (const event of events) this.evictions.hears(event);
  }

  measure(isWhole = false): void {
    const pods = new Map(
      Object.entries(this.uses).map(([uid, uses]) => [uid, podUse(uses, this.nowMs)] as const),
    );
    const left = new Map(Object.entries(this.left) as [EvictionSignal, number][]);
    this.evictions.measures()({ atMs: this.nowMs, left, pods: isWhole ? pods : new Map() }, isWhole);
  }

  /** A pass begins, and the agent makes that of it. */
  look({ pass = 'Ranking', overLimit = [] }: { pass?: string; overLimit?: readonly Eviction[] } = {}): void {
    const evaluation: EvictionEvaluation = {
      state: INITIAL_EVICTION_STATE,
      conditions: [],
      observedConditions: [],
      shortage: undefined,
      overLimit,
    };
    this.evictions.shows(after('period', 'eviction.Schedule.Everything.Waiting'), this.#view('Evaluating'));
    this.measure(true);
    const event: EvictionEvent = { type: 'EVALUATED', evaluation };
    this.hear(event);
    this.evictions.shows(event, this.#view(pass));
  }

  choose(name: string, graceSeconds = 1, signal: EvictionSignal = 'memory.available'): Eviction {
    const eviction = evictionOf(name, graceSeconds, signal);
    this.hear(ranked(eviction));
    return eviction;
  }

  evict(victim: JudgedPod, graceSeconds = 1, signal: EvictionSignal = 'memory.available'): void {
    this.look();
    this.#choose(victim, graceSeconds, signal);
  }

  /** After that has been removed of the node itself. */
  evictAfter(removed: readonly ('containers' | 'images')[], victim: JudgedPod, signal: EvictionSignal): void {
    this.look({ pass: 'ReclaimingNode' });
    for (const what of removed) this.evictions.reclaims(what)();
    this.measure();
    this.hear({ type: 'NODE_RECLAIMED', shortage: {} as never });
    this.#choose(victim, 1, signal);
  }

  /** All that the victim has on the node goes. */
  end(victim: JudgedPod): void {
    victim.send(DRAINED, STOPPED);
    this.hear({ type: 'POD_ENDED', uid: victim.snapshot.context.uid });
    victim.send(CLEANED_UP);
  }

  #choose(victim: JudgedPod, graceSeconds: number, signal: EvictionSignal): void {
    this.measure(true);
    const { kill } = this.choose(victim.snapshot.context.uid, graceSeconds, signal);
    victim.send({ type: 'SyncPodKill', options: kill });
  }

  #view(pass: string): EvictionView {
    return { pass, isMeasuringMemory: false, conditions: this.conditions };
  }
}
