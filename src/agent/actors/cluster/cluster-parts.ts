/** The interfaces between an agent and its part in a cluster. An agent without a cluster does not load that part. */
import type { AnyActorRef } from 'xstate';
import type { NodeHealth } from '../../policies/node/ready-problems.ts';
import type { Node, Pod } from '../../../types/kubernetes.ts';
import type { ActorContext } from '../actor-context.ts';
import type { EndedPods } from '../pods/ended-pods.ts';
import type { DesiredPods } from '../pods/desired-pods.ts';
import type { PodTerminations } from '../pods/pod-terminations.ts';
import type { PodRegistry } from '../pods/pod-registry.ts';
import type { StatusManager } from '../pods/status-manager.ts';

/** The agent, as its part in the cluster and its plugins see it. It is the context of their actors too. */
export interface AgentCore extends ActorContext {
  readonly registry: PodRegistry;
  readonly desired: DesiredPods;
  /** The static pods that a person has deleted on this node. */
  readonly deleted: Pick<EndedPods, 'has'>;
  readonly ends: PodTerminations;
  readonly statusManager: StatusManager;
  /** What decides whether the node is ready. */
  readonly health: () => NodeHealth;
  /** The allocatable resources in the Node object have changed. */
  readonly onAllocatable: () => void;
  /** Syncs these pods. */
  readonly sync: (uids: readonly string[]) => void;
  /** Tries again now to remove what is left of pods that are gone. */
  readonly removeOrphans: () => void;
  /** The node's status has changed: it is reported at once. */
  readonly reportNow: () => void;
  /** The supervisor. */
  readonly parent: AnyActorRef;
}

/** The node's part in a cluster. No pod waits for it. */
export interface ClusterParts {
  /** Actors that run before the agent does, each in a system of its own. */
  readonly earlierActors: readonly AnyActorRef[];
  start(): void;
  /** Resolves when nothing of it is under way any more. */
  stop(): Promise<void>;
  /** Resolves when everything has been sent to the API server, or the server does not answer. */
  flush(): Promise<void>;
  /** As the API server last had it; undefined while it is not known. */
  node(): Node | undefined;
  /** As the API server has it now. Rejects where it does not answer. */
  freshNode(): Promise<Node>;
  staticPodSynced(pod: Pod): void;
  /** A mirror pod has come: the status of its static pod can be written. */
  mirrorPodSeen(): void;
  /** Called with each housekeeping. */
  cleanUp(): void;
  /** The node has become ready or not ready, or has pressure: this is reported at once. */
  reportNow(): void;
}
