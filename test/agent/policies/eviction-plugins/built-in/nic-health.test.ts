import { expect, test } from '@jest/globals';
import { DEFAULT_BUILT_IN_SETTINGS } from '../../../../../src/agent/policies/eviction-plugins/built-in/built-in-settings.ts';
import {
  NO_LINKS,
  unhealthyNics,
} from '../../../../../src/agent/policies/eviction-plugins/built-in/nic-health.ts';
import type { NetworkLink } from '../../../../../src/types/eviction-plugin.ts';
import { podNames, qosPod } from '../../../../support/qos-pod.ts';

const settings = DEFAULT_BUILT_IN_SETTINGS;
const chose = (name: string, nic: string, bandwidth = '10') =>
  qosPod(name, {
    annotations: { 'katalyst.kubewharf.io/nic_selection_result': nic },
    requests: { 'resource.katalyst.kubewharf.io/net_bandwidth': bandwidth },
  });
const pods = [chose('a', 'eth0'), chose('b', 'eth1'), chose('none', 'eth1', '0'), qosPod('web')];
const up = (name: string): NetworkLink => ({ name, isUp: true, carrier: true, operState: 'up' });
const off = (name: string): NetworkLink => ({ name, isUp: true, carrier: false, operState: 'down' });

/** What is found, five minutes after each other. */
function found(links: readonly (readonly NetworkLink[])[], of = pods) {
  let kept = NO_LINKS;
  return links.map((now, index) => {
    const candidates = unhealthyNics(now, { pods: of, settings, nowMs: 1e9 + index * 300_000 }, kept);
    kept = candidates.kept;
    return {
      pods: podNames(candidates.evictPods.map(({ pod }) => pod)),
      condition: candidates.condition?.name,
    };
  });
}
const both = [up('eth0'), up('eth1')];

test('after five minutes without link, pods that requested the interface are candidates, and the node gets a condition', () => {
  expect(found([both, [up('eth0'), off('eth1')], [up('eth0'), off('eth1')]])).toEqual([
    { pods: [], condition: undefined },
    { pods: [], condition: undefined },
    { pods: ['b'], condition: 'NICUnhealthy' },
  ]);
});

test.each<[string, readonly NetworkLink[], readonly string[]]>([
  ['an interface that is gone', [up('eth0')], ['b']],
  ['one that was switched off', [up('eth0'), { ...up('eth1'), isUp: false }], ['b']],
  ['one whose lower one has no link', [up('eth0'), { ...up('eth1'), operState: 'lowerlayerdown' }], ['b']],
  ['one whose driver does not tell', [up('eth0'), { name: 'eth1', isUp: true, operState: 'unknown' }], []],
  ['both', [off('eth0'), off('eth1')], ['a', 'b']],
])('%s', (_, links, names) => {
  expect(found([both, links, links]).at(-1)?.pods).toEqual(names);
});

test('the time starts again when the link comes back', () => {
  expect(found([both, [], both, []]).at(-1)).toEqual({ pods: [], condition: undefined });
});

test('a port that never had a link is no fault, unless a pod requested it', () => {
  expect(found([[off('eth1')], [off('eth1')]], [qosPod('web')]).at(-1)?.condition).toBeUndefined();
  expect(found([[off('eth1')], [off('eth1')]], [chose('b', 'eth1')]).at(-1)).toEqual({
    pods: ['b'],
    condition: 'NICUnhealthy',
  });
});

test('an interface that is gone counts only if a pod requested it: it may have been moved into a pod', () => {
  expect(found([both, [up('eth0')], [up('eth0')]], [qosPod('web')]).at(-1)?.condition).toBeUndefined();
  expect(found([both, [up('eth0')], [up('eth0')]]).at(-1)?.condition).toBe('NICUnhealthy');
});

test('an interface that the machine does not have is no fault either', () => {
  expect(found([[], []], [chose('a', 'none')]).at(-1)).toEqual({ pods: [], condition: undefined });
});

test('the reason names the interface, and how long it has had no link', () => {
  const kept = { seen: new Set(['eth0']), lostSinceMs: new Map([['eth0', 0]]) };
  const { evictPods, condition } = unhealthyNics(
    [],
    { pods: [chose('a', 'eth0')], settings, nowMs: 400_000 },
    kept,
  );
  expect(evictPods).toMatchObject([
    { reason: 'its network interface eth0 has had no link for 400 s', forceEvict: false },
  ]);
  expect(condition?.effects).toEqual(['PreferNoSchedule']);
});
