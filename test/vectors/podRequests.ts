import { formatQuantity, milliValue, quantityValue } from '../../src/agent/policies/formats/quantity.ts';
import {
  podLimits,
  podRequests,
  type ResourceQuantities,
  resourceRequest,
} from '../../src/agent/policies/pod/resources.ts';
import type { Pod } from '../../src/types/kubernetes.ts';
import type { VectorAdapter } from '../support/vectors.ts';

const COUNTED_RESOURCES = ['cpu', 'memory', 'ephemeral-storage', 'pods'];

function asJson(quantities: ResourceQuantities): unknown {
  return Object.fromEntries(
    [...quantities].map(([name, quantity]) => [
      name,
      {
        canonical: formatQuantity(quantity),
        value: quantityValue(quantity).toString(),
        milliValue: milliValue(quantity).toString(),
      },
    ]),
  );
}

export const adapter: VectorAdapter = {
  adapt({ pod }: { readonly pod: Pod }) {
    return {
      requests: asJson(podRequests(pod)),
      limits: asJson(podLimits(pod)),
      requestsNoOverhead: asJson(podRequests(pod, { excludeOverhead: true })),
      limitsNoOverhead: asJson(podLimits(pod, { excludeOverhead: true })),
      resourceRequest: Object.fromEntries(
        COUNTED_RESOURCES.map((name) => [name, resourceRequest(pod, name).toString()]),
      ),
    };
  },
};
