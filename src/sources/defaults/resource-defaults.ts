/** What the API server fills in for requests and limits, and the form in which it keeps quantities. */
import { parseQuantity, quantityString, roundedToMilli } from '../../policies/formats/quantity.ts';
import { containerTotals, isPodLevelResource } from '../../policies/pod/resources.ts';
import type { Container, PodSpec } from '../../types/kubernetes.ts';

type Resources = NonNullable<Container['resources']>;
type Amounts = Readonly<Record<string, string>>;

/** As the kubelet prints it: `10m`, not `0.01`. Manifests may leave out the quotes. */
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

/** A resource that has only a limit requests as much. */
export function withContainerResources(resources: Resources): Resources {
  const { limits, requests } = resources;
  return {
    ...resources,
    ...(limits && { limits: canonicalAmounts(limits) }),
    ...((limits ?? requests) && { requests: canonicalAmounts({ ...limits, ...requests }) }),
  };
}

/**
 * A pod with limits of its own that does not say what it requests requests what its containers do together, and of what they
 * do not request as much as its limit. The containers have their defaults already.
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

/** They cannot be overcommitted: their request is always their limit. */
function isHugePages(name: string): boolean {
  return name.startsWith('hugepages-');
}
