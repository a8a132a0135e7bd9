/** The node's part in a cluster, put together: its object, its lease, its statuses, its mirror pods. */
import { type Observable, Subscription } from 'rxjs';
import type { AnyActorRef } from 'xstate';
import type { ApiClients } from '../../cluster/service/api-server.ts';
import type { WatchedObject } from '../../cluster/watches/watched-object.ts';
import type { RegistrationSettings } from '../../policies/node/initial-node.ts';
import { otherMachine } from '../../policies/node/machine-identity.ts';
import type { NodeStatusFacts } from '../../policies/node/node-status.ts';
import { CONFIG_MIRROR_ANNOTATION, podFullName } from '../../policies/pod/pod-kinds.ts';
import { isTerminalPhase } from '../../policies/termination/pod-termination.ts';
import type { ClusterSettings } from '../../../types/node-settings.ts';
import type { Node, Pod } from '../../../types/kubernetes.ts';
import { ClusterNode } from './cluster-node.ts';
import type { AgentCore, ClusterParts } from './cluster-parts.ts';
import { MirrorPods } from './mirror-pods.ts';
import { NodeLease } from './node-lease.ts';
import { StatusWriter } from './status-writer.ts';
import { StatusLatency } from './status-latency.ts';

export interface ClusterAgentParts {
  readonly clients: ApiClients;
  readonly settings: ClusterSettings;
  readonly registration: RegistrationSettings;
  /** The present facts from which the node's status is made. */
  readonly statusFacts: () => NodeStatusFacts;
  /** The first report of the node's status waits for this. No pod waits for it. */
  readonly statusFactsKnown?: () => Promise<void>;
  readonly node: Observable<WatchedObject<Node>>;
  /** Of the connection to the API server and of the certificates. They run before the agent does. */
  readonly earlierActors?: readonly AnyActorRef[];
}

export class ClusterAgent implements ClusterParts {
  readonly #core: AgentCore;
  readonly #parts: ClusterAgentParts;
  readonly #node: ClusterNode;
  readonly #lease: NodeLease;
  readonly #mirrorPods: MirrorPods;
  readonly #statuses: StatusWriter;
  readonly #latency: StatusLatency | undefined;
  readonly #subscriptions = new Subscription();
  #uid: string | undefined;

  constructor(core: AgentCore, parts: ClusterAgentParts) {
    this.#core = core;
    this.#parts = parts;
    this.#lease = this.#buildLease();
    this.#node = this.#buildNode();
    this.#mirrorPods = this.#buildMirrorPods();
    const { desired, ends, measurements, statusManager, clock } = core;
    this.#latency = measurements && new StatusLatency(measurements, statusManager, clock);
    this.#statuses = this.#buildStatusWriter();
    ends.subscribe(({ uid }, end) => {
      if (end !== 'Forgotten') return;
      desired.outlive(uid);
      this.#latency?.forget(uid);
    });
  }

  /** Of the connection to the API server and of the certificates. */
  get earlierActors(): readonly AnyActorRef[] {
    return this.#parts.earlierActors ?? [];
  }

  /** Of the node's object, for events about the node; undefined until it is registered. */
  get nodeUID(): string | undefined {
    return this.#uid;
  }

  /** A pod that this node runs, also when no source wants it any more. */
  pod(uid: string): Pod | undefined {
    return this.#core.registry.podOf(uid);
  }

