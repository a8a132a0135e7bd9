/** What an API server makes of pods: defaults when they are created, the check of their status, deletion with a grace period. */
import { equalJson } from '../../agent/policies/formats/canonical-json.ts';
import { rfc3339, unixMs } from '../../agent/policies/formats/time.ts';
import { computePodQOS } from '../../agent/policies/pod/qos.ts';
import type {
  ContainerState,
  ContainerStatus,
  Draft,
  Pod,
  PodCondition,
  PodSpec,
  PodStatus,
} from '../../types/kubernetes.ts';

/** A reason why an object is not stored. */
export interface Flaw {
  readonly field: string;
  readonly why: string;
  /** The invalid value. */
  readonly value?: unknown;
}

type StatusCheck = (before: Pod, status: PodStatus) => Flaw | undefined;

/** A pod as it is stored first: whatever status was given, it has none yet. */
export function newPod<T extends Pod>(pod: T): T {
  const metadata: Draft<Pod['metadata']> = { ...pod.metadata, generation: 1 } as Draft<Pod['metadata']>;
  delete metadata.deletionTimestamp;
  delete metadata.deletionGracePeriodSeconds;
  return { ...pod, metadata, status: { phase: 'Pending', qosClass: computePodQOS(pod) } };
}

/** The pod with that status, or why it cannot have it. */
export function podWithStatus<T extends Pod>(before: T, sent: PodStatus): T | Flaw {
  const { qosClass = before.status?.qosClass, ...rest } = sent;
  const status = servedPodStatus({ ...rest, ...(qosClass !== undefined && { qosClass }) });
  for (const check of CHECKS) {
    const flaw = check(before, status);
    if (flaw !== undefined) return flaw;
  }
  return { ...before, status };
}

/** The changed pod. Its generation tells how often its spec was changed. */
export function withGeneration<T extends Pod>(before: T, after: T): T {
  const { generation = 1 } = before.metadata;
  const isOther = !equalJson(before.spec, after.spec);
  return { ...after, metadata: { ...after.metadata, generation: generation + (isOther ? 1 : 0) } };
}

export interface Deletion {
  /** Default: the pod's. */
  readonly graceSeconds?: number | undefined;
  /** Unix ms. */
  readonly now: number;
}

/** The pod that is being deleted; undefined: it is removed at once. A grace period only gets shorter. */
export function deletedPod<T extends Pod>(pod: T, deletion: Deletion): T | undefined {
  const { metadata, spec } = pod;
  const seconds = deletion.graceSeconds ?? spec.terminationGracePeriodSeconds ?? 30;
  if (seconds <= 0 || spec.nodeName === undefined || isTerminal(pod)) return undefined;
  const formerly = metadata.deletionGracePeriodSeconds;
  if (formerly !== undefined && seconds >= formerly) return pod;
  const begins =
    metadata.deletionTimestamp === undefined
      ? deletion.now
      : Date.parse(metadata.deletionTimestamp) - (formerly ?? 0) * 1000;
  const deleting: Draft<Pick<Pod['metadata'], 'deletionTimestamp' | 'generation'>> = {
    deletionTimestamp: rfc3339(begins + seconds * 1000),
    generation: (metadata.generation ?? 1) + (formerly === undefined ? 1 : 0),
  };
  return { ...pod, metadata: { ...metadata, ...deleting, deletionGracePeriodSeconds: seconds } };
}

const BY_EVICTION = { reason: 'EvictionByEvictionAPI', message: 'Eviction API: evicting' };

/** Adds the condition that says why somebody else ends the pod. */
export function withDisruption<T extends Pod>(pod: T, lastTransitionTime: string, why = BY_EVICTION): T {
  const conditions = pod.status?.conditions ?? [];
  if (conditions.some(({ type }) => type === 'DisruptionTarget')) return pod;
  const condition = {
    type: 'DisruptionTarget',
    status: 'True',
    ...why,
    lastTransitionTime,
  };
  return { ...pod, status: servedPodStatus({ ...pod.status, conditions: [...conditions, condition] }) };
}

export function isTerminal({ status }: Pod): boolean {
  return status?.phase === 'Succeeded' || status?.phase === 'Failed';
}

