/** A pod may have thousands of containers, volumes and resources: what is computed for it must not multiply them. */
import { expect, test } from '@jest/globals';
import { containerAnnotations, RESOURCES_ANNOTATION } from '../../../../src/agent/policies/cri/cri-labels.ts';
import { oomScoreAdj } from '../../../../src/agent/policies/cri/linux-resources.ts';
import { exceededStorageLimit } from '../../../../src/agent/policies/eviction/pod-usage.ts';
import { podLimits, podRequests } from '../../../../src/agent/policies/pod/resources.ts';
import { forbiddenTransition } from '../../../../src/agent/policies/cluster/status-versions.ts';
import { terminationPrerequisites } from '../../../../src/agent/policies/termination/pod-termination.ts';
import { whyPod } from '../../../../src/agent/policies/why/why-pod.ts';
import type { Container, ContainerStatus, Pod } from '../../../../src/types/kubernetes.ts';
import { type CountedReads, growth } from '../../../support/counted-work.ts';

const LINEAR = 15;
const metadata = { name: 'hostile', namespace: 'default', uid: 'u' };
const named = <T extends object>(count: number, more: (index: number) => T) =>
  Array.from({ length: count }, (_, index) => ({ name: `c${index}`, ...more(index) }));

const podOf = (containers: readonly Container[], spec: Partial<Pod['spec']> = {}): Pod => ({
  metadata,
  spec: { restartPolicy: 'Never', ...spec, containers: [...containers] },
});
const running = (): Partial<ContainerStatus> => ({ ready: true, started: true, state: { running: {} } });
const ended = (): Partial<ContainerStatus> => ({ state: { terminated: { exitCode: 0 } } });
const statuses = (count: number, reads: CountedReads, more: () => Partial<ContainerStatus>) =>
  reads.of(named(count, () => ({ image: '', imageID: '', ready: false, restartCount: 0, ...more() })));

test('whether a status may follow on another one', () => {
  const work = (count: number, reads: CountedReads) => {
    const pod = podOf(reads.of(named(count, () => ({}))));
    const former = { containerStatuses: [...statuses(count, reads, ended)] };
    const status = { containerStatuses: [...statuses(count, reads, ended)] };
    expect(forbiddenTransition(pod, former, status)).toBeUndefined();
  };
  expect(growth(work)).toBeLessThan(LINEAR);
});

test('why a pod is as it is', () => {
  const work = (count: number, reads: CountedReads) => {
    const pod = podOf(reads.of(named(count, () => ({}))));
    const status = { phase: 'Running', containerStatuses: [...statuses(count, reads, running)] };
    const facts = { pod, status, state: 'Syncing.Settled', events: [], nextTryMs: undefined, nowMs: 0 };
    expect(whyPod(facts as never).sentences.join(' ')).toContain(`${count} of ${count} containers run`);
  };
  expect(growth(work)).toBeLessThan(LINEAR);
});

test('which containers end before which', () => {
  const work = (count: number, reads: CountedReads) => {
    const sidecars = reads.of(
      named(count, (index) => ({ name: `s${index}`, restartPolicy: 'Always' as const })),
    );
    const containers = reads.of(named(count, () => ({})));
    const names = [...sidecars, ...containers].map(({ name }) => name);
    const pod = podOf(containers, { initContainers: [...sidecars] });
    const { regular, nextOf } = terminationPrerequisites(pod, new Set(names));
    expect([regular.length, nextOf.size]).toEqual([count, count]);
  };
  expect(growth(work)).toBeLessThan(LINEAR);
});

test.each([
  ['requests', podRequests],
  ['limits', podLimits],
])('the %s of containers, each of which names a resource of its own', (field, amounts) => {
  const work = (count: number, reads: CountedReads) => {
    const containers = reads.of(
      named(count, (index) => ({ resources: { [field]: { [`example.com/r${index}`]: '1' } } })),
    );
    expect(amounts(podOf(containers)).size).toBe(count);
  };
  expect(growth(work)).toBeLessThan(LINEAR);
});

test('which of its limits of storage a pod exceeds', () => {
  const work = (count: number, reads: CountedReads) => {
    const containers = reads.of(
      named(count, () => ({ resources: { limits: { 'ephemeral-storage': '1Gi' } } })),
    );
    const volumes = reads.of(named(count, () => ({ emptyDir: { sizeLimit: '1Gi' } })));
    const stats = {
      podRef: metadata,
      containers: [...reads.of(named(count, () => ({})))],
      volume: [...reads.of(named(count, () => ({ usedBytes: 1 })))],
    };
    const pod = podOf(containers, { volumes: [...volumes] });
    expect(exceededStorageLimit(pod, stats, { dedicatedImageFs: false })).toBeUndefined();
  };
  expect(growth(work)).toBeLessThan(LINEAR);
});

test('what the runtime is told of each container', () => {
  const work = (count: number, reads: CountedReads) => {
    const containers = reads.of(named(count, () => ({ resources: { requests: { memory: '1Mi' } } })));
    const pod = podOf(containers);
    for (const container of pod.spec.containers) {
      expect(containerAnnotations(pod, container, 0)).toHaveProperty([RESOURCES_ANNOTATION]);
      expect(oomScoreAdj(pod, container, 2 ** 40)).toBe(999);
    }
  };
  expect(growth(work)).toBeLessThan(LINEAR);
});
