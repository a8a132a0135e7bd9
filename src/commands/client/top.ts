/** `statelet top`: what the pods or the node use now, as `kubectl top` shows it. */
import { setTimeout as delay } from 'node:timers/promises';
import { milliValue, parseQuantity, quantityValue } from '../../agent/policies/formats/quantity.ts';
import { OWN_CPUS_ANNOTATION } from '../../agent/server/routes/local-routes.ts';
import { errorKind, StateletError } from '../../types/errors.ts';
import type { Node, Pod } from '../../types/kubernetes.ts';
import type { CPUStats, MemoryStats, PodStats, Summary } from '../../types/stats.ts';
import { formatTable } from '../table.ts';
import { type NamespaceFlags, parsePodName, podsOf } from './chosen-pod.ts';
import { type DaemonConnection, type FolderFlags, withDaemon } from './daemon-connection.ts';
import { labelSelector } from './label-selector.ts';
import { compareTexts } from '../../agent/policies/formats/text-order.ts';

export interface TopFlags extends FolderFlags, NamespaceFlags {
  readonly selector?: string;
  readonly containers?: boolean;
  readonly sortBy?: 'cpu' | 'memory';
  readonly headers?: boolean;
  readonly sum?: boolean;
}

interface Usage {
  /** Undefined where it has not been measured yet. */
  readonly cpuMilli: number | undefined;
  readonly memoryBytes: number | undefined;
}

interface Row extends Usage {
  readonly names: readonly string[];
  /** Of the pod, by the names of their columns. */
  readonly more: Partial<Record<Extra, string>>;
}

const MEBIBYTE = 1024 * 1024;
/** Columns that kubectl does not have. They are there only where a pod that is shown has something in them. */
const EXTRAS = ['CPUS', 'DEVICES', 'RESIZE'] as const;
type Extra = (typeof EXTRAS)[number];
const UNKNOWN = '<unknown>';

/** A rate of CPU time needs two measurements, at least a second apart: the first call waits for the second one. */
const SECOND_MEASUREMENT_MS = 1_050;

/** Returns what to print. */
export function topPods(name: string | undefined, flags: TopFlags): Promise<string> {
  return withDaemon(flags, async (daemon) => {
    const known = new Map((await podsOf(daemon)).map((pod) => [pod.metadata.uid, pod]));
    const isWanted = filterOf(known, name, flags);
    const { pods } = await summary(daemon, ({ pods }) =>
      pods.filter(isWanted).flatMap(({ containers = [] }) => containers),
    );
    const wanted = pods.filter(isWanted);
    if (wanted.length === 0 && name !== undefined) throw noFigures(name);
    const shown = wanted.toSorted((a, b) => compareTexts(nameOf(a), nameOf(b)));
    const rows = shown.flatMap((pod) =>
      flags.containers === true
        ? ofContainers(pod, flags)
        : ofPod(pod, extrasOf(known.get(pod.podRef.uid)), flags),
    );
    return rows.length === 0 ? 'No pods with figures.\n' : podTable(sorted(rows, flags), flags);
  });
}

/** Returns what to print. */
export function topNode(flags: TopFlags): Promise<string> {
  return withDaemon(flags, async (daemon) => {
    const [{ node }, object] = await Promise.all([
      summary(daemon, ({ node }) => [node]),
      daemon.json<Node>('/node'),
    ]);
    const { cpuMilli, memoryBytes } = usageOf(node);
    const { cpu = '0', memory = '0' } = object.status?.allocatable ?? {};
    const cpuShare = shareOf(cpuMilli, Number(milliValue(parseQuantity(cpu))));
    const memoryShare = shareOf(memoryBytes, Number(quantityValue(parseQuantity(memory))));
    const row = [node.nodeName, cpuText(cpuMilli), cpuShare, memoryText(memoryBytes), memoryShare];
    const header = ['NAME', 'CPU(cores)', 'CPU(%)', 'MEMORY(bytes)', 'MEMORY(%)'];
    return formatTable(flags.headers === false ? [row] : [header, row]);
  });
}

/** `shown`: the figures that will be printed. If one has been measured only once, and so has no rate, a second measurement is awaited. */
async function summary(
  daemon: DaemonConnection,
  shown: (summary: Summary) => readonly { readonly cpu?: CPUStats }[],
): Promise<Summary> {
  const first = await measured(daemon);
  if (!shown(first).some(({ cpu }) => isFirst(cpu))) return first;
  await delay(SECOND_MEASUREMENT_MS);
  return measured(daemon);
}

function isFirst(cpu: CPUStats | undefined): boolean {
  return cpu?.usageCoreNanoSeconds !== undefined && cpu.usageNanoCores === undefined;
}

async function measured(daemon: DaemonConnection): Promise<Summary> {
  try {
    return await daemon.json<Summary>('/stats/summary?only_cpu_and_memory=true');
  } catch (error) {
    if (errorKind(error) !== 'NotFound') throw error;
    throw new StateletError('Unavailable', 'this daemon serves no figures; it may be an older version');
  }
}

