/** Sets of CPUs, and of other numbers, in ascending order: `0-3,8` as the kernel and the kubelet write them. */

export type CpuSet = readonly number[];

/** No machine has a CPU with a higher number. */
const CPU_MAX = 65_535;

/** Undefined where the text is not such a list. An empty text is the empty set. */
export function parseCpuSet(text: string): CpuSet | undefined {
  if (text === '') return [];
  const numbers: number[] = [];
  for (const range of text.split(',')) {
    const match = /^(\d{1,5})(?:-(\d{1,5}))?$/u.exec(range);
    if (match === null) return undefined;
    const [first, last] = [Number(match[1]), Number(match[2] ?? match[1])];
    if (last < first || last > CPU_MAX) return undefined;
    for (let number = first; number <= last; number++) numbers.push(number);
  }
  return cpuSet(numbers);
}

export function cpuSetString(set: CpuSet): string {
  const ranges: [first: number, last: number][] = [];
  for (const number of set) {
    const range = ranges.at(-1);
    if (range?.[1] === number - 1) range[1] = number;
    else ranges.push([number, number]);
  }
  return ranges.map(([first, last]) => (first === last ? String(first) : `${first}-${last}`)).join();
}

export function cpuSet(numbers: Iterable<number>): CpuSet {
  return [...new Set(numbers)].sort((a, b) => a - b);
}

export function union(...sets: readonly CpuSet[]): CpuSet {
  return cpuSet(sets.flat());
}

export function without(set: CpuSet, others: CpuSet): CpuSet {
  const left = new Set(others);
  return set.filter((number) => !left.has(number));
}

export function both(set: CpuSet, others: CpuSet): CpuSet {
  const among = new Set(others);
  return set.filter((number) => among.has(number));
}

export function isSameSet(a: CpuSet, b: CpuSet): boolean {
  return a.length === b.length && a.every((number, index) => number === b[index]);
}
