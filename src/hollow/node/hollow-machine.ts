/** The machine of a hollow node: what outlives its agents, and what happens on it by plan. */
import type { EndedPod } from '../../agent/policies/termination/ended-pod.ts';
import type { GroupFigures } from '../../agent/runtime/stats/cadvisor/group-figures.ts';
import type { MeasuredMachine } from '../../agent/server/metrics/cadvisor-metrics.ts';
import type { SimulatedDisk } from '../../simulation/node/simulated-disk.ts';
import { simulatedNodeFacts } from '../../simulation/node/simulated-node-facts.ts';
import { simulatedMachine } from '../../simulation/node/simulated-status-facts.ts';
import { keyedRandom } from '../../simulation/plan/seeded-random.ts';
import type { KeyedRandom } from '../../simulation/resources/growth.ts';
import type { SimulatedResources } from '../../simulation/resources/simulated-resources.ts';
import { drawnImageBytes } from '../../simulation/resources/simulated-storage.ts';
import { within } from '../../simulation/runtime/chance.ts';
import type { SimulatedConnection } from '../../simulation/runtime/simulated-connection.ts';
import { SimulatedRuntime } from '../../simulation/runtime/simulated-runtime.ts';
import type { ContainerTruth } from '../../simulation/runtime/witness.ts';
import { uidOfId } from '../../simulation/runtime/world.ts';
import { systemClock } from '../../system/timer.ts';
import type { PodSpec } from '../../types/kubernetes.ts';
import type { NodeFacts } from '../../types/node-facts.ts';
import type { ContainerEnd, HollowPlan } from '../plan/hollow-plan.ts';
import { HollowDrivers, type VolumesOf } from './hollow-drivers.ts';
import { allocatableOf, HollowManagers } from './hollow-managers.ts';
import { hollowProgram } from './hollow-programs.ts';
import { hollowGroups } from './hollow-groups.ts';
import { hollowResources } from './hollow-resources.ts';
import { NO_MANAGERS } from '../plan/planned-managers.ts';
import { HollowUse } from './hollow-use.ts';

/** The exit code of a container that ends because its machine is switched off. */
const LOST_EXIT_CODE = 255;

export interface HollowMachineParts {
  readonly plan: HollowPlan;
  readonly name: string;
  readonly volumesOf: VolumesOf;
  /** The spec of a pod that the node has. */
  readonly specOf: (uid: string) => PodSpec | undefined;
}

export class HollowMachine {
  readonly facts: NodeFacts;
  readonly runtime: SimulatedRuntime;
  readonly resources: SimulatedResources;
  readonly use: HollowUse;
  readonly random: KeyedRandom;
  readonly disk: SimulatedDisk = new Map();
  /** Undefined without drivers in the plan: pods do not wait for their claims. */
  readonly drivers?: HollowDrivers;
  /** Undefined without device plugins and policies in the plan. */
  readonly managers?: HollowManagers;
  /** The pods that must not start again, as the disk has them. */
  readonly endedPods: { stored: readonly EndedPod[] } = { stored: [] };
  /** For those who look at the machine from outside. */
  readonly console: SimulatedConnection;
  readonly #plan: HollowPlan;
  readonly #specOf: (uid: string) => PodSpec | undefined;
  /** By id of the container. */
  readonly #whenEnded = new Map<string, Set<() => void>>();
  #boots = 1;

  constructor({ plan, name, volumesOf, specOf }: HollowMachineParts) {
    this.#plan = plan;
    this.#specOf = specOf;
    const random = keyedRandom(plan.seed);
    this.random = (key) => random(`${name}/${key}`);
    this.facts = {
      ...simulatedNodeFacts(allocatableOf(plan)),
      capacity: plan.capacity,
      name,
      labels: plan.labels,
    };
    if (plan.csiDrivers.length + plan.draDrivers.length > 0)
      this.drivers = new HollowDrivers(name, plan, { random: this.random, volumesOf });
    if (plan.devicePlugins.length > 0 || plan.managers !== NO_MANAGERS)
      this.managers = new HollowManagers(plan, this.random);
    this.runtime = this.#buildRuntime();
    this.console = this.runtime.connect();
    const { runtime, disk } = this;
    const parts = { runtime, random: this.random, now: () => systemClock.now(), specOf };
    this.resources = hollowResources(plan, { ...parts, disk });
    this.use = new HollowUse({
      ...parts,
      nodeName: name,
      resources: this.resources,
      cpuShares: plan.cpu.uses,
    });
  }

