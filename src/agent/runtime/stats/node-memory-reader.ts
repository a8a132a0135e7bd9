/** The memory of the machine and its NUMA nodes, and on which of them the memory of pods lies. */
import { join } from 'node:path';
import type {
  BytesByNumaNode,
  MachineMemory,
  NodeMemoryFigures,
  NumaNodeMemory,
} from '../../../types/eviction-plugin.ts';
import type { CgroupTree } from '../cgroups/cgroup-tree.ts';
import { meminfoBytes, numberIn, pressureIn, readLongFile, readSmallFile, valueOf } from './small-files.ts';
import type { PodGroups } from './pod-groups.ts';

export interface NodeMemorySources {
  /** Undefined if there are no cgroups. */
  readonly tree: CgroupTree | undefined;
  /** Undefined if pods have none. */
  readonly podGroups: PodGroups | undefined;
  /** The folder that contains `proc`. */
  readonly root: string;
}

const USUAL_PAGE_BYTES = 4096;
/** The zone from which programs mostly get their memory. A small machine has none. */
const MAIN_ZONE = 'Normal';

export class NodeMemoryReader implements NodeMemoryFigures {
  readonly #sources: NodeMemorySources;
  #knownPageBytes: number | undefined;

  constructor(sources: NodeMemorySources) {
    this.#sources = sources;
  }

  machine(): MachineMemory | undefined {
    const meminfo = this.#proc('meminfo');
    if (meminfo === undefined || valueOf(meminfo, 'MemTotal:') === undefined) return undefined;
    const watermarkScaleFactor = numberIn(this.#proc('sys/vm/watermark_scale_factor'));
    const kswapdPages = valueOf(this.#proc('vmstat') ?? '', 'pgsteal_kswapd');
    const psi = pressureIn(this.#proc('pressure/memory'));
    return {
      totalBytes: meminfoBytes(meminfo, 'MemTotal'),
      freeBytes: meminfoBytes(meminfo, 'MemFree'),
      watermarkScaleFactor,
      kswapdPages,
      psi,
    };
  }

  numaNodes(): readonly NumaNodeMemory[] {
    const text = readLongFile(join(this.#sources.root, 'proc/zoneinfo')) ?? '';
    const zones = text.split(/^(?=Node \d+, zone )/m).flatMap((zone) => zoneIn(zone) ?? []);
    return [...Map.groupBy(zones, ({ node }) => node)].flatMap(
      ([id, ofNode]) => this.#nodeOf(id, ofNode) ?? [],
    );
  }

  podsByNumaNode(): ReadonlyMap<string, BytesByNumaNode> {
    const { tree, podGroups } = this.#sources;
    if (tree?.has('memory') !== true || podGroups === undefined) return new Map();
    const unit = tree.version === 1 ? this.#pageBytes() : 1;
    return new Map(
      Array.from(podGroups.byPod()).flatMap(([uid, group]): [string, BytesByNumaNode][] => {
        const text = readLongFile(join(tree.folder('memory', group), 'memory.numa_stat'));
        return text === undefined ? [] : [[uid, amountsByNode(text, unit)]];
      }),
    );
  }

  #nodeOf(id: number, zones: readonly Zone[]): NumaNodeMemory | undefined {
    const pages = this.#pageBytes();
    const managed = zones.reduce((sum, zone) => sum + zone.managed, 0);
    const largest = zones.reduce((a, b) => (b.managed > a.managed ? b : a));
    const main = zones.find(({ name, managed: own }) => name === MAIN_ZONE && own > 0) ?? largest;
    // A node of processors alone has no memory.
    if (managed === 0) return undefined;
    return {
      id,
      totalBytes: managed * pages,
      freeBytes: main.free * pages,
      minBytes: main.min * pages,
      lowBytes: main.low * pages,
      inactiveFileBytes:
        (zones.find(({ inactiveFile }) => inactiveFile !== undefined)?.inactiveFile ?? 0) * pages,
    };
  }

  /** Node.js does not have the size of a page. It is read from the memory areas of a process. */
  #pageBytes(): number {
    this.#knownPageBytes ??=
      1024 * Number(/^KernelPageSize: +(\d+) kB$/m.exec(this.#proc('self/smaps') ?? '')?.[1] ?? 0) ||
      USUAL_PAGE_BYTES;
    return this.#knownPageBytes;
  }

  #proc(path: string): string | undefined {
    return readSmallFile(join(this.#sources.root, 'proc', path));
  }
}

/** Amounts are pages. */
interface Zone {
  readonly node: number;
  readonly name: string;
  readonly free: number;
  readonly min: number;
  readonly low: number;
  readonly managed: number;
  /** Of the whole node: it stands with one of its zones. */
  readonly inactiveFile: number | undefined;
}

function zoneIn(text: string): Zone | undefined {
  const [, node, name = ''] = /^Node (\d+), zone +(\w+)/.exec(text) ?? [];
  if (node === undefined) return undefined;
  const value = (key: string) => {
    const [, digits] = new RegExp(`^ +(?:pages )?${key} +(\\d+)$`, 'm').exec(text) ?? [];
    return digits === undefined ? undefined : Number(digits);
  };
  return {
    node: Number(node),
    name,
    free: value('free') ?? 0,
    min: value('min') ?? 0,
    low: value('low') ?? 0,
    managed: value('managed') ?? 0,
    inactiveFile: value('nr_inactive_file'),
  };
}

/**
 * With cgroup v1 `hierarchical_total=12 N0=8 N1=4`, in pages, with the groups below; with v2 `anon N0=32768 N1=16384` and `file …`, in
 * bytes. Other kinds of memory are little, or are counted as these.
 */
function amountsByNode(text: string, unit: number): BytesByNumaNode {
  const amounts = new Map<number, number>();
  for (const [, values = ''] of text.matchAll(/^(?:hierarchical_total=\d+|anon|file)((?: N\d+=\d+)+)$/gm)) {
    for (const [, node, amount] of values.matchAll(/N(\d+)=(\d+)/g)) {
      amounts.set(Number(node), (amounts.get(Number(node)) ?? 0) + Number(amount) * unit);
    }
  }
  return amounts;
}
