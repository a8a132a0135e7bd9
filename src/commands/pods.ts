/** `statelet pods`: the pods of a running daemon, as kubectl shows pods. */
import { STATE_ANNOTATION, WAITS_FOR_ANNOTATION } from '../agent/server/routes/local-routes.ts';
import type { Pod } from '../types/kubernetes.ts';
import { askDaemon, type DaemonFlags } from './daemon-request.ts';
import { byName, POD_COLUMNS, podRow, WIDE_COLUMNS, wideCells } from './pod-row.ts';
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
  const header = [...POD_COLUMNS, ...(wide ? [...WIDE_COLUMNS, 'UID'] : [])];
  const rows = items.map((pod) => row(pod, wide, nowMs)).sort(byName);
  return formatTable([header, ...rows]);
}

function row(pod: Pod, wide: boolean, nowMs: number): readonly string[] {
  const { metadata } = pod;
  const state = metadata.annotations?.[STATE_ANNOTATION];
  const waitsFor = metadata.annotations?.[WAITS_FOR_ANNOTATION];
  const more = wide ? [...wideCells(pod), metadata.uid] : [];
  return [...podRow({ pod, state, waitsFor }, nowMs), ...more];
}
