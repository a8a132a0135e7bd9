/** No container counts as started before its postStart hook has completed, however often the agent is killed (lifecycle 15). */
import type { CommandTruth, ContainerTruth } from '../runtime/witness.ts';
import type { Container, PodSpec, PodStatus } from '../../types/kubernetes.ts';
import type { RuntimeTruth } from './pod-states.ts';

export interface HookJudgeOptions {
  /** Unix ms. */
  readonly now: () => number;
  readonly truth: () => Pick<RuntimeTruth, 'sandboxesOf'> & { uids(): Iterable<string> };
  readonly specOf: (uid: string) => PodSpec | undefined;
  readonly violated: (uid: string, what: string) => void;
}

type ContainerStatus = NonNullable<PodStatus['containerStatuses']>[number];
type Handler = NonNullable<NonNullable<Container['lifecycle']>['postStart']>;

/** Outlives the agents of its node. Knows hooks of commands from the runtime, and hooks that sleep from the clock. */
export class HookJudge {
  readonly #options: HookJudgeOptions;
  /** Ids of containers in which the command of the hook has succeeded. */
  readonly #succeeded = new Set<string>();
  /** By id of a container, the longest time that one of the former agents could have slept for it. */
  readonly #sleptMs = new Map<string, number>();

  constructor(options: HookJudgeOptions) {
    this.#options = options;
  }

  commandEnded({ container, words, exitCode }: CommandTruth): void {
    const command = this.#hookOf(container)?.exec?.command;
    if (exitCode === 0 && command?.join(' ') === words.join(' ')) this.#succeeded.add(container.id);
  }

  /** The agent that has run since then (Unix ms) is gone: the sleep of a hook begins anew under the next one. */
  agentEnds(since: number): void {
    const { truth } = this.#options;
    for (const uid of truth().uids())
      for (const container of this.#containersOf(uid)) {
        const { id, state } = container;
        if (state !== 'CONTAINER_RUNNING' || this.#hookOf(container)?.sleep === undefined) continue;
        this.#sleptMs.set(id, this.#longestSleepMs(container, since));
      }
  }

  /** An agent that has run since then (Unix ms) shows this status. */
  shows(uid: string, { containerStatuses = [], initContainerStatuses = [] }: PodStatus, since: number): void {
    const containers = this.#containersOf(uid);
    for (const status of [...initContainerStatuses, ...containerStatuses]) {
      const container = containers.find(({ id }) => status.containerID?.endsWith(`//${id}`));
      if (container === undefined || !countsAsStarted(status) || this.#hasCompleted(container, since))
        continue;
      this.#options.violated(
        uid,
        `${status.name} counts as started, and its postStart hook has not completed`,
      );
    }
  }

  #hasCompleted(container: ContainerTruth, since: number): boolean {
    const hook = this.#hookOf(container);
    if (hook?.exec) return this.#succeeded.has(container.id);
    if (hook?.sleep) return this.#longestSleepMs(container, since) >= hook.sleep.seconds * 1000;
    return true;
  }

  #longestSleepMs({ id, startedAt }: ContainerTruth, since: number): number {
    const sleptNowMs = this.#options.now() - Math.max(startedAt, since);
    return Math.max(this.#sleptMs.get(id) ?? 0, sleptNowMs);
  }

  #hookOf({ uid, metadata }: ContainerTruth): Handler | undefined {
    const { containers = [], initContainers = [] } = this.#options.specOf(uid) ?? {};
    return [...initContainers, ...containers].find(({ name }) => name === metadata.name)?.lifecycle
      ?.postStart;
  }

  #containersOf(uid: string): readonly ContainerTruth[] {
    return Array.from(this.#options.truth().sandboxesOf(uid)).flatMap(({ containers }) => containers);
  }
}

function countsAsStarted({ ready, started, state }: ContainerStatus): boolean {
  return ready || started === true || state?.running !== undefined;
}
