/** A node full of pods of all QoS classes, and the resources that a critical pod lacks there. */
import type { MissingResource } from '../../src/agent/policies/admission/rejection.ts';
import { resourceRequest } from '../../src/agent/policies/pod/resources.ts';
import type { Container, Pod } from '../../src/types/kubernetes.ts';

export const CRITICAL_POD: Pod = {
  metadata: { name: 'critical', namespace: 'kube-system', uid: 'critical' },
  spec: { containers: [{ name: 'main' }], priority: 2_000_000_000 },
};

const MISSING = ['cpu', 'memory', 'ephemeral-storage'];

/** Of every ten pods three are BestEffort, five Burstable and two Guaranteed. Almost all requests differ. */
export function fullNode(count: number): readonly Pod[] {
  return Array.from({ length: count }, (_, index) => ({
    metadata: { name: `pod-${index}`, namespace: 'default', uid: `uid-${index}` },
    spec: { containers: [mainContainer(index), { name: 'helper' }], priority: index % 7 },
  }));
}

function mainContainer(index: number): Container {
  const cpu = `${50 + ((index * 37) % 997)}m`;
  const memory = `${32 + ((index * 101) % 2039)}Mi`;
  const storage = { 'ephemeral-storage': `${16 + ((index * 53) % 1021)}Mi` };
  const requests = { cpu, memory, ...storage };
  if (index % 10 < 3) return { name: 'main', resources: { requests: storage } };
  if (index % 10 < 8) return { name: 'main', resources: { requests } };
  return { name: 'main', resources: { requests, limits: { cpu, memory } } };
}

/** Three resources, each in the amount that `count` pods of the node request on average. */
export function missingFor(pods: readonly Pod[], victims: number): readonly MissingResource[] {
  return MISSING.map((resource) => {
    const all = pods.reduce((sum, pod) => sum + Number(resourceRequest(pod, resource)), 0);
    return { resource, amount: Math.round((all / pods.length) * victims) };
  });
}
