/** `statelet explain-eviction` and the page of the node show these tables: the state of each threshold, and which pods would be evicted for it. */
import type { EvictionExplanation, ExplainedThreshold } from './explanation.ts';
import { canBeRequested, type EvictionCandidate, usageText, wouldRelieve } from './ranking.ts';
import type { StarvedResource } from './signals.ts';
import { parseQuantity, quantityValue } from '../formats/quantity.ts';

export const THRESHOLD_COLUMNS = ['SIGNAL', 'NOW', 'THRESHOLD', 'KIND', 'MET', 'GOES FIRST'] as const;

export const CANDIDATE_COLUMNS = ['', 'NAMESPACE', 'NAME', 'USES', 'REQUESTS', 'PRIORITY', ''] as const;

/** A cell for each of the columns. */
export function thresholdRow(threshold: ExplainedThreshold): string[] {
  const { signal, observed, isHard, gracePeriodSeconds, isMet, reclaim, victim } = threshold;
  return [
    signal,
    figure(signal, observed),
    figure(signal, threshold.threshold),
    isHard ? 'hard' : `soft, after ${gracePeriodSeconds} s`,
    isMet ? 'yes' : 'no',
    [...reclaim, victim ?? 'no pod'].join(', then '),
  ];
}

/** Of signals that are about bytes, as people read them. */
export function figure(signal: string, text: string | undefined): string {
  if (text === undefined) return '<unknown>';
  return signal.endsWith('.available') && signal !== 'pid.available' ? shortQuantity(text) : text;
}

export interface Ranking {
  readonly signal: string;
  readonly resource: StarvedResource;
  readonly candidates: readonly EvictionCandidate[];
}

/** One ranking for each resource that was measured: thresholds of one resource rank the pods in the same order. */
export function oneRankingOfEach({
  thresholds,
}: Pick<EvictionExplanation, 'thresholds'>): readonly Ranking[] {
  const rankings = new Map<string, Ranking>();
  for (const { signal, resource, candidates } of thresholds) {
    if (resource === undefined) continue;
    const key = JSON.stringify([resource, candidates.map(({ uid, usage }) => [uid, usage])]);
    if (!rankings.has(key)) rankings.set(key, { signal, resource, candidates });
  }
  return [...rankings.values()];
}

/** `For memory (memory.available) pods would go in this order` */
export const rankingTitle = ({ signal, resource }: Ranking): string =>
  `For ${resource} (${signal}) pods would go in this order`;

/** A cell for each of the columns; at most so many rows. */
export function candidateRows({ resource, candidates }: Ranking, max = Infinity): readonly string[][] {
  return candidates.slice(0, max).map((candidate, index) => candidateRow(candidate, index, resource));
}

function candidateRow(candidate: EvictionCandidate, index: number, resource: StarvedResource): string[] {
  const { namespace, name, usage, request, priority } = candidate;
  const uses = usage === undefined ? '<unknown>' : shortUsage(usage, resource);
  const requests = canBeRequested(resource) ? shortUsage(request, resource) : '';
  return [
    ...[String(index + 1), namespace, name, uses, requests, String(priority)],
    noteOn(candidate, resource),
  ];
}

function shortUsage(value: number, resource: StarvedResource): string {
  return canBeRequested(resource) ? shortBytes(BigInt(value)) : usageText(value, resource);
}

function noteOn(candidate: EvictionCandidate, resource: StarvedResource): string {
  if (candidate.isCritical) return 'never: it is critical';
  if (!wouldRelieve(candidate, resource)) return 'not now: it does no I/O';
  return candidate.exceedsRequest && canBeRequested(resource) ? 'more than it requested' : '';
}

const UNITS = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];

const STEP = 1024n;

/** A quantity of bytes, or a threshold of one (`<100Mi`), for people: `18.3Gi` for `19288964Ki`. */
export function shortQuantity(text: string): string {
  const [, sign = '', quantity = ''] = /^([<>]?)(.*)$/u.exec(text) ?? [];
  return sign + shortBytes(quantityValue(parseQuantity(quantity)));
}

/** With one digit after the point at most, and never rounded up: what is below a threshold is shown as below it. */
export function shortBytes(bytes: bigint): string {
  let [unit, size] = [0, 1n];
  while (unit < UNITS.length - 1 && bytes >= size * STEP) [unit, size] = [unit + 1, size * STEP];
  const tenths = (bytes * 10n) / size;
  const rest = tenths % 10n;
  return `${tenths / 10n}${rest === 0n ? '' : `.${rest}`}${UNITS[unit] ?? ''}`;
}
