/** Which container has which CPUs, and the file `cpu_manager_state`, in the kubelet's format. */
import { fnv1a32 } from '../pod-actions/restart.ts';
import { type CpuSet, cpuSetString, parseCpuSet, union, without } from './cpu-set.ts';

export interface CpuState {
  /** For all containers without exclusive CPUs. */
  readonly shared: CpuSet;
  /** By the UID of the pod and the name of the container. */
  readonly assigned: ReadonlyMap<string, ReadonlyMap<string, CpuSet>>;
}

export function assignedCpus({ assigned }: CpuState, uid: string, container: string): CpuSet | undefined {
  return assigned.get(uid)?.get(container);
}

/** The exclusive CPUs of all containers, or of those of one pod. */
export function exclusiveCpus({ assigned }: CpuState, uid?: string): CpuSet {
  const pods = uid === undefined ? [...assigned.values()] : [assigned.get(uid) ?? new Map<string, CpuSet>()];
  return union(...pods.flatMap((containers) => [...containers.values()]));
}

export function withCpus(state: CpuState, uid: string, container: string, cpus: CpuSet): CpuState {
  const ofPod = new Map(state.assigned.get(uid)).set(container, cpus);
  return {
    shared: without(state.shared, cpus),
    assigned: new Map(state.assigned).set(uid, ofPod),
  };
}

/** The state with the pod's CPUs shared again. */
export function withoutPod(state: CpuState, uid: string): CpuState {
  const assigned = new Map(state.assigned);
  assigned.delete(uid);
  return { shared: union(state.shared, exclusiveCpus(state, uid)), assigned };
}

type Entries = Record<string, Record<string, string>>;

/** The content of the file. */
export function cpuStateText(policyName: string, state: CpuState): string {
  const sorted = <T>(map: ReadonlyMap<string, T>) => [...map].sort(([a], [b]) => (a < b ? -1 : 1));
  const entries: Entries = Object.fromEntries(
    sorted(state.assigned).map(([uid, containers]) => [
      uid,
      Object.fromEntries(sorted(containers).map(([name, cpus]) => [name, cpuSetString(cpus)])),
    ]),
  );
  const defaultCpuSet = cpuSetString(state.shared);
  return JSON.stringify({
    policyName,
    defaultCpuSet,
    ...(state.assigned.size > 0 && { entries }),
    checksum: checksumOf(policyName, defaultCpuSet, entries),
  });
}

/** Throws an error that says what is wrong with the content, as the kubelet words it. */
export function readCpuState(text: string, policyName: string): CpuState {
  const content = JSON.parse(text) as Record<string, unknown>;
  const { policyName: former, defaultCpuSet, entries = {}, checksum } = content;
  if (typeof former !== 'string' || typeof defaultCpuSet !== 'string' || !isEntries(entries))
    throw new Error('checkpoint is corrupted');
  // The kubelet accepts a file without a checksum as well.
  if (checksum !== 0 && checksum !== checksumOf(former, defaultCpuSet, entries))
    throw new Error('checkpoint is corrupted');
  if (former !== policyName)
    throw new Error(`configured policy "${policyName}" differs from state checkpoint policy "${former}"`);
  const shared = parseCpuSet(defaultCpuSet);
  if (shared === undefined) throw new Error(`could not parse default cpu set "${defaultCpuSet}"`);
  const assigned = Object.entries(entries).map(
    ([uid, containers]) =>
      [
        uid,
        new Map(Object.entries(containers).map(([name, cpus]) => [name, parsed(cpus, name, uid)])),
      ] as const,
  );
  return { shared, assigned: new Map(assigned) };
}

function isEntries(value: unknown): value is Entries {
  const isObject = (each: unknown) => typeof each === 'object' && each !== null;
  return (
    isObject(value) &&
    Object.values(value).every(
      (containers: unknown) =>
        isObject(containers) && Object.values(containers).every((cpus) => typeof cpus === 'string'),
    )
  );
}

function parsed(cpus: string, container: string, uid: string): CpuSet {
  const set = parseCpuSet(cpus);
  if (set) return set;
  throw new Error(`could not parse cpuset "${cpus}" for container "${container}" in pod "${uid}"`);
}

/** The kubelet's: FNV-1a of how Go would print the content. `entries` is sorted, as Go prints maps. */
function checksumOf(policyName: string, defaultCpuSet: string, entries: Entries): number {
  const map = (pairs: readonly (readonly [string, string])[]) =>
    `map[${pairs.map(([key, value]) => `${key}:${value}`).join(' ')}]`;
  const sorted = <T>(object: Record<string, T>) =>
    Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1));
  const containers = sorted(entries).map(([uid, ofPod]) => [uid, map(sorted(ofPod))] as const);
  return fnv1a32(
    `(*state.CPUManagerCheckpoint){PolicyName:(string)${policyName} DefaultCPUSet:(string)${defaultCpuSet} ` +
      `Entries:(map[string]map[string]string)${map(containers)} Checksum:(checksum.Checksum)0}`,
  );
}
