/** The figures of all groups of the node: of the machine, of all pods, and of each pod with its sandbox and containers. */
import { uptime } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Timer } from '../../../../system/timer.ts';
import type { AgentContext } from '../../../../types/agent-context.ts';
import type { ContainerStats as RuntimeStats } from '../../../../types/cri.ts';
import type {
  RuntimeContainerStatus,
  RuntimePodStatus,
  RuntimeSandboxStatus,
} from '../../../../types/runtime-pod.ts';
import type { CgroupTree } from '../../cgroups/cgroup-tree.ts';
import { machineSwap, memoryCapacity } from '../memory-files.ts';
import { isLeftOut } from '../network-figures.ts';
import { runningContainers } from '../pod-figures.ts';
import type { PodGroups } from '../pod-groups.ts';
import { readLongFile, readSmallFile } from '../small-files.ts';
import type { GroupFigures, GroupInterface, GroupLimits, InterfaceCounts } from './group-figures.ts';
import { DiskNames, GroupFiles, type SharedByGroups } from './group-files.ts';
import { descriptorsMax, OpenFiles, openFilesMax } from './open-files.ts';

/** Limits of groups that may change are read again after this time. */
const LIMITS_MAX_AGE_MS = 60_000;
/** Without a scrape for so long, no file stays open. */
const IDLE_MS = 2 * 60_000;
/** Other work waits for a few milliseconds at most. */
const PODS_PER_TURN = 10;
/** Rules select containers by having an image. CRI does not have that of a sandbox, and a plain process needs none. */
const SANDBOX_IMAGE = 'pause';
const PROCESS_IMAGE = 'process';
const NS_PER_S = 1e9;
const NO_NAMES = { name: '', image: '', namespace: '', pod: '', container: '' };

export interface GroupScanParts {
  /** Undefined if there are no cgroups. */
  readonly tree: CgroupTree | undefined;
  /** Undefined if pods have no groups. */
  readonly podGroups: PodGroups | undefined;
  /** The folder that contains `proc` and `sys`. */
  readonly root: string;
}

export interface ScannedPods {
  readonly pods: readonly RuntimePodStatus[];
  /** The figures of containers without groups, by id. */
  readonly runtimeStats: ReadonlyMap<string, RuntimeStats>;
  readonly nowMs: number;
}

interface KeptGroup {
  readonly files: GroupFiles;
  limits: GroupLimits | undefined;
  limitsReadAtMs: number;
}

interface Scan extends ScannedPods {
  /** Of the machine. */
  readonly hasSwap: boolean;
  readonly capacityBytes: number;
  readonly groupOf: ReadonlyMap<string, string>;
  /** Of the scan before, by group. */
  readonly before: ReadonlyMap<string, KeptGroup>;
}

export class GroupScan {
  readonly #parts: GroupScanParts;
  readonly #shared: SharedByGroups;
  readonly #idle: Timer;
  #scanned: Promise<unknown> = Promise.resolve();
  #kept = new Map<string, KeptGroup>();
  #machineStartedAtMs: number | undefined;
  #isClosed = false;

  constructor({ clock }: AgentContext, parts: GroupScanParts) {
    this.#parts = parts;
    const { root } = parts;
    this.#shared = { disks: new DiskNames(root), openFiles: new OpenFiles(openFilesMax(descriptorsMax())) };
    this.#idle = new Timer(clock);
  }

  /** One after the other. */
  read(scanned: ScannedPods): Promise<readonly GroupFigures[]> {
    const figures = this.#scanned.then(() => this.#read(scanned));
    this.#scanned = figures.catch(() => undefined);
    return figures;
  }

