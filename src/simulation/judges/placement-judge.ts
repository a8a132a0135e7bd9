/**
 * Checks that no other container has CPUs and memory that are kept for one. It knows the configurations of containers, and the files that the next
 * agent would read. It outlives the agents of its node.
 */
import { parseCpuSet } from '../../agent/policies/cpus/cpu-set.ts';
import { milliValue, parseQuantity } from '../../agent/policies/formats/quantity.ts';
import type { Container, Pod, PodSpec } from '../../types/kubernetes.ts';
import type { PlacementPlan } from '../placement/placement-plan.ts';
import type { ContainerTruth } from '../runtime/witness.ts';
import { Lasting } from './lasting.ts';
import type { RuntimeTruth } from './pod-states.ts';

export interface PlacementJudgeOptions {
  readonly plan: PlacementPlan;
  /** Unix ms. */
  readonly now: () => number;
  /** As the pod was created, and with all resources that it was to have since then. */
  readonly specsOf: (uid: string) => readonly PodSpec[];
  readonly runtime: () => Pick<RuntimeTruth, 'sandboxesOf' | 'inFlight'> & { uids(): Iterable<string> };
  readonly textOf: (file: string) => string | undefined;
  readonly onPinned: () => void;
  readonly violated: (uid: string, what: string) => void;
}

const SHARES_PER_CPU = 1024;
/** Containers that share CPUs are moved at once; after a failed call in ten seconds, perhaps several times. */
const MOVES_WITHIN_MS = 120_000;

export class PlacementJudge {
  readonly #options: PlacementJudgeOptions;
  /** Ids of containers for which no agent waited any more when they started. */
  readonly #unawaited = new Set<string>();
  /** By id of the container: its own CPUs. */
  readonly #startedWith = new Map<string, string>();
  readonly #guests = new Lasting<ContainerTruth>(MOVES_WITHIN_MS);

  constructor(options: PlacementJudgeOptions) {
    this.#options = options;
  }

  /** `isAwaited`: whether the agent that asked for the start still waits for it. */
  started(container: ContainerTruth, isAwaited: boolean): void {
    if (!isAwaited) this.#unawaited.add(container.id);
    if (!isAwaited || this.#countOf(container) === 0) return;
    this.#options.onPinned();
    this.#startedWith.set(container.id, cpusOf(container).join());
    const what =
      this.#wrongCpus(container) ??
      this.#wrongNodes(container) ??
      this.#sharedCpus(container) ??
      this.#wrongMemory(container) ??
      this.#unwritten(container);
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
    const [guest] = this.#guestsOf(owners);
    return guest && `${nameOf(guest)} shares CPUs that another container has`;
  }

  /** To be called as often as an agent does its housekeeping. `isAtWork`: it knows its pods, and the runtime answers. */
  housekeeping(isAtWork: boolean): void {
    const runtime = this.#options.runtime();
    const isTelling = [...runtime.uids()].some((uid) =>
      runtime.inFlight(uid).some(({ name }) => name === 'UpdateContainerResources'),
    );
    const owners = [...this.#running()].filter(
      (one) =>
        this.#countOf(one) > 0 &&
        !this.#unawaited.has(one.id) &&
        this.#writtenCpus(one) === cpusOf(one).join(),
    );
    const guests = isAtWork && !isTelling ? this.#guestsOf(owners) : [];
    for (const guest of this.#guests.look(this.#options.now(), guests))
      this.#options.violated(guest.uid, `${nameOf(guest)} stays on CPUs that another container has`);
  }

  /** Containers that share CPUs, and run on CPUs of one of these owners. */
  #guestsOf(owners: readonly ContainerTruth[]): readonly ContainerTruth[] {
    const own = new Set(owners.flatMap(cpusOf));
    return [...this.#running()].filter(
      (one) => this.#countOf(one) === 0 && cpusOf(one).some((cpu) => own.has(cpu)),
    );
  }

  /** Why the next agent would give the container's CPUs or memory to others, if so. */
  #unwritten(container: ContainerTruth): string | undefined {
    const { uid, metadata } = container;
    const isWritten =
      this.#writtenCpus(container) === cpusOf(container).join() &&
      (this.#options.plan.memory === undefined ||
        this.#entries('memory_manager_state')[uid]?.[metadata.name] !== undefined);
    return isWritten ? undefined : 'runs, and what it has for itself is in no file';
  }

  #writtenCpus({ uid, metadata }: ContainerTruth): string | undefined {
    const written = this.#entries('cpu_manager_state')[uid]?.[metadata.name];
    return typeof written === 'string' ? parseCpuSet(written)?.join() : undefined;
  }

