import { expect, test } from '@jest/globals';
import { podQOS } from '../../../src/agent/policies/pod/qos.ts';
import { withRequests } from '../../../src/simulation/plan/pod-requests.ts';
import { seededRandom } from '../../../src/simulation/plan/seeded-random.ts';
import type { PodSpec } from '../../../src/types/kubernetes.ts';
import { container } from '../../support/simulated-agent.ts';

const PODS = 1_000;

/** Specs drawn one after the other. */
function drawn(spec: PodSpec): readonly PodSpec[] {
  const random = seededRandom(1);
  return Array.from({ length: PODS }, () => withRequests(spec, random));
}

const share = (specs: readonly PodSpec[], holds: (spec: PodSpec) => boolean) =>
  specs.filter(holds).length / PODS;

test('pods of every QoS class are drawn: a third BestEffort, a sixth Guaranteed', () => {
  const specs = drawn({ containers: [container('main')] });
  const classOf = (spec: PodSpec) =>
    podQOS({ metadata: { name: 'web', namespace: 'default', uid: 'web' }, spec });
  expect(share(specs, (spec) => classOf(spec) === 'BestEffort')).toBeCloseTo(1 / 3, 1);
  expect(share(specs, (spec) => classOf(spec) === 'Guaranteed')).toBeCloseTo(1 / 6, 1);
  expect(share(specs, (spec) => classOf(spec) === 'Burstable')).toBeCloseTo(1 / 2, 1);
});

test('a quarter of the pods is critical, and some have a host port or an unknown node selector', () => {
  const specs = drawn({ containers: [container('main')] });
  expect(share(specs, ({ priority = 0 }) => priority >= 2_000_000_000)).toBeCloseTo(1 / 4, 1);
  expect(share(specs, ({ containers }) => containers[0]?.ports !== undefined)).toBeCloseTo(1 / 10, 1);
  expect(share(specs, ({ nodeSelector }) => nodeSelector !== undefined)).toBeGreaterThan(0);
});

test('only the first container requests something, and the rest of the spec stays', () => {
  const spec: PodSpec = { containers: [container('main'), container('second')], hostNetwork: true };
  for (const { containers, hostNetwork } of drawn(spec).slice(0, 20)) {
    expect(containers[1]).toEqual(container('second'));
    expect(containers[0]).toMatchObject(container('main'));
    expect(hostNetwork).toBe(true);
  }
});
