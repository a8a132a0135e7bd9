/** Objects that are created on a pod: a binding to a node, and an eviction. */
import { rfc3339 } from '../../../src/agent/policies/formats/time.ts';
import { isTerminal, withDisruption } from '../../../src/simulation/api/served-pod-rules.ts';
import type { Pod } from '../../../src/types/kubernetes.ts';
import type { ApiObjects, DeleteOptions, Target, WriteOptions } from './api-objects.ts';
import { type AnyObject, type Draft, nodeOf } from './context.ts';
import { restrictEviction } from './node-restriction.ts';
import { matchesSelector } from './selectors.ts';
import { conflict, notFound, otherUID, otherVersion, StatusError } from './status-error.ts';

const SUCCESS = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success' } as const;

/** Binds the pod to the node, as a scheduler asks for it. */
export function bind(
  objects: ApiObjects,
  target: Target,
  binding: Draft,
  { dryRun = false }: WriteOptions,
): object {
  const pod = objects.get(target);
  const nodeName = String(binding.target?.name ?? '');
  const current = pod.spec.nodeName as string | undefined;
  const asBinding = { ...target, type: { ...target.type, plural: 'pods/binding' } };
  if (pod.metadata.deletionTimestamp !== undefined)
    throw conflict(asBinding, `pod ${target.name} is being deleted, cannot be assigned to a host`);
  if (current !== undefined)
    throw conflict(asBinding, `pod ${target.name} is already assigned to node "${current}"`);
  if (((pod.spec.schedulingGates ?? []) as unknown[]).length > 0)
    throw conflict(asBinding, `pod ${target.name} has non-empty .spec.schedulingGates`);
  const at = rfc3339(objects.options.now());
  const condition = { type: 'PodScheduled', status: 'True', lastProbeTime: null, lastTransitionTime: at };
  const others = ((pod.status?.conditions ?? []) as Draft[]).filter(({ type }) => type !== 'PodScheduled');
  const bound = {
    ...pod,
    spec: { ...pod.spec, nodeName },
    status: { ...pod.status, conditions: [...others, condition] },
  };
  if (!dryRun) objects.store.replace('pods', pod, bound, undefined);
  return { ...SUCCESS, code: 201 };
}

/** Deletes the pod, unless a disruption budget protects it for now. Pods that do not run yet, or not any more, are not protected. */
export function evict(objects: ApiObjects, target: Target, eviction: Draft, options: WriteOptions): object {
  const { store } = objects;
  const pod = objects.find(target);
  // A node gets this from the admission plugin, which uses another word.
  const plural = nodeOf(options.user) === undefined ? 'pods' : 'pod';
  if (pod === undefined) throw notFound({ type: { ...target.type, plural }, name: target.name });
  restrictEviction(options.user, target, pod);
  const deletion = (eviction.deleteOptions ?? {}) as DeleteOptions & { readonly dryRun?: readonly string[] };
  const dryRun = options.dryRun === true || deletion.dryRun?.includes('All') === true;
  const { uid, resourceVersion } = deletion.preconditions ?? {};
  if (uid !== undefined && uid !== pod.metadata.uid) throw otherUID(target, uid, pod.metadata.uid);
  if (resourceVersion !== undefined && resourceVersion !== pod.metadata.resourceVersion)
    throw otherVersion(target, resourceVersion, pod.metadata.resourceVersion);
  const { phase } = pod.status as { phase?: string };
  const isKept =
    phase !== 'Pending' && !isTerminal(pod as unknown as Pod) && pod.metadata.deletionTimestamp === undefined;
  if (isKept) useBudget(objects, pod, dryRun);
  if (dryRun) return { ...SUCCESS, code: 201 };
  const disrupted = withDisruption(
    pod as unknown as Pod,
    rfc3339(objects.options.now()),
  ) as unknown as AnyObject;
  if (disrupted !== pod) store.replace('pods', pod, disrupted, undefined);
  objects.delete(target, { ...deletion, preconditions: {} }, options);
  return { ...SUCCESS, code: 201 };
}

function useBudget(objects: ApiObjects, pod: AnyObject, dryRun: boolean): void {
  const { store } = objects;
  const key = 'poddisruptionbudgets.policy';
  const budgets = (store.list(key) as AnyObject[]).filter(
    ({ metadata, spec }) =>
      metadata.namespace === pod.metadata.namespace &&
      spec.selector !== undefined &&
      matchesSelector(spec.selector, pod.metadata.labels ?? {}),
  );
  if (budgets.length > 1)
    throw new StatusError(
      500,
      'InternalError',
      'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.',
    );
  const [budget] = budgets;
  if (budget === undefined) return;
  const { name } = budget.metadata;
  const {
    disruptionsAllowed = 0,
    observedGeneration = 0,
    desiredHealthy = 0,
    currentHealthy = 0,
  } = budget.status as Draft;
  const { generation = 1 } = budget.metadata as { generation?: number };
  const message = "Cannot evict pod as it would violate the pod's disruption budget.";
  const refuse = (why: string, wait: object = {}) => {
    const causes = [{ reason: 'DisruptionBudget', message: why }];
    throw new StatusError(429, 'TooManyRequests', message, { causes, ...wait });
  };
  if (observedGeneration < generation)
    refuse(`The disruption budget ${name} is still being processed by the server.`, {
      retryAfterSeconds: 10,
    });
  if (disruptionsAllowed <= 0)
    refuse(
      `The disruption budget ${name} needs ${desiredHealthy} healthy pods and has ${currentHealthy} currently`,
    );
  if (dryRun) return;
  const disruptedPods = {
    ...budget.status.disruptedPods,
    [pod.metadata.name]: rfc3339(objects.options.now()),
  };
  const status = { ...budget.status, disruptedPods, disruptionsAllowed: disruptionsAllowed - 1 };
  store.replace(key, budget, { ...budget, status } as AnyObject, undefined);
}
