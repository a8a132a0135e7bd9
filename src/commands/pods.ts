/** `statelet pods`: the pods of a running daemon, as kubectl shows pods. */
import { STATE_ANNOTATION, WAITS_FOR_ANNOTATION } from '../server/routes/local-routes.ts';
import { CONFIG_SEEN_ANNOTATION } from '../policies/pod/pod-kinds.ts';
import { humanDuration } from '../policies/formats/duration.ts';
import { podSummary } from '../policies/status/pod-table.ts';
import type { Pod, PodStatus } from '../types/kubernetes.ts';
import { askDaemon, type DaemonFlags } from './daemon-request.ts';
import { formatTable } from './table.ts';

export interface PodsFlags extends DaemonFlags {
  readonly output?: 'json' | 'yaml' | 'wide';
}

interface PodList {
  readonly items: readonly Pod[];
}

/** Returns what to print. Rejects with `Unavailable` when no daemon answers. */
export async function pods({ output, ...flags }: PodsFlags, nowMs = Date.now()): Promise<string> {
  const list = await askDaemon('/pods', flags, isPodList);
  if (output === 'json') return `${JSON.stringify(list, null, 2)}\n`;
  if (output === 'yaml') return (await import('./to-yaml.ts')).toYAML(list);
  return list.items.length === 0 ? 'No pods.\n' : table(list.items, output === 'wide', nowMs);
}

function isPodList(body: unknown): body is PodList {
  return typeof body === 'object' && body !== null && 'items' in body && Array.isArray(body.items);
}

function table(items: readonly Pod[], wide: boolean, nowMs: number): string {
  const header = [
    'NAMESPACE',
    'NAME',
    'READY',
    'STATUS',
    'RESTARTS',
    'AGE',
    'STATE',
    ...(wide ? ['IP', 'NODE', 'UID'] : []),
  ];
  const rows = items
    .map((pod) => row(pod, wide, nowMs))
    .sort((a, b) => compare(a.slice(0, 2), b.slice(0, 2)));
  return formatTable([header, ...rows]);
}

function row(pod: Pod, wide: boolean, nowMs: number): string[] {
  const { metadata, spec, status } = pod;
  const state = metadata.annotations?.[STATE_ANNOTATION];
  const waitsFor = metadata.annotations?.[WAITS_FOR_ANNOTATION];
  const { ready, total, status: shown, restarts, lastRestart } = podSummary(pod, isEnding(state));
  const ago = lastRestart === undefined ? '' : ` (${age(lastRestart, nowMs)} ago)`;
  return [
    metadata.namespace,
    metadata.name,
    `${ready}/${total}`,
    statusOf(status, state) ?? shown,
    `${restarts}${ago}`,
    age(since(pod), nowMs),
    waitsFor === undefined ? (state ?? '<none>') : `${state ?? ''} (${waitsFor})`,
    ...(wide ? [status?.podIP ?? '<none>', spec.nodeName ?? '<none>', metadata.uid] : []),
  ];
}

/** Why a pod was ended: `Evicted`, `Deleted`, … kubectl shows how its containers ended instead. */
function statusOf(status: PodStatus | undefined, state: string | undefined): string | undefined {
  return state === 'Terminated.Finished' && status?.reason !== '' ? status?.reason : undefined;
}

/** The pod has been told to end, and its containers have not ended yet. */
function isEnding(state: string | undefined): boolean {
  return state === 'Syncing.Draining' || state?.startsWith('Terminating.') === true;
}

/** Static pods have no creation time. One that has not started yet counts from when its source first had it. */
function since({ metadata, status }: Pod): string | undefined {
  return metadata.creationTimestamp ?? status?.startTime ?? metadata.annotations?.[CONFIG_SEEN_ANNOTATION];
}

function age(time: string | undefined, nowMs: number): string {
  return time === undefined ? '<unknown>' : humanDuration(nowMs - Date.parse(time));
}

function compare(a: readonly string[], b: readonly string[]): number {
  const [left, right] = [a.join('\0'), b.join('\0')];
  return left < right ? -1 : Number(left > right);
}
