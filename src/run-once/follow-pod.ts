/** Follows one pod until it is known what came of it, and has it tried again meanwhile. */
import type { NodeAgent } from '../actors/node-agent.ts';
import type { Rejection } from '../policies/admission/rejection.ts';
import type { Clock } from '../types/clock.ts';
import type { Pod, PodStatus } from '../types/kubernetes.ts';
import { news } from './news.ts';
import type { PodOutcome } from './pod-result.ts';
import { failedContainers, podVerdict } from './pod-verdict.ts';

export interface FollowOptions {
  readonly agent: NodeAgent;
  readonly clock: Clock;
  readonly maxRetries: number;
  /** Before the first retry, doubling from there; and how long containers must have run to count as running. */
  readonly retryDelayMs: number;
  /** Aborts when there is no more time to find out. */
  readonly signal: AbortSignal;
  /** Why the pod may not run here, if so. Known once the runtime has told what it holds. */
  readonly rejectionOf: (pod: Pod) => Rejection | undefined;
  /** What went wrong last, by UID. */
  readonly lastWarning: (uid: string) => string | undefined;
}

export async function followPod(pod: Pod, options: FollowOptions): Promise<PodOutcome> {
  const { agent, maxRetries, retryDelayMs } = options;
  const follower = new PodFollower(pod, options);
  for (let retry = 0; ; retry++) {
    // What the last retry brought must show too.
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

  /** The time begins when the pod is at rest: a slow pull is no reason to give up. Undefined when it is over. */
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
      // The supervisor tells when there is a pod actor.
      await news(this.#actor ?? agent.supervisor.actor, { clock, signal, atMs: dueAt });
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

  /** `settlesAt`: when all containers will have run for long enough, if they run. */
  #verdict(): { readonly outcome?: PodOutcome; readonly settlesAt?: number } {
    const { agent, clock, retryDelayMs, rejectionOf } = this.#options;
    const rejection = rejectionOf(this.#pod);
    if (rejection) return { outcome: { result: 'Rejected', ...rejection, failedContainers: [] } };
    const verdict = podVerdict(this.#pod, this.#status, agent.pleg.lastSeen(this.#uid));
    switch (verdict.kind) {
      case 'pending':
        return {};
      case 'running': {
        const settlesAt = verdict.sinceMs + retryDelayMs;
        return settlesAt > clock.now() ? { settlesAt } : { outcome: good('Running') };
      }
      case 'completed':
        return this.#isAtRest() ? { outcome: good('Completed') } : {};
      case 'failed':
        return this.#isAtRest() ? { outcome: this.#failure('ContainersFailed', 'a container failed') } : {};
    }
  }

  #failure(reason: string, message: string): PodOutcome {
    const failed = failedContainers(this.#status);
    const { reason: given, message: said } = this.#status ?? {};
    const details = failed.map(({ name, why }) => `${name}: ${why}`).join('; ') || this.#otherDetails();
    return {
      result: 'Failed',
      reason: given ?? reason,
      message: [said ?? message, details].filter(Boolean).join(': '),
      failedContainers: failed.map(nameOf),
    };
  }

  #otherDetails(): string | undefined {
    const { agent, lastWarning } = this.#options;
    const problem = agent.supervisor.runtimeProblem;
    if (problem !== undefined) return `container runtime is not ready: ${problem}`;
    const mayNotStart = this.#actor?.getSnapshot().matches({ Syncing: 'AwaitingStart' });
    return mayNotStart ? 'another pod of its name has not ended' : lastWarning(this.#uid);
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

  #isAtWork(): boolean {
    return this.#actor?.getSnapshot().matches({ Syncing: 'Working' }) === true;
  }

  /** What has run to its end is not left half-ended: its sandbox, its volumes and its cgroup go first. */
  #isAtRest(): boolean {
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
