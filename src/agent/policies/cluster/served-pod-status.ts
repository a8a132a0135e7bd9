/**
 * A pod's status as the API server writes it: fields that are always there, times in whole seconds, canonical quantities, no empty
 * fields. Statuses that mean the same have the same form, whether they come from the node or from the server.
 */
import type { ContainerState, ContainerStatus, PodCondition, PodStatus } from '../../../types/kubernetes.ts';
import { equalJson, without } from '../formats/canonical-json.ts';
import { formatQuantity, parseQuantity } from '../formats/quantity.ts';
import { rfc3339, unixMs } from '../formats/time.ts';
import { DISRUPTION_TARGET, isOwnedByKubelet } from '../status/pod-conditions.ts';
import { CLAIM_FIELDS } from './merged-status.ts';

type Fields = Readonly<Record<string, unknown>>;
type QuantityForm = (quantity: string) => string;

/** `quantityForm` makes equal texts of quantities that count as equal. */
export function servedPodStatus(
  status: PodStatus,
  quantityForm: QuantityForm = canonicalQuantity,
): PodStatus {
  const containers = (statuses: readonly ContainerStatus[] | undefined) =>
    statuses?.map((one) => servedContainerStatus(one, quantityForm));
  return filled({
    ...status,
    conditions: status.conditions?.map(servedCondition),
    startTime: servedTime(status.startTime),
    hostIPs: status.hostIPs?.map(({ ip }) => ({ ip })),
    podIPs: status.podIPs?.map(({ ip }) => ({ ip })),
    initContainerStatuses: containers(status.initContainerStatuses),
    containerStatuses: containers(status.containerStatuses),
    ephemeralContainerStatuses: containers(status.ephemeralContainerStatuses),
    ...servedResources(status, quantityForm),
  });
}

function servedCondition(condition: PodCondition): PodCondition {
  const { type, status, lastProbeTime, lastTransitionTime } = condition;
  const times = {
    lastProbeTime: servedTime(lastProbeTime),
    lastTransitionTime: servedTime(lastTransitionTime),
  };
  return { ...filled(condition), type, status, ...times } as PodCondition;
}

function servedContainerStatus(status: ContainerStatus, quantityForm: QuantityForm): ContainerStatus {
  const { name, state, lastState, ready, restartCount, image, imageID, user } = status;
  return {
    ...filled({ ...status, ...servedResources(status, quantityForm), user: servedUser(user) }),
    ...(status.volumeMounts && { volumeMounts: status.volumeMounts.map(servedMount) }),
    name,
    state: servedState(state),
    lastState: servedState(lastState),
    ready,
    restartCount,
    image,
    imageID,
  };
}

function servedState(state: ContainerState | undefined): ContainerState {
  const { waiting, running, terminated } = state ?? {};
  return {
    ...(waiting != null && { waiting: filled(waiting) }),
    ...(running != null && { running: { startedAt: servedTime(running.startedAt) } }),
    ...(terminated != null && {
      terminated: {
        ...filled(terminated),
        exitCode: terminated.exitCode,
        startedAt: servedTime(terminated.startedAt),
        finishedAt: servedTime(terminated.finishedAt),
      },
    }),
  } as ContainerState;
}

function servedUser(user: ContainerStatus['user']): ContainerStatus['user'] {
  if (user?.linux === undefined) return user;
  const { supplementalGroups, ...ids } = user.linux;
  return { ...user, linux: { ...ids, ...filled({ supplementalGroups }) } };
}

function servedMount<Mount extends { readonly readOnly?: boolean }>({ readOnly, ...mount }: Mount) {
  return { ...mount, ...(readOnly === true && { readOnly }) };
}

interface WithResources {
  readonly allocatedResources?: Readonly<Record<string, string>>;
  readonly resources?: {
    readonly requests?: Readonly<Record<string, string>>;
    readonly limits?: Readonly<Record<string, string>>;
  };
}

function servedResources({ allocatedResources, resources }: WithResources, form: QuantityForm): Fields {
  return {
    allocatedResources: servedQuantities(allocatedResources, form),
    ...(resources != null && {
      resources: filled({
        ...resources,
        requests: servedQuantities(resources.requests, form),
        limits: servedQuantities(resources.limits, form),
      }),
    }),
  };
}

function servedQuantities(
  quantities: Readonly<Record<string, string>> | undefined,
  form: QuantityForm,
): unknown {
  const entries = Object.entries(quantities ?? {});
  if (entries.length === 0) return undefined;
  return Object.fromEntries(entries.map(([name, quantity]) => [name, form(quantity)]));
}

function canonicalQuantity(quantity: string): string {
  return formatQuantity(parseQuantity(quantity));
}

/** The server writes a time that is not set as null. */
function servedTime(time: string | null | undefined): string | null {
  return time == null ? null : rfc3339(unixMs(time));
}

/** Without the fields that the server leaves out: empty texts, empty lists, 0 where that is no number of its own. */
function filled(fields: object): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => !isEmpty(value)));
}

function isEmpty(value: unknown): boolean {
  return value == null || value === '' || value === 0 || (Array.isArray(value) && value.length === 0);
}

/**
 * Of conditions only those count that the node sets, by status, reason and message, in any order. The statuses of resource claims
 * belong to others.
 */
export function equalStatuses(one: PodStatus, other: PodStatus): boolean {
  if (equalJson(one, other)) return true;
  return (
    equalConditions(shown(one), shown(other)) &&
    equalJson(servedPodStatus(comparedFields(one), exactly), servedPodStatus(comparedFields(other), exactly))
  );
}

function comparedFields(status: PodStatus): PodStatus {
  return without(status, ['conditions', ...CLAIM_FIELDS]);
}

function shown({ conditions = [] }: PodStatus): ReadonlyMap<string, PodCondition> {
  const ours = conditions.filter(
    (condition) => isOwnedByKubelet(condition) || condition.type === DISRUPTION_TARGET,
  );
  return new Map(ours.map((condition) => [condition.type, condition]));
}

function equalConditions(
  ones: ReadonlyMap<string, PodCondition>,
  others: ReadonlyMap<string, PodCondition>,
): boolean {
  if (ones.size !== others.size) return false;
  return [...ones.values()].every((one) => {
    const other = others.get(one.type);
    return (
      other?.status === one.status &&
      (other.reason ?? '') === (one.reason ?? '') &&
      (other.message ?? '') === (one.message ?? '')
    );
  });
}

/** `1Gi` and `1073741824` are one amount. */
function exactly(quantity: string): string {
  return String(parseQuantity(quantity).nanos);
}
