/** Conditions of plugins as taints of the node, and of its CustomNodeResource where Katalyst's objects are installed. */
import type { AgentCore } from '../../agent/actors/cluster/cluster-parts.ts';
import { ConditionTaints } from '../../agent/actors/plugins/condition-taints.ts';
import type { StandingConditions, TaintLoop } from '../../agent/actors/plugins/plugin-parts.ts';
import {
  taintedNode,
  type TaintedObject,
  TaintedCustomNodeResource,
} from '../../agent/actors/plugins/tainted-objects.ts';
import { isServedInTime } from '../../agent/cluster/watches/served.ts';
import type { StateletConfig } from '../../agent/config/config.ts';
import type { PluginCluster } from './join-cluster.ts';

export class NodeTaints implements TaintLoop {
  readonly #core: AgentCore;
  readonly #server: PluginCluster;
  readonly #nodeName: string;
  readonly #make: (object: TaintedObject) => ConditionTaints;
  readonly #stop = new AbortController();
  #loops: readonly ConditionTaints[] = [];

  constructor(
    core: AgentCore,
    { nodeName, evictionPlugins }: Pick<StateletConfig, 'nodeName' | 'evictionPlugins'>,
    server: PluginCluster,
    conditions: StandingConditions,
  ) {
    const { conditionTransitionPeriodMs } = evictionPlugins;
    this.#core = core;
    this.#server = server;
    this.#nodeName = nodeName;
    this.#make = (object) => new ConditionTaints(core, { object, conditions, conditionTransitionPeriodMs });
  }

  start(): void {
    const { taints: api, node } = this.#server;
    this.#begin(taintedNode({ api, nodeName: this.#nodeName, node }));
    void this.#discover();
  }

  stop(): void {
    this.#stop.abort();
    for (const loop of this.#loops) loop.stop();
  }

  health(): string | undefined {
    return this.#loops.map((loop) => loop.health()).find((problem) => problem !== undefined);
  }

  /** Never rejects. */
  async #discover(): Promise<void> {
    const { signal } = this.#stop;
    const { taints: api } = this.#server;
    const { clock, random } = this.#core;
    const options = { clock, random, signal };
    const isServed = await isServedInTime(api, 'customnoderesources', options).catch(() => false);
    if (isServed && !signal.aborted)
      this.#begin(new TaintedCustomNodeResource(this.#core, api, this.#nodeName));
  }

  #begin(object: TaintedObject): void {
    const loop = this.#make(object);
    this.#loops = [...this.#loops, loop];
    loop.start();
  }
}
