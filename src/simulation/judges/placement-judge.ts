/**
 * Whether CPUs and memory that are kept for a container are no other's, by what containers were made with and by the files that a next
 * agent would read. It outlives the agents of its node.
 */
import { parseCpuSet } from '../../agent/policies/cpus/cpu-set.ts';
import { milliValue, parseQuantity } from '../../agent/policies/formats/quantity.ts';
import type { Container, Pod, PodSpec } from '../../types/kubernetes.ts';
import type { PlacementPlan } from '../placement/placement-plan.ts';
import type { ContainerTruth, SandboxTruth } from '../runtime/witness.ts';

export interface PlacementJudgeOptions {
  readonly plan: PlacementPlan;
  /** As the pod was created, and with all resources that it was to have since then. */
  readonly specsOf: (uid: string) => readonly PodSpec[];
  readonly runtime: () => { uids(): Iterable<string>; sandboxesOf(uid: string): Iterable<SandboxTruth> };
  readonly textOf: (file: string) => string | undefined;
  readonly onPinned: () => void;
  readonly violated: (uid: string, what: string) => void;
}

const SHARES_PER_CPU = 1024;

export class PlacementJudge {
  readonly #options: PlacementJudgeOptions;
  /** Ids of containers that nobody waited for any more when they started. */
  readonly #unawaited = new Set<string>();
  /** By id of the container: its own CPUs. */
  readonly #startedWith = new Map<string, string>();

  constructor(options: PlacementJudgeOptions) {
    this.#options = options;
  }

