/** Which amounts of containers differ in a new version of a pod, for the kubelet's metric of requested resizes. */
import type { RequestedResize } from '../../../types/measurements.ts';
import type { Container, Pod } from '../../../types/kubernetes.ts';
import { compareQuantity, type Quantity } from '../formats/quantity.ts';
import { named } from '../formats/lookups.ts';
import { initAndRegular } from '../pod-actions/restart.ts';
import { amountIn } from '../pod/resources.ts';

export function requestedResizes(before: Pod, after: Pod): readonly RequestedResize[] {
  const former = initAndRegular(before);
  return initAndRegular(after).flatMap((container) => {
    const own = named(former, container.name);
    return own === undefined ? [] : changesOf(own, container);
  });
}

function changesOf(before: Container, after: Container): readonly RequestedResize[] {
  return (['memory', 'cpu'] as const).flatMap((resource) =>
    (['requests', 'limits'] as const).flatMap((requirement) => {
      const amount = ({ resources }: Container) => amountIn(resources?.[requirement], resource);
      const operation = operationOf(amount(before), amount(after));
      return operation === undefined ? [] : [{ resource, requirement, operation }];
    }),
  );
}

function operationOf(before: Quantity, after: Quantity): RequestedResize['operation'] | undefined {
  const change = compareQuantity(after, before);
  if (change === 0) return undefined;
  if (before.nanos === 0n) return 'add';
  if (after.nanos === 0n) return 'remove';
  return change > 0 ? 'increase' : 'decrease';
}