function filterOf(
  known: ReadonlyMap<string, Pod>,
  text: string | undefined,
  flags: TopFlags,
): (pod: PodStats) => boolean {
  const { namespace, name } = text === undefined ? { ...flags, name: undefined } : parsePodName(text, flags);
  const isSelected = labelSelector(flags.selector);
  const hasLabels = (pod: Pod | undefined) => pod !== undefined && isSelected(pod.metadata.labels);
  return ({ podRef }) =>
    (flags.selector === undefined || hasLabels(known.get(podRef.uid))) &&
    (namespace === undefined || podRef.namespace === namespace) &&
    (name === undefined || podRef.name === name || podRef.name.startsWith(`${name}-`));
}

function noFigures(name: string): StateletError {
  const message = `there are no figures of a pod "${name}": it does not run, or has not been measured yet`;
  return new StateletError('NotFound', message);
}

function extrasOf(pod: Pod | undefined): Row['more'] {
  const { conditions = [], containerStatuses = [], initContainerStatuses = [] } = pod?.status ?? {};
  const cpus = pod?.metadata.annotations?.[OWN_CPUS_ANNOTATION];
  const devices = new Map<string, number>();
  for (const { allocatedResourcesStatus = [] } of [...initContainerStatuses, ...containerStatuses])
    for (const { name, resources = [] } of allocatedResourcesStatus)
      devices.set(name, (devices.get(name) ?? 0) + resources.length);
  const resize = conditions.find(({ type }) => type.startsWith('PodResize'));
  return {
    ...(cpus !== undefined && { CPUS: cpus }),
    ...(devices.size > 0 && { DEVICES: Array.from(devices, ([name, count]) => `${name}=${count}`).join() }),
    ...(resize && { RESIZE: resize.reason ?? 'InProgress' }),
  };
}

/** Of the containers together, as kubectl has it: without the sandbox. */
function ofPod(pod: PodStats, more: Row['more'], flags: TopFlags): readonly Row[] {
  const usages = (pod.containers ?? []).map(usageOf);
  const { podRef } = pod;
  if (usages.length === 0) return [];
  return [
    {
      names: [...namespaceOf(podRef, flags), podRef.name],
      more,
      cpuMilli: sumOf(usages.map(({ cpuMilli }) => cpuMilli)),
      memoryBytes: sumOf(usages.map(({ memoryBytes }) => memoryBytes)),
    },
  ];
}

function ofContainers({ podRef, containers = [] }: PodStats, flags: TopFlags): readonly Row[] {
  return containers.map((container) => ({
    names: [...namespaceOf(podRef, flags), podRef.name, container.name],
    more: {},
    ...usageOf(container),
  }));
}

function namespaceOf({ namespace }: PodStats['podRef'], flags: TopFlags): readonly string[] {
  return flags.namespace === undefined ? [namespace] : [];
}

function nameOf({ podRef: { namespace, name } }: PodStats): string {
  return `${namespace}\0${name}`;
}

/** kubectl rounds the millicores up. */
function usageOf({ cpu, memory }: { readonly cpu?: CPUStats; readonly memory?: MemoryStats }): Usage {
  const nanoCores = cpu?.usageNanoCores;
  return {
    cpuMilli: nanoCores === undefined ? undefined : Math.ceil(nanoCores / 1e6),
    memoryBytes: memory?.workingSetBytes,
  };
}

function sumOf(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined);
  return known.length === 0 ? undefined : known.reduce((sum, value) => sum + value, 0);
}

function sorted(rows: readonly Row[], { sortBy }: TopFlags): readonly Row[] {
  if (sortBy === undefined) return rows;
  const value = ({ cpuMilli, memoryBytes }: Row) => (sortBy === 'cpu' ? cpuMilli : memoryBytes) ?? -1;
  return rows.toSorted((a, b) => value(b) - value(a));
}

function podTable(rows: readonly Row[], flags: TopFlags): string {
  const names = [
    ...(flags.namespace === undefined ? ['NAMESPACE'] : []),
    flags.containers === true ? 'POD' : 'NAME',
  ];
  const header = [...names, ...(flags.containers === true ? ['NAME'] : []), 'CPU(cores)', 'MEMORY(bytes)'];
  const extras = EXTRAS.filter((name) => rows.some(({ more }) => more[name] !== undefined));
  const cells = rows.map(({ cpuMilli, memoryBytes, ...row }) => [
    ...row.names,
    cpuText(cpuMilli),
    memoryText(memoryBytes),
    ...extras.map((name) => row.more[name] ?? ''),
  ]);
  const total = flags.sum === true ? [totalOf(rows, header.length - 2)] : [];
  return formatTable([...(flags.headers === false ? [] : [[...header, ...extras]]), ...cells, ...total]);
}

function totalOf(rows: readonly Row[], names: number): readonly string[] {
  const cpu = sumOf(rows.map(({ cpuMilli }) => cpuMilli));
  const memory = sumOf(rows.map(({ memoryBytes }) => memoryBytes));
  return [...Array.from({ length: names - 1 }, () => ''), 'total', cpuText(cpu), memoryText(memory)];
}

function cpuText(milli: number | undefined): string {
  return milli === undefined ? UNKNOWN : `${String(milli)}m`;
}

function memoryText(bytes: number | undefined): string {
  return bytes === undefined ? UNKNOWN : `${String(Math.floor(bytes / MEBIBYTE))}Mi`;
}

function shareOf(used: number | undefined, whole: number): string {
  return used === undefined || whole === 0 ? UNKNOWN : `${String(Math.floor((100 * used) / whole))}%`;
}
