/** Numbers of operations in the notation of `--only`: `1,4-17`. */
import { StateletError } from '../types/errors.ts';

/** At least this many numbers in a row are written as a range. */
const MIN_RANGE = 3;

/** `count` returns how many operations there are. */
export function parseOperations(text: string, count: () => number): readonly number[] {
  const ranges = text
    .split(',')
    .filter((part) => part !== '')
    .map(range);
  const last = Math.max(0, ...ranges.map(([, to]) => to));
  const most = last === 0 ? 0 : count();
  if (last > most)
    throw invalid(`there is no operation ${String(last)}; the plan has ${String(most)} operations`);
  return ranges.flatMap(([from, to]) => Array.from({ length: to - from + 1 }, (_, index) => from + index));
}

function range(part: string): readonly [from: number, to: number] {
  const [, from, to = from] = /^(\d+)(?:-(\d+))?$/.exec(part) ?? [];
  if (from === undefined)
    throw invalid(`"${part}" is not a whole number from 0 on, nor a range such as 4-17`);
  if (Number(from) > Number(to)) throw invalid(`"${part}" ends before it begins`);
  return [Number(from), Number(to)];
}

const invalid = (what: string): StateletError => new StateletError('InvalidArgument', `--only: ${what}`);

/** `numbers` are in ascending order. An empty list is written as 0, which no operation has. */
export function formatOperations(numbers: readonly number[]): string {
  const parts: string[] = [];
  for (let from = 0; from < numbers.length;) {
    let to = from;
    while (numbers[to + 1] === (numbers[to] ?? 0) + 1) to += 1;
    const row = numbers.slice(from, to + 1).map(String);
    parts.push(...(row.length < MIN_RANGE ? row : [`${String(row[0])}-${String(row.at(-1))}`]));
    from = to + 1;
  }
  return parts.join() || '0';
}
