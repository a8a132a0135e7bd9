/** Files of the kernel of a machine with NUMA nodes: /proc/zoneinfo and `memory.numa_stat`. */

/** In pages. */
interface ZonePages {
  readonly free: number;
  readonly min: number;
  readonly low: number;
  readonly managed: number;
}

const NO_PAGES: ZonePages = { free: 0, min: 0, low: 0, managed: 0 };

/** The figures of a node stand with its first zone; those of zones come after them. */
export function zoneText(
  node: number,
  zone: string,
  pages: Partial<ZonePages>,
  inactiveFile?: number,
): string {
  const { free, min, low, managed } = { ...NO_PAGES, ...pages };
  const ofNode = `  per-node stats\n      nr_inactive_anon 7\n      nr_inactive_file ${inactiveFile}\n      nr_low 3\n`;
  return [
    `Node ${node}, zone ${zone.padStart(8)}\n${inactiveFile === undefined ? '' : ofNode}`,
    `  pages free     ${free}\n        boost    0\n        min      ${min}\n        low      ${low}\n`,
    `        high     ${low + 9}\n        promo    0\n        spanned  ${managed + 5}\n        present  ${managed + 2}\n`,
    `        managed  ${managed}\n        cma      0\n        protection: (0, 2991, 10287, 0, 0)\n`,
    `      nr_free_pages ${free}\n  pagesets\n    cpu: 0\n              count:    0\n              high:     4\n`,
    '  vm stats threshold: 12\n  node_unreclaimable:  0\n  start_pfn:           1\n',
  ].join('');
}

/** Two nodes of 128 GiB: `DMA` and `DMA32` are on the first, and the second has an empty zone. */
export function twoNumaNodes(normal: readonly [Partial<ZonePages>, Partial<ZonePages>]): string {
  const [first, second] = normal.map((pages) => ({
    min: 25_600,
    low: 51_200,
    managed: 33_554_432,
    ...pages,
  }));
  return [
    zoneText(0, 'DMA', { free: 3840, min: 24, low: 30, managed: 3840 }, 5_000_000),
    zoneText(0, 'DMA32', { free: 700_000, min: 4938, low: 6172, managed: 772_915 }),
    zoneText(0, 'Normal', first ?? {}),
    zoneText(0, 'Movable', {}),
    zoneText(1, 'Normal', second ?? {}, 6_000_000),
    zoneText(1, 'Movable', {}),
  ].join('');
}

/** Of a group of cgroup v1, in pages: its own memory, and that with the groups below. */
export function numaStatV1(own: readonly number[], hierarchical: readonly number[]): string {
  const line = (key: string, pages: readonly number[]) =>
    `${key}=${pages.reduce((a, b) => a + b, 0)} ${pages.map((amount, node) => `N${node}=${amount}`).join(' ')}\n`;
  return [
    line('total', own),
    line('file', own),
    line('anon', own),
    line('unevictable', own),
    line('hierarchical_total', hierarchical),
    line('hierarchical_file', hierarchical),
    line('hierarchical_anon', hierarchical),
  ].join('');
}

/** Of a group of cgroup v2, in bytes. */
export function numaStatV2(anon: readonly number[], file: readonly number[]): string {
  const line = (key: string, bytes: readonly number[]) =>
    `${key} ${bytes.map((amount, node) => `N${node}=${amount}`).join(' ')}\n`;
  return [
    line('anon', anon),
    line('file', file),
    line('kernel_stack', [1, 1]),
    line('shmem', file),
    line('inactive_anon', anon),
    line('anon_thp', [5, 5]),
  ].join('');
}