  /** Files are not read any more. Resolves when none is open. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#scanned;
    this.#idle.disarm();
    this.#shared.openFiles.close();
  }

  async #read(scanned: ScannedPods): Promise<readonly GroupFigures[]> {
    if (this.#isClosed) return [];
    this.#idle.arm(IDLE_MS, () => this.#shared.openFiles.close());
    const { podGroups, root } = this.#parts;
    const groupOf = podGroups?.byPod() ?? new Map<string, string>();
    const meminfo = readSmallFile(join(root, 'proc/meminfo'));
    const swap = machineSwap(meminfo);
    const hasSwap = swap !== undefined && swap.swapUsageBytes + swap.swapAvailableBytes > 0;
    const scan = { ...scanned, hasSwap, capacityBytes: memoryCapacity(meminfo), groupOf, before: this.#kept };
    this.#kept = new Map();
    const figures = this.#ofNode(scan);
    for (const [index, pod] of scanned.pods.entries()) {
      if (index % PODS_PER_TURN === PODS_PER_TURN - 1) await nextTurn();
      figures.push(...this.#ofPod(pod, scan));
    }
    for (const [group, { files }] of scan.before) if (!this.#kept.has(group)) files.close();
    return figures;
  }

  #ofNode(scan: Scan): GroupFigures[] {
    const { podGroups, root } = this.#parts;
    // Asked once: the difference of two clocks is another one each time.
    const startedAtMs = (this.#machineStartedAtMs ??= scan.nowMs - uptime() * 1000);
    const groups =
      podGroups === undefined
        ? []
        : new Set([podGroups.qos.kubepods, ...Object.values(podGroups.qos.byClass)]);
    const top = this.#ofGroup('/', scan, { ...NO_NAMES, startedAtMs });
    const interfaces = interfaceCounts(join(root, 'proc/net'));
    // The machine's own limit: the top group has none.
    const limits = top.limits && { ...top.limits, memory: scan.capacityBytes };
    return [
      { ...top, interfaces, ...(limits && { limits }) },
      ...Array.from(groups, (group) => this.#ofGroup(group, scan, NO_NAMES)),
    ];
  }

  #ofPod(pod: RuntimePodStatus, scan: Scan): GroupFigures[] {
    const group = scan.groupOf.get(pod.uid);
    const names = { ...NO_NAMES, namespace: pod.namespace, pod: pod.name };
    const containers = runningContainers(pod);
    if (group === undefined) return containers.map((container) => ofRuntime(container, names, scan));
    const sandbox = pod.sandboxes.find(({ ready }) => ready);
    const ofContainers = containers.map((container) => this.#ofContainer(container, group, names, scan));
    return [
      this.#ofGroup(group, scan, { ...names, ...startOf(sandbox?.createdAt) }),
      ...(sandbox ? [this.#ofSandbox(pod, sandbox, group, scan)] : []),
      ...ofContainers,
    ];
  }

  #ofSandbox(
    pod: RuntimePodStatus,
    sandbox: RuntimeSandboxStatus,
    podGroup: string,
    scan: Scan,
  ): GroupFigures {
    const { id, createdAt, networkMode } = sandbox;
    const { namespace, name } = pod;
    const labels = { name: id, image: SANDBOX_IMAGE, namespace, pod: name, container: '' };
    const figures = this.#ofGroup(this.#containerGroup(podGroup, id), scan, {
      ...labels,
      ...startOf(createdAt),
    });
    if (networkMode !== 'POD') return figures;
    // Some runtimes have no process for the sandbox.
    const members = [id, ...runningContainers(pod).map((container) => container.id)];
    return {
      ...figures,
      interfaces: this.#network(members.map((member) => this.#containerGroup(podGroup, member))),
    };
  }

  #ofContainer(
    { id, name, image, startedAt }: RuntimeContainerStatus,
    podGroup: string,
    names: typeof NO_NAMES,
    scan: Scan,
  ): GroupFigures {
    const group = this.#containerGroup(podGroup, id);
    const labels = { ...names, name: id, image, container: name, ...startOf(startedAt) };
    const figures = this.#ofGroup(group, scan, labels);
    const oomEvents = this.#kept.get(group)?.files.oomKills();
    return { ...figures, ...(oomEvents !== undefined && { oomEvents }) };
  }

  #containerGroup(podGroup: string, id: string): string {
    return this.#parts.podGroups?.ofContainer(podGroup, id) ?? podGroup;
  }

  #ofGroup(
    group: string,
    scan: Scan,
    labels: typeof NO_NAMES & { readonly startedAtMs?: number },
  ): GroupFigures {
    const { hasSwap, nowMs } = scan;
    const bare = { id: group, ...labels, timeMs: nowMs, disks: [], interfaces: [] };
    // Limits of a container do not change while it runs.
    const kept = this.#group(group, scan, labels.name !== '');
    if (kept === undefined) return bare;
    const { files, limits } = kept;
    const cpu = files.cpu(limits?.cpuQuota !== undefined);
    const memory = files.memory(hasSwap);
    const pressure = files.pressure();
    return {
      ...bare,
      ...(cpu && { cpu }),
      ...(memory && { memory }),
      ...(limits && { limits }),
      ...(pressure && { pressure }),
      disks: files.disks(),
    };
  }

  /** With limits that are new enough; `areFixed`: they do not change. Undefined if there are no cgroups. */
  #group(group: string, { nowMs, before }: Scan, areFixed: boolean): KeptGroup | undefined {
    const { tree } = this.#parts;
    if (tree === undefined) return undefined;
    const known = before.get(group) ?? {
      files: new GroupFiles(tree, group, this.#shared),
      limits: undefined,
      limitsReadAtMs: 0,
    };
    const isOld = !areFixed && nowMs - known.limitsReadAtMs >= LIMITS_MAX_AGE_MS;
    if (known.limits === undefined || isOld) {
      known.limits = known.files.limits();
      known.limitsReadAtMs = nowMs;
    }
    this.#kept.set(group, known);
    return known;
  }

