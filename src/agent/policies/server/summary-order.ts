/** Figures in the order and with the times of the kubelet's `/stats/summary`. */

/** Figures that are not listed come last. One order does for all objects: no two objects order the same names differently. */
const ORDER = [
  'node pods nodeName systemContainers podRef time',
  'usageNanoCores usageCoreNanoSeconds availableBytes capacityBytes usedBytes usageBytes',
  'workingSetBytes rssBytes pageFaults majorPageFaults inodesFree inodes inodesUsed',
  'name namespace uid pvcRef startTime containers',
  'cpu memory io network volume ephemeral-storage process_stats',
  'fs runtime rlimit imageFs containerFs rootfs logs swap',
  'swapAvailableBytes swapUsageBytes maxpid curproc rxBytes rxErrors txBytes txErrors',
  'interfaces psi full some total avg10 avg60 avg300',
].flatMap((line) => line.split(' '));
const RANKS: ReadonlyMap<string, number> = new Map(ORDER.map((name, rank) => [name, rank]));

/** Times have whole seconds, as `metav1.Time` has. */
export function inKubeletOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inKubeletOrder);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).sort(([one], [other]) => rankOf(one) - rankOf(other));
  return Object.fromEntries(
    members.map(([name, member]: [string, unknown]) => [
      name,
      isTime(name) && typeof member === 'string' ? wholeSeconds(member) : inKubeletOrder(member),
    ]),
  );
}

function rankOf(name: string): number {
  return RANKS.get(name) ?? ORDER.length;
}

function isTime(name: string): boolean {
  return name === 'time' || name === 'startTime';
}

function wholeSeconds(time: string): string {
  return time.replace(/\.\d+Z$/u, 'Z');
}