const CHECKS: readonly StatusCheck[] = [
  ({ status: before }, { qosClass }) =>
    before?.qosClass === qosClass
      ? undefined
      : { field: 'status.qosClass', why: 'field is immutable', value: qosClass },
  (_, { observedGeneration = 0 }) =>
    observedGeneration >= 0
      ? undefined
      : { field: 'status.observedGeneration', why: 'must be a non-negative integer' },
  (_, { hostIP, hostIPs = [] }) =>
    hostIPs.length === 0 || hostIPs[0]?.ip === hostIP
      ? undefined
      : { field: 'status.hostIPs[0].ip', why: 'must be equal to `hostIP`' },
  (_, { podIPs = [] }) => families(podIPs, 'status.podIPs'),
  (_, { hostIPs = [] }) => families(hostIPs, 'status.hostIPs'),
  ({ spec, status: before }, status) => containerStartedAgain(spec, before, status),
];

function families(ips: readonly { readonly ip: string }[], field: string): Flaw | undefined {
  const isIPv6 = ips.map(({ ip }) => ip.includes(':'));
  const why = 'may specify no more than one IP for each IP family';
  return new Set(isIPv6).size === isIPv6.length ? undefined : { field, why };
}

/** A container that has ended stays so, unless it may be restarted. */
export function containerStartedAgain(
  spec: PodSpec,
  before: PodStatus = {},
  after: PodStatus = {},
): Flaw | undefined {
  if (spec.restartPolicy === undefined || spec.restartPolicy === 'Always') return undefined;
  const why = 'may not be transitioned to non-terminated state';
  const lists = ['containerStatuses', 'initContainerStatuses'] as const;
  for (const list of lists) {
    const statuses = after[list] ?? [];
    for (const ended of before[list] ?? []) {
      const index = statuses.findIndex(({ name }) => name === ended.name);
      const now = statuses[index];
      if (now === undefined || now.state?.terminated !== undefined || mayRestart(spec, ended)) continue;
      return { field: `status.${list}[${String(index)}].state`, why };
    }
  }
  return undefined;
}

function mayRestart(
  { restartPolicy, initContainers = [] }: PodSpec,
  { name, state }: ContainerStatus,
): boolean {
  const { exitCode } = state?.terminated ?? {};
  if (exitCode === undefined || (restartPolicy === 'OnFailure' && exitCode !== 0)) return true;
  return initContainers.some((init) => init.name === name && init.restartPolicy === 'Always');
}

/** A pod's status as a real API server stores and serves it: times in whole seconds, and its own treatment of empty fields. */
export function servedPodStatus(status: PodStatus): PodStatus {
  const { podIP = status.podIPs?.[0]?.ip, podIPs } = status;
  return withoutEmpty({
    ...status,
    startTime: status.startTime && inSeconds(status.startTime),
    conditions: status.conditions?.map(servedCondition),
    containerStatuses: status.containerStatuses?.map(servedContainer),
    initContainerStatuses: status.initContainerStatuses?.map(servedContainer),
    ephemeralContainerStatuses: status.ephemeralContainerStatuses?.map(servedContainer),
    podIP,
    // The old field wins over the newer one.
    podIPs: podIP === undefined || podIPs?.[0]?.ip === podIP ? podIPs : [{ ip: podIP }],
  });
}

function servedCondition(condition: PodCondition): PodCondition {
  return {
    ...withoutEmpty(condition),
    // A patch of a condition that is not there may leave it out.
    status: (condition as Partial<PodCondition>).status ?? '',
    lastProbeTime: inSeconds(condition.lastProbeTime),
    lastTransitionTime: inSeconds(condition.lastTransitionTime),
  };
}

function servedContainer(status: ContainerStatus): ContainerStatus {
  return {
    ...withoutEmpty(status),
    image: status.image,
    imageID: status.imageID,
    state: servedState(status.state),
    lastState: servedState(status.lastState),
  };
}

function servedState({ waiting, running, terminated }: ContainerState = {}): ContainerState {
  return {
    ...(waiting && { waiting: withoutEmpty(waiting) }),
    ...(running && { running: { startedAt: inSeconds(running.startedAt) } }),
    ...(terminated && {
      terminated: withoutEmpty({
        ...terminated,
        startedAt: inSeconds(terminated.startedAt),
        finishedAt: inSeconds(terminated.finishedAt),
      }),
    }),
  };
}

/** A time that is missing is served as null. */
function inSeconds<Time extends string | undefined>(time: Time | null): Time {
  const served: unknown = time == null ? null : rfc3339(unixMs(time));
  return served as Time;
}

/** Empty texts and lists are not stored. Null is: it stands for a missing time. */
function withoutEmpty<T extends object>(value: T): T {
  const isEmpty = (member: unknown) =>
    member === undefined || member === '' || (Array.isArray(member) && member.length === 0);
  return Object.fromEntries(Object.entries(value).filter(([, member]) => !isEmpty(member))) as T;
}