  #entries(file: string): Readonly<Record<string, Readonly<Record<string, unknown>>>> {
    const { entries = {} } = JSON.parse(this.#options.textOf(file) ?? '{}') as {
      readonly entries?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
    };
    return entries;
  }

  /** UIDs of the pods for which the files keep something. */
  keptFor(): readonly string[] {
    return ['cpu_manager_state', 'memory_manager_state'].flatMap((file) => Object.keys(this.#entries(file)));
  }

  /** Whether this pod can be refused because of what other pods may have. */
  mayLack({ metadata, spec }: Pod, others: readonly Pod[]): boolean {
    const { plan } = this.#options;
    // An agent may not know yet that a pod is gone.
    const known = new Set([metadata, ...others.map((other) => other.metadata)].map(({ uid }) => uid));
    if (this.keptFor().some((uid) => !known.has(uid))) return true;
    const pinned = others.filter((other) => largest(other.spec) > 0 || isGuaranteed(other.spec));
    const kept = plan.options['strict-cpu-reservation'] ? 1 : 0;
    const free = plan.cpus.cpus.length - plan.reserved.length - kept;
    const sum = [...pinned.map((other) => total(other.spec)), total(spec)].reduce((all, one) => all + one, 0);
    if (sum > free) return true;
    // Where the place of CPUs and memory matters, sums say little: then the pod only has to fit on an empty node.
    const isPlain = plan.policy === 'none' && plan.memory === undefined && !plan.options['full-pcpus-only'];
    if (isPlain || !isGuaranteed(spec)) return false;
    return pinned.length > 0 || !this.#fitsAlone(spec);
  }

  /** A pod that fits in this simple way on an empty machine fits there by all policies. */
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
    const isThere = cpus.every((cpu) => plan.cpus.places.has(cpu));
    return isThere ? undefined : `has CPUs ${cpus.join()}, which the machine does not have`;
  }

  /** All of one node with single-numa-node; with restricted, too, where an empty node would have enough. */
  #wrongNodes(container: ContainerTruth): string | undefined {
    const { plan, specsOf } = this.#options;
    const { uid } = container;
    const isOfPod = plan.scope === 'pod';
    const together = isOfPod ? [...this.#running()].filter((one) => one.uid === uid) : [container];
    const cpus = together.filter((one) => this.#countOf(one) > 0).flatMap(cpusOf);
    const nodes = new Set(cpus.map((cpu) => plan.cpus.places.get(cpu)?.node));
    if (nodes.size < 2) return undefined;
    const most = isOfPod ? Math.max(...specsOf(uid).map(total)) : cpus.length;
    const isNear = most <= plan.cpus.cpus.length / plan.cpus.nodes.length;
    if (plan.policy !== 'single-numa-node' && !(plan.policy === 'restricted' && isNear)) return undefined;
    return `has CPUs of NUMA nodes ${[...nodes].join()}`;
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

  /** Only the agent knows which spec of the pod counts, so its quota decides: the container is to have all the CPUs for which it asks. */
  #countOf({ uid, metadata, resources }: ContainerTruth): number {
    const counts = this.#options.specsOf(uid).flatMap((spec) => {
      const container = all(spec).find(({ name }) => name === metadata.name);
      return container ? count(spec, container) : [];
    });
    const [first = 0] = counts;
    const { cpuQuota = 0, cpuShares = 0 } = resources ?? {};
    const requested = cpuQuota > 0 ? 0 : cpuShares / SHARES_PER_CPU;
    return counts.includes(requested) ? requested : first;
  }

  *#running(): Iterable<ContainerTruth> {
    const runtime = this.#options.runtime();
    for (const uid of runtime.uids())
      for (const { containers } of runtime.sandboxesOf(uid))
        for (const container of containers) if (container.state === 'CONTAINER_RUNNING') yield container;
  }
}

const nameOf = ({ uid, metadata }: ContainerTruth) => `${metadata.name} of ${uid}`;
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