  /** `isAwaited`: not so where the agent that asked for its start is gone, or has given up. */
  started(container: ContainerTruth, isAwaited: boolean): void {
    if (!isAwaited) this.#unawaited.add(container.id);
    if (!isAwaited || this.#countOf(container) === 0) return;
    this.#options.onPinned();
    this.#startedWith.set(container.id, cpusOf(container).join());
    const what = this.#wrongCpus(container) ?? this.#sharedCpus(container) ?? this.#wrongMemory(container);
    if (what !== undefined) this.#options.violated(container.uid, `${container.metadata.name} ${what}`);
  }

  /** Once nothing happens any more: a container that has other CPUs for itself than it started with, or a container that shares CPUs and runs on another's own. */
  intruder(): string | undefined {
    const all = [...this.#running()];
    const owners = all.filter((one) => this.#countOf(one) > 0);
    const moved = owners.find(
      (one) => (this.#startedWith.get(one.id) ?? cpusOf(one).join()) !== cpusOf(one).join(),
    );
    if (moved) return `${moved.metadata.name} of ${moved.uid} has other CPUs for itself than it started with`;
    for (const guest of all) {
      if (this.#countOf(guest) > 0) continue;
      const cpus = cpusOf(guest);
      const owner = owners.find((one) => cpusOf(one).some((cpu) => cpus.includes(cpu)));
      if (owner)
        return `${guest.metadata.name} of ${guest.uid} shares CPUs that ${owner.metadata.name} of ${owner.uid} has`;
    }
    return undefined;
  }

  /** UIDs of the pods for which the files keep something. */
  keptFor(): readonly string[] {
    const read = (file: string) =>
      (JSON.parse(this.#options.textOf(file) ?? '{}') as { readonly entries?: object }).entries ?? {};
    return [...Object.keys(read('cpu_manager_state')), ...Object.keys(read('memory_manager_state'))];
  }

  /** Whether what others may have can be why this pod is refused. */
  mayLack({ metadata, spec }: Pod, others: readonly Pod[]): boolean {
    const { plan } = this.#options;
    // Of a pod that is gone, an agent may not have learned it yet.
    const known = new Set([metadata, ...others.map((other) => other.metadata)].map(({ uid }) => uid));
    if (this.keptFor().some((uid) => !known.has(uid))) return true;
    const pinned = others.filter((other) => largest(other.spec) > 0 || isGuaranteed(other.spec));
    const kept = plan.options['strict-cpu-reservation'] ? 1 : 0;
    const free = plan.cpus.cpus.length - plan.reserved.length - kept;
    const sum = [...pinned.map((other) => total(other.spec)), total(spec)].reduce((all, one) => all + one, 0);
    if (sum > free) return true;
    // Where it matters where the CPUs and the memory are, sums say little: then only an empty node has to take the pod.
    const isPlain = plan.policy === 'none' && plan.memory === undefined && !plan.options['full-pcpus-only'];
    if (isPlain || !isGuaranteed(spec)) return false;
    return pinned.length > 0 || !this.#fitsAlone(spec);
  }

  /** A pod that fits so on an empty machine fits there in every way. */
  #fitsAlone(spec: PodSpec): boolean {
    const { plan } = this.#options;
    const ofNode = plan.cpus.nodes.map(
      (node) =>
        plan.cpus.cpus.filter(
          (cpu) => plan.cpus.places.get(cpu)?.node === node && !plan.reserved.includes(cpu),
        ).length,
    );
    const [containers, whole] = [all(spec), plan.options['full-pcpus-only'] ? plan.cpus.cpusPerCore : 1];
    const isWhole = containers.every((one) => count(spec, one) % whole === 0);
    return isWhole && containers.length === 1 && total(spec) <= Math.min(...ofNode) - plan.cpus.cpusPerCore;
  }

  #wrongCpus(container: ContainerTruth): string | undefined {
    const { plan } = this.#options;
    const [cpus, wanted] = [cpusOf(container), this.#countOf(container)];
    if (cpus.length !== wanted)
      return `has ${String(cpus.length)} CPUs of its own, and asks for ${String(wanted)}`;
    const reserved = cpus.find((cpu) => plan.reserved.includes(cpu));
    if (reserved !== undefined) return `has CPU ${String(reserved)}, which is reserved`;
    const nodes = new Set(cpus.map((cpu) => plan.cpus.places.get(cpu)?.node));
    if (nodes.has(undefined)) return `has CPUs ${cpus.join()}, which the machine has not`;
    if (plan.policy === 'single-numa-node' && nodes.size > 1)
      return `has CPUs of NUMA nodes ${[...nodes].join()}`;
    return undefined;
  }

  #sharedCpus(container: ContainerTruth): string | undefined {
    const cpus = cpusOf(container);
    for (const other of this.#running()) {
      if (other.id === container.id || this.#unawaited.has(other.id) || this.#countOf(other) === 0) continue;
      const shared = cpusOf(other).filter((cpu) => cpus.includes(cpu));
      if (shared.length > 0)
        return `has CPU ${shared.join()} for itself, as ${other.metadata.name} of ${other.uid} has`;
    }
    return undefined;
  }

  /** What containers keep on some nodes is at most what these nodes have. */
  #wrongMemory(container: ContainerTruth): string | undefined {
    const { memory } = this.#options.plan;
    if (memory === undefined) return undefined;
    if (nodesOf(container).length === 0) return 'has memory of no NUMA node';
    const kept = [...this.#running()].filter(
      (one) => !this.#unawaited.has(one.id) && nodesOf(one).length > 0,
    );
    const ids = [...memory.keys()];
    for (let bits = 1; bits < 2 ** ids.length; bits++) {
      const some = ids.filter((_, index) => (bits >> index) % 2 === 1);
      const room = some.reduce(
        (sum, id) => sum + (memory.get(id)?.memoryMap.get('memory')?.allocatable ?? 0),
        0,
      );
      const used = kept
        .filter((one) => nodesOf(one).every((id) => some.includes(id)))
        .reduce((sum, { resources }) => sum + (resources?.memoryLimitInBytes ?? 0), 0);
      if (used > room)
        return `brings the memory kept on NUMA nodes ${some.join()} to ${String(used)} of ${String(room)}`;
    }
    return undefined;
  }

  /** Which of its specs counts, only the agent knows: by its quota, the container is to have all the CPUs that it asks for. */
  #countOf({ uid, metadata, resources }: ContainerTruth): number {
    const counts = this.#options.specsOf(uid).flatMap((spec) => {
      const container = all(spec).find(({ name }) => name === metadata.name);
      return container ? count(spec, container) : [];
    });
    const [first = 0] = counts;
    const { cpuQuota = 0, cpuShares = 0 } = resources ?? {};
    const told = cpuQuota > 0 ? 0 : cpuShares / SHARES_PER_CPU;
    return counts.includes(told) ? told : first;
  }

  *#running(): Iterable<ContainerTruth> {
    const runtime = this.#options.runtime();
    for (const uid of runtime.uids())
      for (const { containers } of runtime.sandboxesOf(uid))
        for (const container of containers) if (container.state === 'CONTAINER_RUNNING') yield container;
  }
}

const cpusOf = ({ resources }: ContainerTruth) => parseCpuSet(resources?.cpusetCpus ?? '') ?? [];
const nodesOf = ({ resources }: ContainerTruth) => parseCpuSet(resources?.cpusetMems ?? '') ?? [];
const all = ({ initContainers = [], containers }: PodSpec) => [...initContainers, ...containers];
const total = (spec: PodSpec) => all(spec).reduce((sum, container) => sum + count(spec, container), 0);
const largest = (spec: PodSpec) => Math.max(...all(spec).map((container) => count(spec, container)));

/** Simulated pods that are Guaranteed have the same requests as limits in all their containers. */
function isGuaranteed(spec: PodSpec): boolean {
  return all(spec).every(({ resources: { requests, limits } = {} }) =>
    ['cpu', 'memory'].every(
      (name) => limits?.[name] !== undefined && (requests?.[name] ?? limits[name]) === limits[name],
    ),
  );
}

/** Whole CPUs that the container is to have for itself. */
function count(spec: PodSpec, { resources }: Container): number {
  const milli = Number(milliValue(parseQuantity(resources?.requests?.cpu ?? '0')));
  return isGuaranteed(spec) && milli % 1000 === 0 ? milli / 1000 : 0;
}
