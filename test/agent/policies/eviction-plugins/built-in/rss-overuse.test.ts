import { expect, test } from '@jest/globals';
import { DEFAULT_BUILT_IN_SETTINGS } from '../../../../../src/agent/policies/eviction-plugins/built-in/built-in-settings.ts';
import {
  rssAllowances,
  rssOveruse,
} from '../../../../../src/agent/policies/eviction-plugins/built-in/rss-overuse.ts';
import type { Pod } from '../../../../../src/types/kubernetes.ts';
import { podNames, qosPod } from '../../../../support/qos-pod.ts';

const MIB = 2 ** 20;
const off = DEFAULT_BUILT_IN_SETTINGS.rssOveruse;
const on = { ...off, allPods: true };
const requests = { memory: '100Mi' };
const factor = (value: unknown) => ({
  'katalyst.kubewharf.io/memory_enhancement': JSON.stringify({ rss_overuse_threshold: value }),
});
const overuse = (pod: Pod, settings = on, mebibytes = 106) =>
  rssOveruse(rssAllowances([pod], settings), () => mebibytes * MIB);

test('a pod with more than 1.05 times its request is a candidate', () => {
  const web = qosPod('web', { requests });
  expect(overuse(web, on, 105)).toEqual([]);
  expect(overuse(web)).toEqual([
    {
      pod: web,
      reason: 'its resident memory of 106Mi is more than 1.05 times its request of 100Mi',
      forceEvict: false,
    },
  ]);
});

test.each<[string, Pod, typeof on, boolean]>([
  ['only pods that name a factor are looked at', qosPod('a', { requests }), off, false],
  ['one that names a factor', qosPod('a', { requests, annotations: factor('1.06') }), off, false],
  ['one that names a smaller factor', qosPod('a', { requests, annotations: factor('1.05') }), off, true],
  [
    'its own factor counts before that of all',
    qosPod('a', { requests, annotations: factor('2') }),
    on,
    false,
  ],
  ['a factor of zero', qosPod('a', { requests, annotations: factor('0') }), on, false],
  ['a negative factor', qosPod('a', { requests, annotations: factor('-1') }), on, false],
  ['a factor that is none', qosPod('a', { requests, annotations: factor('much') }), on, false],
  ['a factor that is no text', qosPod('a', { requests, annotations: factor(0.5) }), on, false],
  [
    'an annotation that is no object',
    qosPod('a', { requests, annotations: { 'katalyst.kubewharf.io/memory_enhancement': '{' } }),
    on,
    false,
  ],
  [
    'an annotation about something else',
    qosPod('a', {
      requests,
      annotations: { 'katalyst.kubewharf.io/memory_enhancement': '{"numa_binding":"true"}' },
    }),
    on,
    true,
  ],
  ['a pod without a request', qosPod('a'), on, false],
  ['a pod that requests nothing', qosPod('a', { requests: { memory: '0' } }), on, false],
  ['a reclaimed pod', qosPod('a', { requests, level: 'reclaimed_cores' }), on, true],
  ['a pod with processors of its own', qosPod('a', { requests, level: 'dedicated_cores' }), on, false],
  ['a pod of the system', qosPod('a', { requests, level: 'system_cores' }), on, false],
  ['a critical pod', qosPod('a', { requests, priority: 2_000_000_000 }), on, false],
  ['a pod without the label', qosPod('a', { requests }), { ...on, labels: { rss: 'yes' } }, false],
  [
    'a pod with the label',
    qosPod('a', { requests, labels: { rss: 'yes' } }),
    { ...on, labels: { rss: 'yes' } },
    true,
  ],
])('%s', (_, pod, settings, isCandidate) => {
  expect(overuse(pod, settings).length === 1).toBe(isCandidate);
});

test('a pod of which one container has no request is left alone; otherwise requests are added', () => {
  const web = qosPod('web', { requests });
  const main = { name: 'main', resources: { requests } };
  const both = (second: object): Pod => ({
    ...web,
    spec: { containers: [main, { name: 'side', ...second }] },
  });
  expect(overuse(both({}), on, 1000)).toEqual([]);
  expect(overuse(both({ resources: { requests } }), on, 210)).toEqual([]);
  expect(overuse(both({ resources: { requests } }), on, 211)).toHaveLength(1);
});

test('a pod without measurements stays', () => {
  const pods = [qosPod('new', { requests }), qosPod('old', { requests })];
  const rss = ({ metadata: { name } }: Pod) => (name === 'old' ? 200 * MIB : undefined);
  expect(podNames(rssOveruse(rssAllowances(pods, on), rss).map(({ pod }) => pod))).toEqual(['old']);
});
