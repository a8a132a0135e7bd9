/** The result of a comparison as a text. Pure. */
import type { Difference } from './differences.ts';
import type { Judged } from './meant.ts';

export interface Calls {
  readonly seconds: number;
  readonly counts: Readonly<Record<string, number>>;
}

export interface ComparisonReport extends Judged {
  readonly manifests: number;
  /** How many manifests have no differences except those that are meant. */
  readonly equal: number;
  /** Calls while pods were at rest. */
  readonly idleCalls: { readonly kubelet: Calls; readonly statelet: Calls };
  /** The pods that did not come to rest in time, by agent. */
  readonly unsettled: { readonly kubelet: readonly string[]; readonly statelet: readonly string[] };
}

const MANIFESTS_SHOWN = 4;
const LENGTH_SHOWN = 400;

export function textReport(report: ComparisonReport): string {
  const { manifests, equal, unexpected, meant, idle } = report;
  const groups = grouped(unexpected);
  return [
    ...areas(groups).flatMap((area) => [
      '',
      `${area}:`,
      ...groups.filter((of) => of.area === area).map(show),
    ]),
    ...(meant.length === 0 ? [] : ['', 'meant:', ...meant.map(showMeant)]),
    ...(idle.length === 0 ? [] : ['', 'entries of the list of meant differences that match nothing:']),
    ...idle.map(({ area, path, reason }) => `  ${area} ${path}: ${reason}`),
    ...unsettledLines(report),
    '',
    ...callLines(report),
    `${manifests} manifests: ${equal} equal, ${manifests - equal} differ in ${unexpected.length} values (${groups.length} kinds)`,
  ].join('\n');
}

interface Group extends Omit<Difference, 'manifest'> {
  readonly manifests: readonly string[];
}

/** Merges equal differences of several manifests into one. */
export function grouped(found: readonly Difference[]): readonly Group[] {
  const groups = new Map<string, { first: Difference; manifests: string[] }>();
  for (const difference of found) {
    const path = anyContainer(difference);
    const key = JSON.stringify({ ...difference, path, manifest: '' });
    const group = groups.get(key);
    if (group === undefined)
      groups.set(key, { first: { ...difference, path }, manifests: [difference.manifest] });
    else if (!group.manifests.includes(difference.manifest)) group.manifests.push(difference.manifest);
  }
  return [...groups.values()].map(({ first: { area, path, kubelet, statelet }, manifests }) => ({
    area,
    path,
    kubelet,
    statelet,
    manifests,
  }));
}

/** The path with `*` in place of the container's name. */
function anyContainer({ area, path }: Difference): string {
  if (area === 'container') return path.replace(/^[^/]+\/\d+/, '*');
  return path.replace(/(ontainers|ontainerStatuses)\/\[[^\]]+\]/, '$1/[*]');
}

const areas = (groups: readonly Group[]): readonly string[] => [...new Set(groups.map(({ area }) => area))];

function show({ path, kubelet, statelet, manifests }: Group): string {
  const more = manifests.length > MANIFESTS_SHOWN ? `, … (${manifests.length})` : '';
  const names = manifests.slice(0, MANIFESTS_SHOWN).join(', ') + more;
  return `  ${names}: ${path}\n    kubelet   ${shown(kubelet)}\n    statelet  ${shown(statelet)}`;
}

function shown(value: string | undefined): string {
  if (value === undefined) return '-';
  return value.length > LENGTH_SHOWN ? `${value.slice(0, LENGTH_SHOWN)}…` : value;
}

function showMeant({ entry, differences }: Judged['meant'][number]): string {
  return `  ${entry.area} ${entry.path} (${differences.length}): ${entry.reason}`;
}

function unsettledLines({ unsettled }: ComparisonReport): readonly string[] {
  return (['kubelet', 'statelet'] as const).flatMap((agent) =>
    unsettled[agent].length === 0
      ? []
      : ['', `not at rest in time (${agent}): ${unsettled[agent].join(', ')}`],
  );
}

function callLines({ idleCalls }: ComparisonReport): readonly string[] {
  return (['kubelet', 'statelet'] as const).flatMap((agent) => {
    const { seconds, counts } = idleCalls[agent];
    if (seconds === 0) return [];
    const perMinute = (count: number) => Math.round((count / seconds) * 60);
    const all = perMinute(Object.values(counts).reduce((sum, count) => sum + count, 0));
    const most = Object.entries(counts).map(([method, count]) => `${method} ${perMinute(count)}`);
    const details = most.length > 0 ? ` (${most.join(', ')})` : '';
    return [`calls a minute while pods were at rest (${agent}): ${all}${details}`];
  });
}
