/** Who goes for a limit of his own: each mistake of the agent is reported, and nothing else is. */
import { describe, expect, test } from '@jest/globals';
import { exceededLimits } from '../../../../src/simulation/judges/eviction/eviction-order.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import { requestingPod, type RequestingPod } from '../../../support/admission.ts';
import type { JudgedPod } from '../lifecycle-judge-bed.ts';
import { EvictionCourt, evictionOf, ONE_DISK, pod, rule } from './eviction-court.ts';
import { CRITICAL } from '../admission-judge-bed.ts';

const limited = (name: string, more: RequestingPod = {}): Pod =>
  requestingPod(name, { limits: { 'ephemeral-storage': '100' }, ...more });

describe('a limit', () => {
  const NOTHING = { bytes: 0, inodes: 0 };
  const use = (layer: number, logs: number, volume = 0) => ({
    atMs: 0,
    containers: [{ name: 'main', layer: { ...NOTHING, bytes: layer }, logs: { ...NOTHING, bytes: logs } }],
    volumes: new Map([['scratch', { ...NOTHING, bytes: volume }]]),
    whole: { ...NOTHING, bytes: layer + logs + volume },
  });
  const DEDICATED = { dedicatedImageFs: true, splitContainerFs: false };

  test('of a container holds what it has written, what it logs, and with the volumes the pod as a whole', () => {
    expect(exceededLimits(limited('a'), use(50, 50), ONE_DISK)).toEqual([]);
    expect(exceededLimits(limited('a'), use(50, 40, 11), ONE_DISK)).toEqual(['ephemeralpodfs.limit']);
    const both = ['ephemeralpodfs.limit', 'ephemeralcontainerfs.limit'];
    expect(exceededLimits(limited('a'), use(50, 51), ONE_DISK)).toEqual(both);
    expect(exceededLimits(pod('a'), use(50, 51), ONE_DISK)).toEqual([]);
  });

  test('of a container leaves its layer out where that lies with the images', () => {
    expect(exceededLimits(limited('a'), use(101, 0), DEDICATED)).toEqual(['ephemeralpodfs.limit']);
  });

  test('of a volume is its own', () => {
    const volumes = [{ name: 'scratch', emptyDir: { sizeLimit: '10' } }];
    expect(exceededLimits(requestingPod('a', { volumes }), use(0, 0, 11), ONE_DISK)).toEqual([
      'emptydirfs.limit',
    ]);
    expect(exceededLimits(requestingPod('a', { volumes }), use(99, 99, 10), ONE_DISK)).toEqual([]);
  });
});

const SIGNAL = 'ephemeralpodfs.limit';

/** Nothing is short here; `a` has more than it may. */
function court() {
  const all = new EvictionCourt([rule('nodefs.available')]);
  all.left = { 'nodefs.available': 900 };
  all.conditions = [];
  all.uses = { a: { layer: { bytes: 101 } } };
  return all;
}

function evicted(at: EvictionCourt, victim: JudgedPod, graceSeconds = 1, signal = SIGNAL): void {
  const eviction = evictionOf(victim.snapshot.context.uid, graceSeconds, signal);
  at.look({ pass: 'Evicting', overLimit: [eviction] });
  victim.send({ type: 'SyncPodKill', options: eviction.kill });
}

describe('for a limit', () => {
  test('who exceeds it goes, and that is in order', async () => {
    const at = court();
    const victim = at.admitted(limited('a'));
    evicted(at, victim);
    at.end(victim);
    expect(await at.reported()).toEqual([]);
    expect(at.judge.record('a')).toMatchObject({ evictedFor: SIGNAL });
  });

  test('a pod that exceeds no limit is not evicted, nor for another limit', async () => {
    const at = court();
    evicted(at, at.admitted(pod('a')));
    const other = court();
    evicted(other, other.admitted(limited('a')), 1, 'emptydirfs.limit');
    expect([...(await at.reported()), ...(await other.reported())]).toEqual([
      'eviction a: is evicted for ephemeralpodfs.limit, and does not exceed it',
      'eviction a: is evicted for emptydirfs.limit, and does not exceed it',
    ]);
  });

  test('a critical pod is not evicted, and no pod has more than a second to end', async () => {
    const at = court();
    evicted(at, at.admitted(limited('a', { priority: CRITICAL })), 30);
    expect(await at.reported()).toEqual([
      'eviction a: is evicted for a limit, and not at once',
      'eviction a: is evicted, and must never be',
    ]);
  });

  test('a pod that exceeds it is evicted in the first pass that begins after its start', async () => {
    const at = court();
    at.admitted(limited('a'));
    at.look({ pass: 'Observing' });
    expect(await at.reported()).toEqual(['eviction a: exceeds a limit of its storage, and is not evicted']);
  });

  test('no other pod is evicted in that pass, and limits come before shortages', async () => {
    const at = court();
    const [victim, other] = [at.admitted(limited('a')), at.admitted(pod('b'))];
    at.left = { 'nodefs.available': 90 };
    at.conditions = ['DiskPressure'];
    at.uses = { ...at.uses, b: { layer: { bytes: 500 } } };
    evicted(at, victim);
    for (const what of ['containers', 'images'] as const) at.evictions.reclaims(what)();
    at.measure(true);
    const { kill } = at.choose('b', 1, 'nodefs.available');
    other.send({ type: 'SyncPodKill', options: kill });
    expect(await at.reported()).toEqual([
      'eviction b: is evicted while a is in Syncing.Draining',
      'eviction b: is evicted in a pass in which others exceed their limits',
      'eviction b: is evicted after nothing was removed, and not containers,images',
    ]);
    const late = court();
    const eviction = evictionOf('a', 1, SIGNAL);
    const first = late.admitted(limited('a'));
    late.look({ pass: 'Ranking', overLimit: [eviction] });
    first.send({ type: 'SyncPodKill', options: eviction.kill });
    expect(await late.reported()).toEqual(['eviction : limits are exceeded, and the pass is in Ranking']);
  });
});
