/** The row of a pod in the tables of `statelet pods` and `statelet run --live`. */
import { humanDuration } from '../agent/policies/formats/duration.ts';
import { CONFIG_SEEN_ANNOTATION } from '../agent/policies/pod/pod-kinds.ts';
import { podSummary } from '../agent/policies/status/pod-table.ts';
import type { Pod, PodStatus } from '../types/kubernetes.ts';

export const POD_COLUMNS = ['NAMESPACE', 'NAME', 'READY', 'STATUS', 'RESTARTS', 'AGE', 'STATE'] as const;

export interface ShownPod {
  /** With its present status. */
  readonly pod: Pod;
  /** Of its chart. */
  readonly state: string | undefined;
  readonly waitsFor: string | undefined;
}

/** A cell for each of the columns. */
export function podRow({ pod, state, waitsFor }: ShownPod, nowMs: number): readonly string[] {
  const { metadata, status } = pod;
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
  ];
}

export const WIDE_COLUMNS = ['IP', 'NODE'] as const;

/** A cell for each of the wide columns. */
export function wideCells({ spec, status }: Pod): readonly string[] {
  return [status?.podIP ?? '<none>', spec.nodeName ?? '<none>'];
}

/** The order of rows: by namespace and name. */
export function byName(a: readonly string[], b: readonly string[]): number {
  const [left, right] = [a.slice(0, 2).join('\0'), b.slice(0, 2).join('\0')];
  return left < right ? -1 : Number(left > right);
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
