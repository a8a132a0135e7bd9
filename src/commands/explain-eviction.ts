/** `statelet explain-eviction`: which pods would be evicted now, in which order, and why. */
import { isObject, parsedJson } from '../agent/policies/formats/json-values.ts';
import { evictionThresholds, resolveEvictionSettings } from '../agent/config/load-eviction-settings.ts';
import {
  type EvictionExplanation,
  type ExplainedThreshold,
  explainEviction as explain,
} from '../agent/policies/eviction/explanation.ts';
import {
  CANDIDATE_COLUMNS,
  candidateRows,
  oneRankingOfEach,
  type Ranking,
  rankingTitle,
  THRESHOLD_COLUMNS,
  thresholdRow,
} from '../agent/policies/eviction/explanation-tables.ts';
import {
  type FileSystemLayout,
  withContainerFsThresholds,
} from '../agent/policies/eviction/file-system-parts.ts';
import { readForeignFile } from '../system/files/foreign-file.ts';
import { errorMessage, invalid } from '../types/errors.ts';
import type { Pod } from '../types/kubernetes.ts';
import type { FsStats, Summary } from '../types/stats.ts';
import { askDaemon, type DaemonFlags } from './daemon-request.ts';
import { pluginSections } from './plugins-report.ts';
import { formatTable } from './table.ts';

/** Of the Summary, or the pods, of a node with thousands of pods. */
const BYTES_MAX = 256 * 1024 * 1024;

export interface ExplainEvictionFlags extends DaemonFlags {
  readonly output?: 'json';
  /** Files with a Summary and a PodList, instead of a daemon. */
  readonly stats?: string;
  readonly pods?: string;
  /** The settings of eviction, by their keys. */
  readonly [evictionSetting: string]: unknown;
}

/** Returns what to print. Rejects with `Unavailable` when no daemon answers, and with `InvalidArgument` for files of the wrong kind. */
export async function explainEviction(flags: ExplainEvictionFlags, nowMs = Date.now()): Promise<string> {
  const { stats, pods } = flags;
  if ((stats === undefined) !== (pods === undefined))
    throw invalid(
      '--stats and --pods must be given together: the figures, and the pods to which they belong',
    );
  const explanation =
    stats === undefined || pods === undefined
      ? await askDaemon('/eviction', flags, isExplanation)
      : await explainFiles(stats, pods, flags);
  if (flags.output === 'json') return `${JSON.stringify(explanation, null, 2)}\n`;
  return report(explanation, nowMs);
}

async function explainFiles(
  stats: string,
  pods: string,
  flags: ExplainEvictionFlags,
): Promise<EvictionExplanation> {
  const summary = await jsonFrom(
    '--stats',
    stats,
    isSummary,
    "a Summary, as the kubelet's /stats/summary serves it",
  );
  const { items } = await jsonFrom(
    '--pods',
    pods,
    isPodList,
    'a PodList, as kubectl get pods -o json prints it',
  );
  const settings = resolveEvictionSettings({ flags, file: {}, fileName: '' });
  const layout = layoutOf(summary);
  const given = evictionThresholds(settings, []);
  return explain({
    settings: {
      layout,
      ...withContainerFsThresholds(given, layout),
      maxPodGracePeriodSeconds: settings.evictionMaxPodGracePeriod,
    },
    summary,
    pods: items,
    conditions: [],
    ending: new Set<string>(),
    unendable: new Set<string>(),
  });
}

/** File systems of the same capacity and available space count as one. */
function layoutOf({ node: { fs, runtime } }: Summary): FileSystemLayout {
  const { imageFs, containerFs } = runtime ?? {};
  const isOther = (a: FsStats | undefined, b: FsStats | undefined) =>
    a !== undefined && (a.capacityBytes !== b?.capacityBytes || a.availableBytes !== b?.availableBytes);
  return { dedicatedImageFs: isOther(imageFs, fs), splitContainerFs: isOther(containerFs, imageFs) };
}

async function jsonFrom<T>(
  flag: string,
  file: string,
  isWanted: (value: unknown) => value is T,
  what: string,
): Promise<T> {
  const limits = { bytesMax: BYTES_MAX, waitsForPipe: true };
  const { content } = await readForeignFile(file, limits).catch((error: unknown) => {
    throw invalid(`${flag}: ${file} cannot be read: ${errorMessage(error)}`);
  });
  const value = parsedJson(content.toString());
  if (isWanted(value)) return value;
  throw invalid(`${flag}: ${file} must be ${what}, in JSON`);
}

function isSummary(value: unknown): value is Summary {
  return isObject(value) && isObject(value.node) && Array.isArray(value.pods);
}

function isPodList(value: unknown): value is { readonly items: readonly Pod[] } {
  return isObject(value) && Array.isArray(value.items);
}

function isExplanation(body: unknown): body is EvictionExplanation {
  return isObject(body) && Array.isArray(body.thresholds);
}

function report({ conditions, thresholds, plugins }: EvictionExplanation, nowMs: number): string {
  return [
    ...pressureSections(conditions, thresholds),
    ...(plugins ? pluginSections(plugins, nowMs) : []),
  ].join('\n');
}

function pressureSections(
  conditions: EvictionExplanation['conditions'],
  thresholds: readonly ExplainedThreshold[],
): readonly string[] {
  if (thresholds.length === 0)
    return ['There are no eviction thresholds: no pod is evicted for what the node lacks.\n'];
  return [
    `Conditions: ${conditions.join(', ') || 'none'}\n`,
    formatTable([THRESHOLD_COLUMNS, ...thresholds.map(thresholdRow)]),
    ...oneRankingOfEach({ thresholds }).map(rankingOf),
  ];
}

function rankingOf(ranking: Ranking): string {
  const heading = `${rankingTitle(ranking)}:\n`;
  if (ranking.candidates.length === 0) return `${heading}  there are none\n`;
  return heading + formatTable([CANDIDATE_COLUMNS, ...candidateRows(ranking)]);
}