  container(id: string): ContainerTruth | undefined {
    const sandboxes = this.runtime.sandboxesOf(uidOfId(id));
    return sandboxes.flatMap(({ containers }) => containers).find((container) => container.id === id);
  }

  /** Calls when the container ends. Returns a function that takes that back. */
  whenEnded(id: string, callback: () => void): () => void {
    const callbacks = this.#whenEnded.get(id) ?? new Set();
    this.#whenEnded.set(id, callbacks);
    callbacks.add(callback);
    return () => {
      callbacks.delete(callback);
      if (callbacks.size === 0) this.#whenEnded.delete(id);
    };
  }

  /** For `/metrics/cadvisor`. */
  groups(): readonly GroupFigures[] {
    const { runtime, use } = this;
    return hollowGroups({ summary: use.summary(), runtime, specOf: this.#specOf, nowMs: systemClock.now() });
  }

  /** What the Node object says of the machine too. */
  measured(): MeasuredMachine {
    return { ...simulatedMachine(this.facts), bootID: this.bootID };
  }

  get bootID(): string {
    return `${this.facts.name}-boot-${String(this.#boots)}`;
  }

  /** The power is gone: everything that runs ends, and the runtime answers no more. */
  powerOff(): void {
    const { runtime, disk } = this;
    for (const uid of runtime.uids())
      for (const { id, containers } of runtime.sandboxesOf(uid)) {
        for (const container of containers)
          if (container.state === 'CONTAINER_RUNNING')
            runtime.killContainer(container.id, LOST_EXIT_CODE, 'Unknown');
        runtime.killSandbox(id);
      }
    for (const folder of disk.values()) folder.mounted = false;
    runtime.goDown();
  }

  powerOn(): void {
    this.#boots += 1;
    this.drivers?.powerOn();
    this.runtime.comeUp();
  }

  #buildRuntime(): SimulatedRuntime {
    const { calls, callFailures, probeFailures } = this.#plan;
    const programs = { random: this.random, now: () => systemClock.now(), probeFailures };
    return new SimulatedRuntime({
      clock: systemClock,
      random: this.random,
      latencies: calls,
      faults: callFailures > 0 ? { anyCall: { fail: callFailures } } : {},
      // An image has the same size on all nodes.
      imageBytes: drawnImageBytes(keyedRandom(this.#plan.seed)),
      programOf: (words) => hollowProgram(words, programs),
      witness: {
        containerStarted: (container) => this.#started(container),
        containerEnded: (container) => this.#ended(container),
      },
    });
  }

  #started(container: ContainerTruth): void {
    this.resources.changed();
    const { crashes, outOfMemory } = this.#plan;
    this.#mayEnd(container, 'crash', crashes);
    this.#mayEnd(container, 'outOfMemory', outOfMemory, 'OOMKilled');
  }

  #ended(container: ContainerTruth): void {
    this.use.ended(container);
    this.resources.changed();
    for (const callback of this.#whenEnded.get(container.id) ?? []) callback();
  }

  #mayEnd(
    { id, uid, metadata: { name, attempt } }: ContainerTruth,
    what: string,
    { share, afterMs, exitCode }: ContainerEnd,
    reason?: string,
  ): void {
    const key = `${what}/${uid}/${name}/${String(attempt)}`;
    if (share === 0 || this.random(key) >= share) return;
    const end = () => {
      if (this.container(id) !== undefined) this.runtime.killContainer(id, exitCode, reason);
    };
    systemClock.setTimeout(end, within(afterMs, this.random(`${key}/after`)));
  }
}
