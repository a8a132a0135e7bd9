import { describe, expect, test } from '@jest/globals';
import { endsForGood, goesOnForever, podSpec } from '../../../src/simulation/plan/pod-specs.ts';
import { seededRandom } from '../../../src/simulation/plan/seeded-random.ts';
import type { Pod, PodSpec } from '../../../src/types/kubernetes.ts';
import { container } from '../../support/simulated-agent.ts';

const podOf = (spec: PodSpec): Pod => ({ metadata: { name: 'web', namespace: 'default', uid: 'web' }, spec });
const RUN = container('main');
const EXIT = container('main', 'run exit-after=5s');
const FAIL = container('main', 'run exit-after=5s code=1');

test('a drawn spec has the defaults of the API server', () => {
  const random = seededRandom(1);
  for (let drawn = 0; drawn < 100; drawn++) {
    const { restartPolicy, terminationGracePeriodSeconds, containers } = podSpec(random);
    expect(['Always', 'OnFailure', 'Never']).toContain(restartPolicy);
    expect(terminationGracePeriodSeconds).toBeGreaterThan(0);
    expect(containers.length).toBeGreaterThan(0);
  }
});

describe('a pod goes on forever', () => {
  test.each<[string, PodSpec]>([
    ['if its containers run', { containers: [RUN, RUN] }],
    ['if its init containers succeed', { containers: [RUN], initContainers: [container('init', 'succeed')] }],
    [
      'with a postStart hook that succeeds',
      { containers: [{ ...RUN, lifecycle: { postStart: { exec: { command: ['succeed', 'takes=3s'] } } } }] },
    ],
    ['beside a sidecar', { containers: [RUN], initContainers: [{ ...RUN, restartPolicy: 'Always' }] }],
  ])('%s', (_, spec) => {
    expect(goesOnForever(podOf(spec))).toBe(true);
  });

  test.each<[string, PodSpec]>([
    ['with a deadline', { containers: [RUN], activeDeadlineSeconds: 5 }],
    ['if a container ends by itself', { containers: [RUN, EXIT] }],
    ['if an init container fails', { containers: [RUN], initContainers: [container('init', 'fail')] }],
    ['if an image cannot be pulled', { containers: [{ ...RUN, image: 'registry.example/missing:1' }] }],
    ['with a liveness probe', { containers: [{ ...RUN, livenessProbe: { exec: { command: ['fail'] } } }] }],
    [
      'with a postStart hook that fails',
      { containers: [{ ...RUN, lifecycle: { postStart: { exec: { command: ['fail'] } } } }] },
    ],
  ])('but not %s', (_, spec) => {
    expect(goesOnForever(podOf(spec))).toBe(false);
  });
});

describe('a pod always runs to its end', () => {
  test.each<[string, PodSpec]>([
    ['with a deadline', { containers: [RUN], activeDeadlineSeconds: 5 }],
    [
      'if all its containers end, and are never restarted',
      { containers: [EXIT, FAIL], restartPolicy: 'Never' },
    ],
    ['if all its containers succeed, with OnFailure', { containers: [EXIT], restartPolicy: 'OnFailure' }],
    [
      'if an init container fails, with Never',
      { containers: [RUN], initContainers: [container('init', 'fail')], restartPolicy: 'Never' },
    ],
  ])('%s', (_, spec) => {
    expect(endsForGood(podOf(spec))).toBe(true);
  });

  test.each<[string, PodSpec]>([
    ['with Always', { containers: [EXIT], restartPolicy: 'Always' }],
    ['if a container goes on, with Never', { containers: [EXIT, RUN], restartPolicy: 'Never' }],
    ['if a container fails, with OnFailure', { containers: [FAIL], restartPolicy: 'OnFailure' }],
  ])('but not %s', (_, spec) => {
    expect(endsForGood(podOf(spec))).toBe(false);
  });
});
