import { LOOPBACK } from '../bootstrap.ts';
import type { AnyObject, Draft } from '../context.ts';
import { type LabelSelector, matchesSelector } from '../selectors.ts';
import { typeOf } from '../served-types.ts';
import type { ControllerHost } from './controllers.ts';

const KEY = 'poddisruptionbudgets.policy';

/** Writes into each budget how many pods may be evicted. */
export function countBudgets({ store, objects }: ControllerHost): void {
  for (const budget of store.list(KEY) as AnyObject[]) {
    const { namespace, name, generation = 1 } = budget.metadata;
    const pods = (store.list('pods') as AnyObject[]).filter(
      ({ metadata, status }) =>
        metadata.namespace === namespace &&
        matchesSelector((budget.spec.selector ?? {}) as LabelSelector, metadata.labels ?? {}) &&
        !['Succeeded', 'Failed'].includes(String(status?.phase)),
    );
    const expectedPods = pods.length;
    const currentHealthy = pods.filter(isHealthy).length;
    const { minAvailable, maxUnavailable } = budget.spec as Draft;
    const desiredHealthy =
      minAvailable === undefined
        ? Math.max(0, expectedPods - amountOf(maxUnavailable ?? 1, expectedPods))
        : amountOf(minAvailable, expectedPods);
    const disruptedPods = Object.fromEntries(
      Object.entries((budget.status?.disruptedPods ?? {}) as Draft).filter(([pod]) =>
        pods.some(({ metadata }) => metadata.name === pod && metadata.deletionTimestamp === undefined),
      ),
    );
    const disruptionsAllowed = Math.max(0, currentHealthy - desiredHealthy);
    const status = {
      currentHealthy,
      desiredHealthy,
      disruptionsAllowed,
      expectedPods,
      observedGeneration: generation,
      ...(Object.keys(disruptedPods).length > 0 && { disruptedPods }),
    };
    const target = { type: typeOf(KEY), namespace, name };
    objects.change(target, budget, { ...budget, status }, { user: LOOPBACK, subresource: 'status' });
  }
}

function isHealthy({ metadata, status }: AnyObject): boolean {
  const ready = ((status?.conditions ?? []) as Draft[]).find(({ type }) => type === 'Ready');
  return metadata.deletionTimestamp === undefined && ready?.status === 'True';
}

/** `2`, or `50%` of all, rounded up. */
function amountOf(value: unknown, all: number): number {
  const percent = /^(\d+)%$/.exec(String(value))?.[1];
  return percent === undefined ? Number(value) : Math.ceil((Number(percent) * all) / 100);
}
