/** Follows one pod until its outcome is known, and has the supervisor try again in between. */
import type { AnyActorRef } from 'xstate';
import type { NodeAgent } from '../../agent/actors/node-agent.ts';
import type { Rejection } from '../../agent/policies/admission/rejection.ts';
import { Timer } from '../../system/timer.ts';
import type { Clock } from '../../types/clock.ts';
import { StateletError } from '../../types/errors.ts';
import type { Pod, PodStatus } from '../../types/kubernetes.ts';
import { failedContainers, type PodOutcome, podVerdict } from './pod-verdict.ts';

export interface FollowOptions {
  readonly agent: NodeAgent;
  readonly clock: Clock;
  readonly maxRetries: number;
  /** The delay before the first retry; it doubles with each. Also how long containers must have run to count as running. */
  readonly retryDelayMs: number;
  /** When it aborts, the outcome is `Interrupted`. */
  readonly signal: AbortSignal;
  /** Why the pod was rejected, if it was. Known once the runtime has listed its pods. */
  readonly rejectionOf: (pod: Pod) => Rejection | undefined;
  readonly lastWarning: (uid: string) => string | undefined;
}

export async function followPod(pod: Pod, options: FollowOptions): Promise<PodOutcome> {
  const { agent, maxRetries, retryDelayMs } = options;
  const follower = new PodFollower(pod, options);
  for (let retry = 0; ; retry++) {
    // The last retry gets time to have an effect too.
    const delayMs = retry < maxRetries ? retryDelayMs * 2 ** retry : retryDelayMs;
    const outcome = await follower.outcomeWithin(delayMs);
    if (outcome !== undefined) return outcome;
    if (retry === maxRetries) return follower.timedOut();
    agent.supervisor.send({ type: 'SYNC', uids: [pod.metadata.uid] });
  }
}

class PodFollower {
  readonly #pod: Pod;
  readonly #options: FollowOptions;

  constructor(pod: Pod, options: FollowOptions) {
    this.#pod = pod;
    this.#options = options;
  }

  /** Undefined when there is none after that time. The time begins when no sync is under way: a slow pull uses up no retry. */
  async outcomeWithin(delayMs: number): Promise<PodOutcome | undefined> {
    const { agent, clock, signal } = this.#options;
    let deadline: number | undefined;
    for (;;) {
      if (signal.aborted) return this.#interrupted();
      const now = clock.now();
      if (!this.#isAtWork()) deadline ??= now + delayMs;
      const verdict = this.#verdict();
      if (verdict.outcome !== undefined) return verdict.outcome;
      const dueAt = verdict.settlesAt ?? deadline;
      if (dueAt !== undefined && dueAt <= now) return undefined;
      // Until the pod has an actor, the supervisor says when it gets one.
      await awaitChange(this.#actor ?? agent.supervisor.actor, clock, signal, dueAt);
    }
  }

  timedOut(): PodOutcome {
    const { maxRetries } = this.#options;
    const retries = maxRetries === 1 ? '1 retry' : `${maxRetries} retries`;
    return this.#failure('Timeout', `containers not running after ${retries}`);
  }

  #interrupted(): PodOutcome {
    const message = 'asked to leave before it was known whether its containers run';
    return { result: 'Interrupted', message, failedContainers: failedContainers(this.#status).map(nameOf) };
  }

  /** `settlesAt`: all containers run, and at this time they will have run for long enough. */
  #verdict(): { readonly outcome?: PodOutcome; readonly settlesAt?: number } {
    const { agent, clock, retryDelayMs, rejectionOf } = this.#options;
    const rejection = rejectionOf(this.#pod);
    if (rejection) return { outcome: { result: 'Rejected', ...rejection, failedContainers: [] } };
    if (this.#isDeleted()) return this.#isFinished() ? { outcome: this.#deletion() } : {};
    const verdict = podVerdict(this.#pod, this.#status, agent.pleg.lastSeen(this.#uid));
    switch (verdict.kind) {
      case 'pending':
        return {};
      case 'running': {
        const settlesAt = verdict.sinceMs + retryDelayMs;
        return settlesAt > clock.now() ? { settlesAt } : { outcome: good('Running') };
      }
      case 'completed':
        return this.#isSettled() ? { outcome: good('Completed') } : {};
      case 'failed':
        return this.#isSettled() ? { outcome: this.#failure('ContainersFailed', 'a container failed') } : {};
    }
  }

  #deletion(): PodOutcome {
    const { message } = this.#status ?? {};
    return { result: 'Deleted', message, failedContainers: [] };
  }

  #failure(reason: string, message: string): PodOutcome {
    const failed = failedContainers(this.#status);
    const { reason: statusReason, message: statusMessage } = this.#status ?? {};
    const details = failed.map(({ name, why }) => `${name}: ${why}`).join('; ') || this.#otherDetails();
    return {
      result: 'Failed',
      reason: statusReason ?? reason,
      message: [statusMessage ?? message, details].filter(Boolean).join(': '),
      failedContainers: failed.map(nameOf),
    };
  }

  #otherDetails(): string | undefined {
    const { agent, lastWarning } = this.#options;
    const problem = agent.supervisor.runtimeProblem;
    if (problem !== undefined) return `container runtime is not ready: ${problem}`;
    return this.#actor?.getSnapshot().context.delay?.message ?? lastWarning(this.#uid);
  }

  get #uid(): string {
    return this.#pod.metadata.uid;
  }

  get #status(): PodStatus | undefined {
    return this.#options.agent.statusManager.get(this.#uid);
  }

  get #actor() {
    return this.#options.agent.supervisor.registry.get(this.#uid)?.actor;
  }