  /** Names the other machine to which the Node object belongs; undefined if it belongs to this one. */
  otherMachine(node: Node): string | undefined {
    const { machine } = this.#parts.statusFacts().resources;
    return machine && otherMachine(node, machine, this.#node.ownership);
  }

  start(): void {
    const { node } = this.#parts;
    this.#core.recorder.nodeEvent('Normal', 'Starting', 'Starting kubelet.');
    this.#lease.start();
    this.#node.start();
    this.#subscriptions.add(
      this.#core.statusManager.news.subscribe(({ uid }) => this.#checkMirrorPodOf(uid)),
    );
    this.#statuses.start();
    this.#subscriptions.add(
      node.subscribe(({ isKnown, object }) => {
        if (isKnown) this.#node.seen(object);
      }),
    );
  }

  /** The API server answers again: whatever waits for it tries at once. */
  connected(): void {
    this.#statuses.connected();
    this.#mirrorPods.reconcileAll();
  }

  async flush(): Promise<void> {
    await Promise.all([this.#statuses.flush(), this.#node.settled()]);
  }

  async stop(): Promise<void> {
    this.#subscriptions.unsubscribe();
    this.#latency?.stop();
    this.#lease.stop();
    this.#node.stop();
    await Promise.all([this.#statuses.stop(), this.#mirrorPods.stop()]);
  }

  node(): Node | undefined {
    return this.#node.node;
  }

  /** As `node`; undefined where the object belongs to another machine. */
  ownNode(): Node | undefined {
    return this.#isOfOtherMachine ? undefined : this.#node.node;
  }

  async freshNode(): Promise<Node> {
    const { clients, registration } = this.#parts;
    const target = { resource: 'nodes', name: registration.nodeName } as const;
    return clients.main.get<Node>(target, { timeoutMs: FRESH_NODE_LIMIT_MS });
  }

  /** The same after the report that is under way, so that it includes what that report writes. */
  async writtenNode(): Promise<Node> {
    await this.#node.settled();
    return this.freshNode();
  }

  staticPodSynced(pod: Pod): void {
    this.#mirrorPods.reconcile(pod);
  }

  cleanUp(): void {
    const { registry } = this.#core;
    const terminating = new Set<string>();
    for (const { fullName, actor } of registry.entries())
      if (!actor.getSnapshot().hasTag('finished')) terminating.add(fullName);
    this.#mirrorPods.deleteOrphans((fullName) => terminating.has(fullName));
  }

  mirrorPodSeen(): void {
    const { desired } = this.#core;
    for (const mirrorPod of desired.mirrorPods()) {
      this.#checkMirrorPod(mirrorPod);
      const pod = desired.staticPodOf(mirrorPod);
      // A static pod that has ended is not synced any more: its mirror pod is replaced now.
      if (pod && mirrorPod.metadata.deletionTimestamp !== undefined) this.#mirrorPods.reconcile(pod);
    }
    this.#statuses.wake();
  }

  reportNow(): void {
    this.#node.reportNow();
  }

  #checkMirrorPodOf(uid: string): void {
    const { desired } = this.#core;
    const pod = desired.get(uid);
    // Only a static pod can be unwanted and still have a status.
    const mirrorPods = pod === undefined ? desired.mirrorPods() : [desired.ownMirrorPodOf(pod)];
    for (const mirrorPod of mirrorPods) if (mirrorPod !== undefined) this.#checkMirrorPod(mirrorPod);
  }

  /**
   * Handles a mirror pod that has ended while its static pod goes on. It belongs to an earlier life of the pod: the manifest was wanted again, maybe
   * while no agent ran. The static pod gets another mirror pod at once, since the sync under way may be its last one. The end of the old one is
   * final, and the API server has it.
   */
  #checkMirrorPod(mirrorPod: Pod): void {
    const { desired, statusManager } = this.#core;
    const { phase, reason, message } = mirrorPod.status ?? {};
    const uid = mirrorPod.metadata.annotations?.[CONFIG_MIRROR_ANNOTATION] ?? '';
    const status = statusManager.get(uid);
    if (status?.phase === undefined || !isTerminalPhase(phase) || desired.isOutlived(mirrorPod)) return;
    if (!isTerminalPhase(status.phase)) {
      desired.outlive(uid);
      this.#mirrorPods.reconcileAgain(podFullName(mirrorPod));
      return;
    }
    const pod = desired.get(uid);
    if (pod === undefined || phase === status.phase) return;
    const end = { ...(reason !== undefined && { reason }), ...(message !== undefined && { message }) };
    statusManager.set(pod, { ...status, phase, ...end });
  }

  #buildLease(): NodeLease {
    const { clients, settings, registration } = this.#parts;
    const { nodeLeaseDurationSeconds, nodeStatusUpdateFrequencyMs } = settings;
    return new NodeLease(this.#core, {
      api: clients.heartbeats,
      nodeName: registration.nodeName,
      leaseDurationSeconds: nodeLeaseDurationSeconds,
      timeoutMs: Math.min(nodeStatusUpdateFrequencyMs, nodeLeaseDurationSeconds * 1000),
    });
  }

  async #facts(): Promise<NodeStatusFacts> {
    const { statusFacts, statusFactsKnown } = this.#parts;
    await statusFactsKnown?.();
    return statusFacts();
  }

  #buildNode(): ClusterNode {
    const { clients, settings, registration } = this.#parts;
    const { onAllocatable } = this.#core;
    return new ClusterNode(this.#core, {
      api: clients.heartbeats,
      settings,
      registration,
      facts: () => this.#facts(),
      onRegistered: (uid) => {
        this.#uid = uid;
        this.#lease.nodeKnown(uid);
        this.#mirrorPods.reconcileAll();
      },
      onLost: () => this.#lease.nodeLost(),
      onAllocatable,
    });
  }

  #buildStatusWriter(): StatusWriter {
    const { registry, desired, statusManager } = this.#core;
    return new StatusWriter(this.#core, {
      api: this.#parts.clients.main,
      statusManager,
      pods: {
        get: (uid) => desired.get(uid),
        translateUID: (uid) => desired.ownUIDOf(uid),
        mirrorPodOf: (pod) => desired.ownMirrorPodOf(pod),
      },
      couldHaveRunningContainers: (uid) => registry.couldHaveRunningContainers(uid),
      onWritten: (uid, entry) => this.#latency?.written(uid, entry),
      isOwnNode: () => !this.#isOfOtherMachine,
    });
  }

  #buildMirrorPods(): MirrorPods {
    const { clients, registration } = this.#parts;
    const { desired, deleted } = this.#core;
    return new MirrorPods(this.#core, {
      api: clients.main,
      desired,
      deleted,
      nodeName: registration.nodeName,
      node: () => this.ownNode(),
    });
  }

  /** The pods at the API server are then those of the other machine. */
  get #isOfOtherMachine(): boolean {
    return this.#node.current.state === 'OtherMachine';
  }
}

/** A pod waits this long for the newest labels of the node. Then the known ones count. */
const FRESH_NODE_LIMIT_MS = 10_000;
