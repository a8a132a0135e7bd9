import { NodeShutdown } from '../../src/agent/actors/node/node-shutdown.ts';
import {
  groupByPriority,
  NODE_SHUTTING_DOWN,
  REJECTED_BY_SHUTDOWN,
  shutdownPeriods,
  shutdownProblems,
  shutdownSeconds,
  simplePeriods,
} from '../../src/agent/policies/termination/shutdown-periods.ts';
import type { Clock, TimerHandle } from '../../src/types/clock.ts';
import type { KillPodOptions } from '../../src/agent/policies/termination/pod-termination.ts';
import type { Pod, PodCondition, PodPhase } from '../../src/types/kubernetes.ts';
import type { ShutdownSettings } from '../../src/types/node-settings.ts';
import { testContext } from '../support/test-context.ts';
import type { VectorAdapter } from '../support/vectors.ts';

const NOW_MS = 1_893_456_000_000;

interface Input extends Partial<ShutdownSettings> {
  readonly fn: 'migrateConfig' | 'config' | 'groupByPriority' | 'killPods' | 'admit' | 'validate';
  readonly pods: readonly Pod[];
  readonly pod: Pod;
  readonly killSeconds: Readonly<Record<string, number>>;
  readonly unmountSeconds: Readonly<Record<string, number>>;
  readonly shuttingDown: boolean;
}

const FUNCTIONS: Readonly<Record<Input['fn'], (input: Input) => unknown>> = {
  migrateConfig: (input) => ({ periods: simplePeriods(settingsOf(input)) }),
  config: (input) => {
    const periods = shutdownPeriods(settingsOf(input));
    return { enabled: periods.length > 0, periods, periodRequestedSeconds: shutdownSeconds(periods) };
  },
  groupByPriority: ({ shutdownGracePeriodByPodPriority = [], pods }) => ({
    groups: groupByPriority(shutdownGracePeriodByPodPriority, pods).map((group) => ({
      ...group,
      pods: group.pods.map(({ metadata }) => metadata.name),
    })),
  }),
  killPods,
  admit: ({ shuttingDown }) => ({
    admit: !shuttingDown,
    ...(shuttingDown ? REJECTED_BY_SHUTDOWN : { reason: '', message: '' }),
    status: shuttingDown ? NODE_SHUTTING_DOWN : null,
  }),
  validate: (input) => ({
    errors: shutdownProblems(settingsOf(input))
      .map((problem) => `invalid configuration: ${problem}`)
      .sort(),
  }),
};

export const adapter: VectorAdapter = { adapt: (input: Input) => FUNCTIONS[input.fn](input) };

/** The vectors' pods have no UIDs: their names are their UIDs here. */
function killPods(input: Input) {
  const clock = new StepClock(NOW_MS);
  const pods = input.pods.map((pod) => ({ ...pod, metadata: { ...pod.metadata, uid: pod.metadata.name } }));
  const kills: ReturnType<typeof killed>[] = [];
  let finishedAt: number | undefined;
  const groups = groupByPriority(shutdownPeriods(settingsOf(input)), pods).map((group) =>
    group.pods.map(({ metadata }) => metadata.uid),
  );
  const kill = (uid: string, options: KillPodOptions) => {
    const pod = pods.find(({ metadata }) => metadata.uid === uid);
    kills.push(killed(pod, options, clock.second()));
    clock.setTimeout(() => shutdown.podEnded(uid), secondsToEnd(input, uid, groups) * 1000);
    return true;
  };
  const context = testContext({
    clock,
    inspect: ({ type, actorRef }) => {
      if (type !== '@xstate.snapshot' || finishedAt !== undefined) return;
      const { value } = actorRef.getSnapshot() as { value: unknown };
      if (JSON.stringify(value) === '{"ShuttingDown":"Ended"}') finishedAt = clock.second();
    },
  });
  const shutdown = new NodeShutdown(context, {
    periods: shutdownPeriods(settingsOf(input)),
    pods: () => pods,
    phaseOf: (uid) => pods.find(({ metadata }) => metadata.uid === uid)?.status?.phase as PodPhase,
    kill,
    onChange: () => undefined,
  });
  void shutdown.shutDown();
  clock.runAll();
  // The kubelet kills the pods of a group side by side: the vectors list them by name.
  kills.sort((a, b) => a.atSecond - b.atSecond || a.pod.localeCompare(b.pod));
  return { finishedAtSecond: finishedAt, kills };
}

/**
 * The kubelet waits for the volumes of a group from when all its kills are done, however they went: a kill that fails ends as late, and the
 * volumes of its pod are waited for as those of others.
 */
function secondsToEnd(
  { killSeconds, unmountSeconds }: Input,
  uid: string,
  groups: readonly string[][],
): number {
  const group = groups.find((uids) => uids.includes(uid)) ?? [];
  return Math.max(...group.map((one) => killSeconds[one] ?? 0)) + (unmountSeconds[uid] ?? 0);
}

function killed(pod: Pod | undefined, options: KillPodOptions, atSecond: number) {
  const { podTerminationGracePeriodSecondsOverride: gracePeriodSeconds, evict = false, podStatus } = options;
  const { conditions: added = [], ...fields } = podStatus ?? {};
  const status = pod?.status ?? {};
  const kept = (status.conditions ?? []).filter(({ type }) => added.every((one) => one.type !== type));
  const before = (type: string) => status.conditions?.find((one) => one.type === type);
  const stamped = added.map((condition) => {
    const old = before(condition.type);
    const isUnchanged = old?.status === condition.status;
    return isUnchanged ? { ...condition, lastTransitionTime: old.lastTransitionTime } : condition;
  });
  return {
    pod: pod?.metadata.name ?? '',
    atSecond,
    evicted: evict,
    gracePeriodSeconds,
    status: { ...status, ...fields, conditions: [...kept, ...stamped].map(goCondition) },
  };
}

/** As Go writes it: a time that is not set is null. */
function goCondition(condition: PodCondition) {
  return { lastProbeTime: null, ...condition };
}

function settingsOf({
  shutdownGracePeriodMs = 0,
  shutdownGracePeriodCriticalPodsMs = 0,
  shutdownGracePeriodByPodPriority = [],
}: Input): ShutdownSettings {
  return { shutdownGracePeriodMs, shutdownGracePeriodCriticalPodsMs, shutdownGracePeriodByPodPriority };
}

/** Runs its timers in order, one after the other. */
class StepClock implements Clock {
  readonly #startedAt: number;
  #now: number;
  #last = 0;
  readonly #timers = new Map<number, { readonly at: number; readonly callback: () => void }>();

  constructor(now: number) {
    this.#startedAt = now;
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  second(): number {
    return (this.#now - this.#startedAt) / 1000;
  }

  setTimeout(callback: () => void, delayMs: number): number {
    this.#timers.set(++this.#last, { at: this.#now + delayMs, callback });
    return this.#last;
  }

  clearTimeout(handle: TimerHandle): void {
    this.#timers.delete(handle as number);
  }

  runAll(): void {
    for (;;) {
      const [next] = [...this.#timers].sort(([a, one], [b, other]) => one.at - other.at || a - b);
      if (next === undefined) return;
      const [handle, { at, callback }] = next;
      this.#timers.delete(handle);
      this.#now = at;
      callback();
    }
  }
}
