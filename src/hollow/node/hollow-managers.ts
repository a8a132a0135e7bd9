/** The devices, CPUs and memory of a hollow node that its containers have for themselves. What outlives its agents is kept here. */
import { emptyMachine, MEMORY, type MemoryByNode } from '../../agent/policies/memory-manager/numa-memory.ts';
import { DevicePluginFolder } from '../../simulation/devices/device-plugin-folder.ts';
import type { DevicesWitness } from '../../simulation/devices/simulated-device-connection.ts';
import { type NodeManagers, nodeManagers } from '../../simulation/node/node-managers.ts';
import { machineOf, numaOf } from '../../simulation/placement/placement-plan.ts';
import { StateFiles } from '../../simulation/placement/state-files.ts';
import type { KeyedRandom } from '../../simulation/resources/growth.ts';
import type { SimulatedConnection } from '../../simulation/runtime/simulated-connection.ts';
import { systemClock } from '../../system/timer.ts';
import type { AgentContext } from '../../types/agent-context.ts';
import type { NodeFacts } from '../../types/node-facts.ts';
import { bytesOf } from './hollow-resources.ts';
import { failByPlan } from './outages.ts';
import { cpusOf, type PlannedDevicePlugin } from '../plan/planned-managers.ts';
import type { HollowPlan } from '../plan/hollow-plan.ts';

type Plan = Pick<HollowPlan, 'capacity' | 'devicePlugins' | 'managers'>;

const MI = 2 ** 20;
/** The memory that no container has for itself: the eviction threshold, as with the kubelet. On the first NUMA node. */
export const RESERVED_MEMORY_BYTES = 100 * MI;
/** The kubelet's defaults. */
const CPU_OPTIONS = {
  'full-pcpus-only': false,
  'strict-cpu-reservation': false,
  'distribute-cpus-across-numa': false,
  'align-by-socket': false,
  'distribute-cpus-across-cores': false,
  'prefer-align-cpus-by-uncorecache': false,
};

const never = () => false;
const nothing = () => undefined;
const UNSEEN: DevicesWitness = {
  listed: nothing,
  silent: nothing,
  asked: nothing,
  failed: nothing,
  takenWrongly: nothing,
  letGo: nothing,
};

/** What is left for pods of the machine's capacity. */
export function allocatableOf({ capacity, managers }: Plan): NodeFacts['allocatable'] {
  const { reservedSystemCPUs, memoryManagerPolicy } = managers;
  return {
    ...capacity,
    ...(reservedSystemCPUs.length > 0 && { cpu: String(cpusOf(capacity) - reservedSystemCPUs.length) }),
    ...(memoryManagerPolicy === 'Static' && {
      memory: String(Math.max(0, bytesOf({ capacity }, 'memory') - RESERVED_MEMORY_BYTES)),
    }),
  };
}

export class HollowManagers {
  readonly #plan: Plan;
  readonly #random: KeyedRandom;
  readonly #files: StateFiles;
  readonly #folder: DevicePluginFolder | undefined;

  constructor(plan: Plan, random: KeyedRandom) {
    this.#plan = plan;
    this.#random = random;
    this.#files = new StateFiles({ random, mayDie: never, killAgent: nothing });
    if (plan.devicePlugins.length > 0) this.#folder = this.#openFolder();
    for (const plugin of plan.devicePlugins) for (const id of idsOf(plugin)) this.#failsByPlan(plugin, id);
  }

  /** The managers of one agent. */
  forAgent(
    context: AgentContext,
    { resizing: runtime }: Pick<SimulatedConnection, 'resizing'>,
  ): NodeManagers {
    const { managers, capacity } = this.#plan;
    const folder = this.#folder;
    const { cpuManagerPolicy, memoryManagerPolicy, reservedSystemCPUs: reserved } = managers;
    const nodes = Array.from({ length: managers.numaNodes }, (_, node) => node);
    return nodeManagers(context, {
      ...(folder && { devices: { folder, witness: UNSEEN } }),
      placement: {
        numa: numaOf({ nodes }),
        policy: managers.topologyManagerPolicy,
        scope: managers.topologyManagerScope,
        cpus:
          cpuManagerPolicy === 'static'
            ? { topology: topologyOf(this.#plan), options: CPU_OPTIONS, reserved }
            : undefined,
        memory:
          memoryManagerPolicy === 'Static'
            ? emptyMachine(
                memoryOf(nodes, bytesOf({ capacity }, 'memory') / nodes.length),
                memoryOf(nodes.slice(0, 1), RESERVED_MEMORY_BYTES),
              )
            : undefined,
        files: this.#files,
        runtime,
      },
    });
  }

  #openFolder(): DevicePluginFolder {
    const { devicePlugins, managers } = this.#plan;
    const habits = new Map(
      devicePlugins.map(({ resourceName, calls, callFailures: failures }) => [
        resourceName,
        { ms: calls.Allocate, failures },
      ]),
    );
    return new DevicePluginFolder({
      plan: {
        resources: devicePlugins.map((plugin) => {
          const ids = idsOf(plugin);
          const nodes = new Map(ids.map((id, index) => [id, index % managers.numaNodes]));
          return { resource: plugin.resourceName, ids, nodeOf: (id) => nodes.get(id) ?? 0 };
        }),
      },
      world: { random: this.#random, misbehaves: never, habits: (resource) => habits.get(resource) },
      clock: systemClock,
      mayDie: never,
      killAgent: nothing,
      tell: nothing,
    });
  }

  #failsByPlan({ resourceName, failures }: PlannedDevicePlugin, id: string): void {
    if (!failures) return;
    const setHealth = (health: 'Healthy' | 'Unhealthy') => this.#folder?.setHealth(resourceName, id, health);
    failByPlan(failures, (what) => this.#random(`devices/${resourceName}/${id}/${what}`), {
      fail: () => setHealth('Unhealthy'),
      recover: () => setHealth('Healthy'),
    });
  }
}

/** `example.com/gpu` has `gpu-0`, `gpu-1`, … */
function idsOf({ resourceName, devices }: PlannedDevicePlugin): readonly string[] {
  const kind = resourceName.slice(resourceName.indexOf('/') + 1);
  return Array.from({ length: devices }, (_, index) => `${kind}-${String(index)}`);
}

/** A socket for each NUMA node, and two CPUs a core where their number is even. */
function topologyOf({ capacity, managers: { numaNodes } }: Plan) {
  const ofNode = Math.floor(cpusOf(capacity) / numaNodes);
  const cpusPerCore = ofNode % 2 === 0 ? 2 : 1;
  return machineOf({
    sockets: numaNodes,
    nodesPerSocket: 1,
    coresPerNode: ofNode / cpusPerCore,
    cpusPerCore,
  });
}

function memoryOf(nodes: readonly number[], bytes: number): MemoryByNode {
  return new Map(nodes.map((node) => [node, new Map([[MEMORY, Math.floor(bytes)]])]));
}
