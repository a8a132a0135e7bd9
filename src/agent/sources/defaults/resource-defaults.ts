/** The defaults of the API server for requests and limits, and the canonical form of quantities. */
import { parseQuantity, quantityString, roundedToMilli } from '../../policies/formats/quantity.ts';
import { containerTotals, isHugePages, isPodLevelResource } from '../../policies/pod/resources.ts';
import type { Container, PodSpec } from '../../../types/kubernetes.ts';

type Resources = NonNullable<Container['resources']>;
type Amounts = Readonly<Record<string, string>>;

/** As the kubelet prints it: `10m`, not `0.01`. A number is a quantity without quotes in the manifest. */
export function canonical(quantity: string | number): string {
  return quantityString(parseQuantity(quantity));
}

export function canonicalAmounts(amounts: Readonly<Record<string, string | number>>): Amounts {
  return Object.fromEntries(
    Object.entries(amounts).map(([name, amount]) => [
      name,
      quantityString(roundedToMilli(parseQuantity(amount))),
    ]),
  );
}

/** A resource with a limit and no request requests its limit. */
export function withContainerResources(resources: Resources): Resources {
  const { limits, requests } = resources;
  return {
    ...resources,
    ...(limits && { limits: canonicalAmounts(limits) }),
    ...((limits ?? requests) && { requests: canonicalAmounts({ ...limits, ...requests }) }),
  };
}

/**
 * For a pod with pod-level limits: a request that is not set is the sum of the requests of its containers, or the pod's limit
 * when the containers request nothing. The containers must have their defaults already.
 */
export function withPodResources(resources: Resources, spec: PodSpec): Resources {
  const isEmpty = Object.keys({ ...resources.limits, ...resources.requests }).length === 0;
  if (isEmpty) return resources;
  const limits = { ...totals(spec, 'limits', isHugePages), ...resources.limits };
  const hasLimits = Object.keys(limits).length > 0;
  const isOvercommittable = (name: string) => isPodLevelResource(name) && !isHugePages(name);
  const requests = {
    ...(hasLimits && { ...limits, ...totals(spec, 'requests', isOvercommittable) }),
    ...resources.requests,
  };
  return {
    ...resources,
    ...(hasLimits && { limits: canonicalAmounts(limits) }),
    requests: canonicalAmounts(requests),
  };
}

function totals(spec: PodSpec, field: 'requests' | 'limits', counts: (name: string) => boolean): Amounts {
  const quantities = [...containerTotals(spec, field)].filter(([name]) => counts(name));
  return Object.fromEntries(quantities.map(([name, quantity]) => [name, quantityString(quantity)]));
}

/** Huge pages cannot be overcommitted: the request is always the limit. */
