/** The actor of the shutdown chart: it ends the pods of this node, the least important first, when the machine shuts down. */
import type { ActorRefFrom } from 'xstate';
import { shutdownMachine, type ShutdownEvent } from '../../machines/shutdown-machine.ts';
import {
  groupByPriority,
  type ShutdownGroup,
  shutdownKill,
} from '../../policies/termination/shutdown-periods.ts';
import type { KillPodOptions } from '../../policies/termination/pod-termination.ts';
import type { Pod, PodPhase } from '../../../types/kubernetes.ts';
import { podFields } from '../../../types/logger.ts';
import type { ShutdownPeriod } from '../../../types/node-settings.ts';
import type { ActorContext } from '../actor-context.ts';
import { agentActor } from '../agent-actor.ts';

export interface NodeShutdownOptions {
  /** By rising priority. */
  readonly periods: readonly ShutdownPeriod[];
  /** The pods that have not ended. */
  readonly pods: () => readonly Pod[];
  readonly phaseOf: (uid: string) => PodPhase | undefined;
  /** Ends a pod. Returns false when there is nothing of it to end. */
  readonly kill: (uid: string, options: KillPodOptions) => boolean;
  /** The node is no longer ready, or ready again: to be reported without delay. */
  readonly onChange: () => void;
  /** Keeps when pods were ended. Never rejects. */
  readonly record?: ShutdownRecord;
}

/** When pods were ended, for the agent that runs after the machine has been started again. Unix ms. */
export interface ShutdownRecord {
  write(startMs: number, endMs: number | undefined): Promise<void>;
}

export class NodeShutdown {
  readonly #context: ActorContext;
  readonly #options: NodeShutdownOptions;
  readonly #actor: ActorRefFrom<typeof shutdownMachine>;
  #groups: readonly ShutdownGroup[] = [];
  #ended = Promise.withResolvers<undefined>();
  /** All groups have ended or had their time, or it was cancelled. */
  #isOver = false;
  #isStopped = false;
  #startMs = 0;
  #recorded: Promise<void> | undefined;

  constructor(context: ActorContext, options: NodeShutdownOptions) {
    this.#context = context;
    this.#options = options;
    this.#actor = agentActor(context, this.#machine(), { id: 'shutdown', title: 'the shutdown of the node' });
    this.#actor.start();
  }

  get isShuttingDown(): boolean {
    return this.#actor.getSnapshot().hasTag('shuttingDown');
  }

  /** Resolves when all groups have ended or had their time, or the shutdown was cancelled. */
  async shutDown(): Promise<void> {
    if (!this.isShuttingDown) this.#begin();
    await this.#ended.promise;
    await this.#recorded;
  }

  cancel(): void {
    this.#send({ type: 'SHUTDOWN_CANCELLED' });
  }

  /** The pod has ended, and its volumes are released. */
  podEnded(uid: string): void {
    if (this.isShuttingDown) this.#send({ type: 'POD_ENDED', uid });
  }

  stop(): void {
    this.#send({ type: 'STOP' });
    this.#isStopped = true;
    this.#ended.resolve(undefined);
  }

  #begin(): void {
    const { periods, pods, record } = this.#options;
    const { clock, measurements } = this.#context;
    this.#ended = Promise.withResolvers();
    this.#groups = groupByPriority(periods, pods()).filter((group) => group.pods.length > 0);
    const groups = this.#groups.map((group) => ({
      priority: group.priority,
      seconds: group.shutdownGracePeriodSeconds,
      uids: group.pods.map(({ metadata }) => metadata.uid),
    }));
    this.#isOver = false;
    this.#startMs = clock.now();
    measurements?.nodeLife.shutdownBegan(this.#startMs);
    this.#recorded = record?.write(this.#startMs, undefined);
    this.#send({ type: 'SHUTDOWN', at: clock.now(), groups });
  }

  #end(): void {
    if (!this.#isOver) this.#recordEnd();
    this.#isOver = true;
    this.#ended.resolve(undefined);
  }

  #recordEnd(): void {
    const { record } = this.#options;
    const { clock, measurements } = this.#context;
    const endMs = clock.now();
    measurements?.nodeLife.shutdownEnded(endMs);
    this.#recorded = this.#recorded?.then(() => record?.write(this.#startMs, endMs));
  }

  #machine(): typeof shutdownMachine {
    return shutdownMachine.provide({
      actions: {
        reportShutdown: () => {
          this.#context.recorder.nodeEvent('Normal', 'Shutdown', 'Shutdown manager detected shutdown event');
        },
        endGroup: ({ context }) => this.#endGroup(context.groups[0]?.priority),
        reportTimeOver: ({ context }) => this.#reportTimeOver(context.awaited),
        reportCancelled: () => {
          this.#context.logger.info({}, 'The shutdown of the machine was cancelled');
          this.#end();
        },
        reportEnded: () => this.#end(),
      },
    });
  }

  #endGroup(priority: number | undefined): void {
    const group = this.#groups.find((one) => one.priority === priority);
    if (group === undefined) return;
    const { kill, phaseOf } = this.#options;
    const { clock, logger } = this.#context;
    for (const pod of group.pods) {
      const { uid } = pod.metadata;
      const options = shutdownKill(pod, phaseOf(uid), group, clock.now());
      logger.info(podFields(pod.metadata), 'The node shuts down: the pod ends');
      if (!kill(uid, options)) this.#send({ type: 'POD_ENDED', uid });
    }
  }

  #reportTimeOver(awaited: readonly string[]): void {
    const { logger } = this.#context;
    const late = this.#groups
      .flatMap(({ pods }) => pods)
      .filter(({ metadata }) => awaited.includes(metadata.uid));
    for (const { metadata } of late)
      logger.warn(podFields(metadata), 'The pod has not ended within the time that it had for the shutdown');
  }

  /** Changes are told after the transition: while its actions run, `isShuttingDown` still has the old answer. */
  #send(event: ShutdownEvent): void {
    if (this.#isStopped) return;
    const before = this.isShuttingDown;
    this.#actor.send(event);
    if (this.isShuttingDown !== before) this.#options.onChange();
  }
}