  #isDeleted(): boolean {
    return this.#options.agent.supervisor.ended.wasDeleted(this.#uid);
  }

  #isFinished(): boolean {
    return this.#actor?.getSnapshot().hasTag('finished') === true;
  }

  /** The end of a deleted pod is waited for as long as it takes. */
  #isAtWork(): boolean {
    if (this.#isDeleted()) return !this.#isFinished();
    return this.#actor?.getSnapshot().matches({ Syncing: 'Working' }) === true;
  }

  /** A pod that has run to its end must have been cleaned up as well: its sandbox, its volumes and its cgroup are gone. */
  #isSettled(): boolean {
    const snapshot = this.#actor?.getSnapshot();
    if (snapshot === undefined || this.#isAtWork()) return false;
    return snapshot.hasTag('finished') || !snapshot.hasTag('terminationRequested');
  }
}

function good(result: 'Running' | 'Completed'): PodOutcome {
  return { result, failedContainers: [] };
}

function nameOf({ name }: { readonly name: string }): string {
  return name;
}

/**
 * Resolves when the actor may have changed, when it is `atMs`, or when the signal aborts. May resolve too early: the caller
 * checks again. `atMs`: Unix ms; undefined: no time limit.
 */
export async function awaitChange(
  actor: AnyActorRef,
  clock: Clock,
  signal: AbortSignal,
  atMs: number | undefined,
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const wake = () => resolve(undefined);
  const timer = new Timer(clock);
  timer.arm((atMs ?? Infinity) - clock.now(), wake);
  // An actor that has failed answers each subscription with its error at once: waking on it would make callers spin.
  const subscription = actor.subscribe({ next: wake, error: () => undefined });
  signal.addEventListener('abort', wake);
  await promise;
  signal.removeEventListener('abort', wake);
  subscription.unsubscribe();
  timer.disarm();
}

/** Resolves when the runtime is ready, or the signal aborts. Rejects with `Unavailable` when it is not ready after `patienceMs`. */
export async function awaitRuntime(
  { supervisor }: NodeAgent,
  clock: Clock,
  signal: AbortSignal,
  patienceMs: number,
): Promise<void> {
  const atMs = clock.now() + patienceMs;
  while (supervisor.runtimeProblem !== undefined && !signal.aborted) {
    if (clock.now() >= atMs) {
      throw new StateletError('Unavailable', `container runtime is not ready: ${supervisor.runtimeProblem}`);
    }
    await awaitChange(supervisor.actor, clock, signal, atMs);
  }
}
