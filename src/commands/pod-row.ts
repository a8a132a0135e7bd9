/** The row of a pod in the tables of `statelet pods` and `statelet run --live`. */
import { humanDuration } from '../agent/policies/formats/duration.ts';
import { CONFIG_SEEN_ANNOTATION } from '../agent/policies/pod/pod-kinds.ts';
import { podSummaryIn } from '../agent/policies/status/pod-table.ts';
import type { Pod } from '../types/kubernetes.ts';
import { compareTexts } from '../agent/policies/formats/text-order.ts';

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
  const { metadata } = pod;
  const { ready, total, status, restarts, lastRestart } = podSummaryIn(pod, state);
  const ago = lastRestart === undefined ? '' : ` (${ageText(lastRestart, nowMs)} ago)`;
  return [
    metadata.namespace,
    metadata.name,
    `${ready}/${total}`,
    status,
    `${restarts}${ago}`,
    podAge(pod, nowMs),
    waitsFor === undefined ? (state ?? '<none>') : `${state ?? ''} (${waitsFor})`,
  ];
}

export const WIDE_COLUMNS = ['IP', 'NODE'] as const;

export function wideCells({ spec, status }: Pod): readonly string[] {
  return [status?.podIP ?? '<none>', spec.nodeName ?? '<none>'];
}

/** The order of rows: by namespace and name. */
export function byName(a: readonly string[], b: readonly string[]): number {
  return compareTexts(a.slice(0, 2).join('\0'), b.slice(0, 2).join('\0'));
}

/** The order of pods: as kubectl has it. */
export function byNamespaceAndName(a: Pod, b: Pod): number {
  return byName(keyOf(a), keyOf(b));
}

function keyOf({ metadata }: Pod): readonly string[] {
  return [metadata.namespace, metadata.name];
}

/** Static pods have no creation time. One that has not started yet counts from when its source first had it. */
export function podAge({ metadata, status }: Pod, nowMs: number): string {
  const since =
    metadata.creationTimestamp ?? status?.startTime ?? metadata.annotations?.[CONFIG_SEEN_ANNOTATION];
  return ageText(since, nowMs);
}

export function ageText(time: string | undefined, nowMs: number): string {
  return time === undefined ? '<unknown>' : humanDuration(nowMs - Date.parse(time));
}
