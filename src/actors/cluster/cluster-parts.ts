/** What an agent and its part in a cluster ask of each other. An agent without a cluster loads nothing of it. */
import type { ActorOptions, AnyActorRef } from 'xstate';
import type { supervisorMachine } from '../../machines/supervisor-machine.ts';
import type { Clock } from '../../types/clock.ts';
import type { Node, Pod } from '../../types/kubernetes.ts';
import type { Logger } from '../../types/logger.ts';
import type { DesiredPods } from '../pods/desired-pods.ts';
import type { PodEnds } from '../pods/pod-ends.ts';
import type { PodRegistry } from '../pods/pod-registry.ts';
import type { StatusManager } from '../pods/status-manager.ts';

/** Why the node is not ready; undefined where there is no problem. */
export interface NodeProblems {
  readonly runtime: string | undefined;
  readonly network: string | undefined;
  readonly isShuttingDown: boolean;
}

/** The agent, as its part in the cluster sees it. */
export interface AgentCore {
  readonly registry: PodRegistry;
  readonly desired: DesiredPods;
  readonly ends: PodEnds;
  readonly statusManager: StatusManager;
  /** The pressure conditions that hold. */
  readonly conditions: () => readonly string[];
  readonly problems: () => NodeProblems;
  readonly parent: AnyActorRef;
  readonly inspect?: ActorOptions<typeof supervisorMachine>['inspect'];
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  readonly logger: Logger;
}

/** The node's part in a cluster. No pod waits for anything of it. */
export interface ClusterParts {
  start(): void;
  /** Resolves when nothing of it goes on. */
  stop(): Promise<void>;
  /** As the API server last had it; undefined while it is not known. */
  node(): Node | undefined;
  /** As the API server has it now. Rejects where it does not answer. */
  freshNode(): Promise<Node>;
  /** Called with each sync of a static pod. */
  staticPodSynced(pod: Pod): void;
  /** Called with each housekeeping. */
  cleanUp(): void;
  /** The node has become ready or not ready: this does not wait for the next report. */
  reportNow(): void;
}
