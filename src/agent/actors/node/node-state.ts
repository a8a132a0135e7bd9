/** What the agent knows of its node: whether it is healthy, and what admission, the status of the node and its pods ask of it. */
import { withDevices, withHeldDevices } from '../../policies/devices/node-devices.ts';
import type { DeviceManager } from '../../runtime/devices/device-manager.ts';
import { withNodeObject } from '../../policies/node/initial-node.ts';
import { hostIPsOf } from '../../policies/node/reported-addresses.ts';
import type { NodeHealth } from '../../policies/node/ready-problems.ts';
import type { Pleg } from '../../runtime/pleg/pleg.ts';
import type { RuntimeState } from '../../runtime/pleg/runtime-state.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import type { Clock } from '../../../types/clock.ts';
import type { Node } from '../../../types/kubernetes.ts';
import type { NodeFacts, OwnNodeFacts } from '../../../types/node-facts.ts';
import type { ClusterParts } from '../cluster/cluster-parts.ts';
import type { EvictionManager } from '../eviction/eviction-manager.ts';
import type { NodeShutdown } from './node-shutdown.ts';
import type { StandingConditions } from '../plugins/plugin-parts.ts';
import type { Supervisor } from '../supervisor.ts';

/** The loop counts as stuck when it has not moved for twice the sync frequency, but not before this (the kubelet's). */
const LOOP_STUCK_MIN_MS = 5 * 60_000;

export interface NodeStateParts {
  readonly syncFrequencyMs: number;
  /** Addresses of the node, the primary one first. */
  readonly hostIPs: readonly string[];
  /** The present facts, without the capabilities of the runtime. */
  readonly ownFacts: () => OwnNodeFacts;
  readonly pleg: Pick<Pleg, 'health'>;
  /** Undefined where pods can have no devices. */
  readonly devices?: Pick<DeviceManager, 'resources' | 'heldCounts'> | undefined;
  readonly runtimeState: Pick<RuntimeState, 'health' | 'supplementalGroupsPolicy'>;
}

/** Actors of the node that know more of it. Each node has only some of them. */
export interface NodeActors {
  readonly supervisor?: Pick<Supervisor, 'runtimeProblem'>;
  readonly eviction?: Pick<EvictionManager, 'conditions'>;
  readonly shutdown?: Pick<NodeShutdown, 'isShuttingDown'>;
  readonly cluster?: Pick<ClusterParts, 'node' | 'freshNode'>;
  readonly plugins?: StandingConditions;
}

export class NodeState {
  readonly #clock: Clock;
  readonly #parts: NodeStateParts;
  #actors: NodeActors = {};
  #lastLoopAt: number;

  constructor({ clock }: AgentContext, parts: NodeStateParts) {
    this.#clock = clock;
    this.#parts = parts;
    this.#lastLoopAt = clock.now();
  }

  /** Called once the actors have been made. */
  askActors(actors: NodeActors): void {
    this.#actors = actors;
  }

  /** The loop of the agent has moved. */
  looped(): void {
    this.#lastLoopAt = this.#clock.now();
  }

  /** Why the agent is not healthy, if so. */
  problem(): string | undefined {
    const { syncFrequencyMs, pleg } = this.#parts;
    const stuckMs = Math.max(2 * syncFrequencyMs, LOOP_STUCK_MIN_MS);
    if (this.#clock.now() - this.#lastLoopAt > stuckMs) return 'the sync loop has not moved for too long';
    return this.#actors.supervisor?.runtimeProblem ?? pleg.health();
  }

  /** What decides whether the node is ready. */
  health(): NodeHealth {
    const { runtimeState, pleg } = this.#parts;
    const { isShuttingDown } = this;
    return { runtime: runtimeState.health(), plegProblem: pleg.health(), isShuttingDown };
  }

  /** With the capabilities of the runtime, which are known once it is ready. In a cluster, as the API server has the node. */
  facts(node: Node | undefined = this.#actors.cluster?.node()): NodeFacts {
    const { runtimeState } = this.#parts;
    const { supplementalGroupsPolicy } = runtimeState;
    const facts = this.#ofNodeObject(node);
    const { eviction, plugins } = this.#actors;
    const conditions = eviction?.conditions() ?? facts.conditions;
    const ofPlugins = plugins && { pluginConditions: plugins.conditions() };
    const isShuttingDown = this.isShuttingDown && { isShuttingDown: true };
    return { ...facts, conditions, ...ofPlugins, supplementalGroupsPolicy, ...isShuttingDown };
  }

  /** With the devices of its plugins. Devices that containers hold count even if their plugins are gone. */
  #ofNodeObject(node: Node | undefined): OwnNodeFacts {
    const { ownFacts, devices } = this.#parts;
    if (devices === undefined) return withNodeObject(ownFacts(), node);
    const facts = node ? withNodeObject(ownFacts(), node) : withDevices(ownFacts(), devices.resources());
    return { ...facts, allocatable: withHeldDevices(facts.allocatable, devices.heldCounts()) };
  }

  /** Rejects where the API server does not answer. */
  async freshFacts(): Promise<NodeFacts> {
    return this.facts(await this.#actors.cluster?.freshNode());
  }

  /** In a cluster, as its node object has them. */
  hostIPs(): readonly string[] {
    const { hostIPs } = this.#parts;
    const ofNode = hostIPsOf(this.#actors.cluster?.node()?.status?.addresses ?? []);
    return ofNode.length > 0 ? ofNode : hostIPs;
  }

  get isShuttingDown(): boolean {
    return this.#actors.shutdown?.isShuttingDown === true;
  }
}