  #network(groups: readonly string[]): readonly GroupInterface[] {
    for (const group of groups) {
      const pid = this.#kept.get(group)?.files.firstProcess();
      if (pid !== undefined) return interfaceCounts(join(this.#parts.root, 'proc', pid, 'net'));
    }
    return [];
  }
}

function startOf(atMs: number | undefined): { readonly startedAtMs?: number } {
  return atMs ? { startedAtMs: atMs } : {};
}

/** A container without a group, such as a plain process. */
function ofRuntime(
  { id, name, image, startedAt }: RuntimeContainerStatus,
  names: typeof NO_NAMES,
  { runtimeStats, nowMs }: Scan,
): GroupFigures {
  const { cpu, memory } = runtimeStats.get(id) ?? {};
  return {
    ...names,
    id: `/${id}`,
    name: id,
    image: image === '' ? PROCESS_IMAGE : image,
    container: name,
    timeMs: nowMs,
    ...startOf(startedAt),
    ...(cpu && { cpu: { usageSeconds: cpu.usageCoreNanoSeconds / NS_PER_S } }),
    ...(memory && { memory: { workingSet: memory.workingSetBytes, rss: memory.rssBytes } }),
    disks: [],
    interfaces: [],
  };
}

/** `eth0: 7 1 0 0 0 0 0 0 9 1 0 0 0 0 0 0`: bytes, packets, errors, drops and four more; first received, then sent. */
const LINE = /^ *([^\s:]+): *(\d+) +(\d+) +(\d+) +(\d+)(?: +\d+){4} +(\d+) +(\d+) +(\d+) +(\d+)/gm;

/** The counts of a network's interfaces, from the folder `net` of a process in it. None if the process is gone. */
function interfaceCounts(netFolder: string): readonly GroupInterface[] {
  const found: GroupInterface[] = [];
  for (const [, name = '', ...counts] of (readLongFile(join(netFolder, 'dev')) ?? '').matchAll(LINE)) {
    if (isLeftOut(name)) continue;
    found.push({ name, received: countsOf(counts.slice(0, 4)), sent: countsOf(counts.slice(4)) });
  }
  return found;
}

function countsOf(texts: readonly string[]): InterfaceCounts {
  const [bytes = 0, packets = 0, errors = 0, dropped = 0] = texts.map(Number);
  return { bytes, packets, errors, dropped };
}
