/** Who holds what a pod waits for or was refused for: devices, CPUs of its own, memory of NUMA nodes. */
import type { HeldResources } from '../../../types/pod-resources.ts';
import type { Pod } from '../../../types/kubernetes.ts';
import type { Rejection } from '../admission/rejection.ts';
import { podExclusiveCount } from '../cpus/static-cpus.ts';
import { quantityValue } from '../formats/quantity.ts';
import { wantsOwnMemory } from '../memory-manager/static-memory.ts';
import { initAndRegular } from '../pod-actions/restart.ts';
import { podLimits } from '../pod/resources.ts';

/** `cpu`, `memory`, or the name of a resource of devices. */
type Part = string;

export interface Lack {
  readonly part: Part;
  /** `1 example.com/gpu`, `3 CPUs of its own`. */
  readonly what: string;
  /** Undefined where the node does not say. */
  readonly free?: number | undefined;
}

export interface PartHolder {
  /** `default/web`. */
  readonly name: string;
  readonly held: readonly HeldResources[];
}

const NAMES_MAX = 5;
const MEBIBYTE = 2 ** 20;
const MEMORY: Lack = { part: 'memory', what: 'memory of NUMA nodes' };

interface LackText extends Pick<Lack, 'what' | 'free'> {
  readonly held: string;
}

/**
 * What the pod lacks, and those who have it, as `1 example.com/gpu: both are held by default/a and default/b`. Undefined where it lacks
 * something else, or nobody has any of it.
 */
export function lackText(
  rejection: Rejection,
  pod: Pod,
  holdersOf: (lack: Lack) => string | undefined,
): LackText | undefined {
  const isOfPlaces = rejection.reason === 'TopologyAffinityError';
  const lacks = isOfPlaces ? placedParts(pod) : [lackOf(rejection) ?? []].flat();
  const found = lacks.flatMap((lack) => {
    const held = holdersOf(lack);
    return held === undefined ? [] : { ...lack, held };
  });
  const [first, ...others] = found;
  if (first === undefined) return undefined;
  const what = `${listed(found.map(({ what }) => what))}${isOfPlaces ? ' where the topology policy wants it' : ''}`;
  if (others.length === 0) return { what, free: first.free, held: first.held };
  return {
    what,
    held: found.map(({ part, held }) => `of ${part === 'cpu' ? 'CPUs' : part} ${held}`).join('; '),
  };
}

/** The message does not say which of them could not be placed as the policy asks. */
function placedParts(pod: Pod): readonly Lack[] {
  const devices = [...podLimits(pod)].filter(([name, { nanos }]) => name.includes('/') && nanos > 0n);
  const cpus = podExclusiveCount(pod);
  const hasMemory = initAndRegular(pod).some((container) => wantsOwnMemory(pod, container));
  return [
    ...devices.map(([part, amount]) => ({ part, what: `${quantityValue(amount)} ${part}` })),
    ...(cpus > 0 ? [{ part: 'cpu', what: `${cpus} CPUs of its own` }] : []),
    ...(hasMemory ? [MEMORY] : []),
  ];
}

/** By the messages of the parts of the node that refuse; undefined where it is something else that the pod lacks. */
export function lackOf({ message }: Pick<Rejection, 'message'>): Lack | undefined {
  const [, part, count, free] =
    /number of devices unavailable for (\S+)\. Requested: (\d+), Available: (\d+)/u.exec(message) ?? [];
  if (part !== undefined) return { part, what: `${count} ${part}`, free: Number(free) };
  const [, wanted, freeCpus] = /not enough cpus .*requested=(\d+), available=(\d+)/u.exec(message) ?? [];
  if (wanted !== undefined) return { part: 'cpu', what: `${wanted} CPUs of its own`, free: Number(freeCpus) };
  const [, whole, asked] = /available physical CPUs = (\d+), requested CPUs = (\d+)/u.exec(message) ?? [];
  if (asked !== undefined) return { part: 'cpu', what: `${asked} CPUs in whole cores`, free: Number(whole) };
  if (message.includes('[memorymanager]')) return MEMORY;
  return undefined;
}

/**
 * `both are held by default/a and default/b`; undefined where nobody holds any. `total`: what there is of it on the node.
 */
export function heldText(
  { part, free }: Lack,
  holders: readonly PartHolder[],
  total: number,
): string | undefined {
  const shares = holders
    .map(({ name, held }) => ({ name, amount: held.reduce((sum, one) => sum + amountOf(one, part), 0) }))
    .filter(({ amount }) => amount > 0)
    .sort((a, b) => b.amount - a.amount);
  if (shares.length === 0) return undefined;
  const sum = shares.reduce((all, { amount }) => all + amount, 0);
  if (free === 0 && sum === total && part !== 'memory')
    return `${allText(total)} held by ${listed(shares.map(({ name }) => name))}`;
  return listed(shares.map(({ name, amount }) => `${name} holds ${amountText(part, amount)}`));
}

/** Of the resource, in its own unit: devices, CPUs, bytes. */
export function amountOf({ devices, cpuIDs, memory }: HeldResources, part: Part): number {
  if (part === 'cpu') return cpuIDs.length;
  if (part === 'memory') return memory.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  return devices
    .filter(({ resourceName }) => resourceName === part)
    .reduce((sum, { deviceIDs }) => sum + deviceIDs.length, 0);
}

function amountText(part: Part, amount: number): string {
  return part === 'memory' ? `${Math.ceil(amount / MEBIBYTE)}Mi` : String(amount);
}

function allText(count: number): string {
  if (count === 1) return 'it is';
  return count === 2 ? 'both are' : `all ${count} are`;
}

function listed(texts: readonly string[]): string {
  const more = texts.length - NAMES_MAX;
  const shown = more > 1 ? [...texts.slice(0, NAMES_MAX), `${more} others`] : texts;
  const [last = '', ...others] = shown.toReversed();
  return others.length === 0 ? last : `${others.reverse().join(', ')} and ${last}`;
}
