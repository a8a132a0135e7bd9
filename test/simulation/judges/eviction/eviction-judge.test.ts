/** Who goes when something gets short, and how: each mistake is reported, and nothing else is. */
import { describe, expect, test } from '@jest/globals';
import type { EvictionSignal } from '../../../../src/agent/policies/eviction/signals.ts';
import {
  CONFIG_MIRROR_ANNOTATION,
  CONFIG_SOURCE_ANNOTATION,
} from '../../../../src/agent/policies/pod/pod-kinds.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import { after } from '../../../support/child-events.ts';
import { requestingPod, type RequestingPod } from '../../../support/admission.ts';
import { killed, STOPPED } from '../lifecycle-judge-bed.ts';
import { DRAINED, EvictionCourt, evictionOf, pod, rule, type Uses } from './eviction-court.ts';
import { CRITICAL } from '../admission-judge-bed.ts';

const bytes = (amounts: Record<string, number>): Record<string, Uses> =>
  Object.fromEntries(Object.entries(amounts).map(([uid, memoryBytes]) => [uid, { memoryBytes }]));

test('evictions in good order violate nothing', async () => {
  const court = new EvictionCourt();
  const [first, second] = [court.admitted(pod('a')), court.admitted(pod('b'))];
  court.admitted(pod('c'));
  court.uses = bytes({ a: 80, b: 60, c: 40 });
  court.evict(first);
  court.end(first);
  court.nowMs = 1000;
  delete court.uses.a;
  court.evict(second);
  court.end(second);
  expect(await court.reported()).toEqual([]);
  expect(['a', 'b', 'c'].map((uid) => court.judge.hasReasonToEnd(uid))).toEqual([true, true, false]);
});

describe('a pod is not evicted', () => {
  const safe: [string, RequestingPod][] = [
    ['critical', { priority: CRITICAL }],
    ['static', { annotations: { [CONFIG_SOURCE_ANNOTATION]: 'file' } }],
    ['a mirror', { annotations: { [CONFIG_MIRROR_ANNOTATION]: 'x' } }],
  ];
  test.each(safe)('who is %s', async (_, more) => {
    const court = new EvictionCourt();
    court.evict(court.admitted(pod('a', '50', more)));
    expect(await court.reported()).toEqual(['eviction a: is evicted, and must never be']);
  });

  test('who uses nothing', async () => {
    const court = new EvictionCourt();
    court.uses = {};
    court.evict(court.admitted(pod('a')));
    expect(await court.reported()).toEqual(['eviction a: is evicted, and uses nothing']);
  });

  test('while nothing is short', async () => {
    const court = new EvictionCourt();
    court.left = { 'memory.available': 300 };
    court.conditions = [];
    court.evict(court.admitted(pod('a')));
    expect(await court.reported()).toEqual([
      'eviction : the pass is in Ranking, though nothing is short',
      'eviction a: is evicted for memory.available, of which enough is left',
    ]);
  });

  test('for a soft threshold before its grace period is over, or with another one of his own', async () => {
    const court = new EvictionCourt();
    court.left = { 'memory.available': 200 };
    const victim = court.admitted(pod('a', '50', { terminationGracePeriodSeconds: 5 }));
    court.look({ pass: 'Observing' });
    court.nowMs = 29_999;
    court.evict(victim, 5);
    expect(await court.reported()).toEqual([
      'eviction : the pass is in Ranking, though nothing is short',
      'eviction a: is evicted before the grace period of the soft threshold is over',
    ]);
    const later = new EvictionCourt();
    later.left = { 'memory.available': 200 };
    const other = later.admitted(pod('a', '50', { terminationGracePeriodSeconds: 5 }));
    later.look({ pass: 'Observing' });
    later.nowMs = 30_000;
    later.evict(other, 10);
    expect(await later.reported()).toEqual(['eviction a: is given 10 s to end, not 5 s']);
  });

  test('by figures that are older than the choice', async () => {
    const court = new EvictionCourt();
    court.admitted(pod('a'));
    court.measure(true);
    court.look();
    court.choose('a');
    expect(await court.reported()).toContain(
      'eviction a: is evicted by figures that are older than the choice',
    );
  });

  test('who ends already, or beside one that does', async () => {
    const court = new EvictionCourt();
    const [ending, other] = [court.admitted(pod('a')), court.admitted(pod('b'))];
    ending.send(killed(5));
    court.uses = bytes({ a: 60, b: 60 });
    court.evict(ending);
    court.evict(other);
    expect(await court.reported()).toEqual([
      'eviction a: is evicted, and is in Syncing.Draining',
      'eviction a: is evicted, and the next pass begins beside it',
      'eviction b: is evicted while a is in Syncing.Draining',
    ]);
  });
});

describe('before anybody else goes', () => {
  const orders: [string, Pod, Pod, Record<string, number>][] = [
    ['who uses more than he requests', pod('a', '50', { priority: 9 }), pod('b'), { a: 60, b: 50 }],
    ['who is of lower priority', pod('a'), pod('b', '50', { priority: 9 }), { a: 60, b: 600 }],
    ['who is further above what he requests', pod('a', '50'), pod('b', '550'), { a: 160, b: 600 }],
  ];
  test.each(orders)('%s', async (_, first, second, amounts) => {
    const court = new EvictionCourt();
    court.admitted(first);
    court.uses = bytes(amounts);
    court.evict(court.admitted(second));
    expect(await court.reported()).toEqual(['eviction b: is evicted before a']);
  });
});

describe('the chosen pod', () => {
  test('gets a kill (I9)', async () => {
    const court = new EvictionCourt();
    court.admitted(pod('a'));
    court.look();
    court.measure(true);
    court.choose('a');
    expect(await court.reported()).toEqual(['I9 a: is evicted, and is not told by SyncPodKill']);
  });

  test('is the one that gets the kill (I9)', async () => {
    const court = new EvictionCourt();
    court.admitted(pod('a')).send({ type: 'SyncPodKill', options: evictionOf('a').kill });
    expect(await court.reported()).toEqual(['I9 a: is evicted, and was not chosen']);
  });

  test('counts as ended no sooner than it has, and is cleaned up after before anybody looks again', async () => {
    const court = new EvictionCourt();
    const victim = court.admitted(pod('a'));
    court.evict(victim);
    court.hear({ type: 'POD_ENDED', uid: 'a' });
    expect(await court.reported()).toEqual(['eviction a: counts as ended in Syncing.Draining']);
    victim.send(DRAINED, STOPPED);
    court.look();
    expect(await court.reported()).toContain(
      'eviction a: is evicted, and the next pass begins in Terminated.CleaningUp',
    );
  });

  test('is awaited for its whole time, and not chosen again', async () => {
    const court = new EvictionCourt();
    const victim = court.admitted(pod('a'));
    court.evict(victim);
    court.nowMs = 9_999;
    court.hear({ type: 'POD_FAILED', uid: 'a', problem: '' });
    court.evict(victim);
    expect(await court.reported()).toEqual([
      'eviction a: is given up before its time',
      'eviction a: is evicted again, though it has been given up',
    ]);
  });
});

/** Memory is never short on these nodes. */
const DISK = [rule('nodefs.available'), rule('nodefs.inodesFree')];
const PIDS = [rule('pid.available')];

describe('before anybody else goes', () => {
  const storing = (name: string, request: string, more: RequestingPod = {}): Pod =>
    requestingPod(name, { requests: { 'ephemeral-storage': request }, ...more });
  const orders: [string, EvictionSignal, Pod, Pod, Record<string, Uses>][] = [
    [
      'who has more on the disk than he requests',
      'nodefs.available',
      storing('a', '50', { priority: 9 }),
      storing('b', '900'),
      {
        a: { layer: { bytes: 20 }, logs: { bytes: 20 }, volume: { bytes: 20 } },
        b: { layer: { bytes: 800 } },
      },
    ],
    [
      'who has more files, less the bytes that he requests',
      'nodefs.inodesFree',
      storing('a', '5'),
      storing('b', '50'),
      { a: { volume: { inodes: 20 } }, b: { volume: { inodes: 30 } } },
    ],
    [
      'who is of lower priority, however many processes he has',
      'pid.available',
      pod('a'),
      pod('b', '50', { priority: 9 }),
      { a: { processes: 2 }, b: { processes: 9 } },
    ],
    [
      'who has more processes',
      'pid.available',
      pod('a'),
      pod('b'),
      { a: { processes: 9 }, b: { processes: 8 } },
    ],
  ];
  test.each(orders)('%s (%s)', async (_, signal, first, second, uses) => {
    const isPids = signal === 'pid.available';
    const court = new EvictionCourt(isPids ? PIDS : DISK);
    court.left = { [signal]: 90 };
    court.conditions = [isPids ? 'PIDPressure' : 'DiskPressure'];
    court.uses = uses;
    court.admitted(first);
    court.evictAfter(isPids ? [] : ['containers', 'images'], court.admitted(second), signal);
    expect(await court.reported()).toEqual(['eviction b: is evicted before a']);
  });

  const layouts: [string, boolean, EvictionSignal, Uses, Uses][] = [
    ['logs and volumes', false, 'nodefs.available', { logs: { bytes: 5 } }, { layer: { bytes: 9 } }],
    ['writable layers', false, 'imagefs.available', { layer: { bytes: 5 } }, { volume: { bytes: 9 } }],
    ['writable layers', true, 'nodefs.available', { layer: { bytes: 5 } }, { logs: { bytes: 4 } }],
  ];
  test.each(layouts)('of the disk that is short %s count (split: %s, %s)', async (_, split, signal, a, b) => {
    const court = new EvictionCourt([rule(signal)], { dedicatedImageFs: true, splitContainerFs: split });
    court.left = { [signal]: 90 };
    court.conditions = ['DiskPressure'];
    court.uses = { a, b };
    court.admitted(pod('a'));
    const removed = signal.startsWith('imagefs')
      ? (['containers', 'images'] as const)
      : split
        ? (['containers'] as const)
        : [];
    court.evictAfter(removed, court.admitted(pod('b')), signal);
    expect(await court.reported()).toEqual(['eviction b: is evicted before a']);
  });
});

describe('of several shortages', () => {
  test('that of memory comes first', async () => {
    const court = new EvictionCourt([rule('memory.available'), ...PIDS]);
    court.left = { 'memory.available': 90, 'pid.available': 90 };
    court.conditions = ['MemoryPressure', 'PIDPressure'];
    court.evict(court.admitted(pod('a')), 1, 'pid.available');
    expect(await court.reported()).toEqual([
      'eviction a: is evicted for pid.available, though memory.available is short',
    ]);
  });

  test('a hard one comes before a soft one', async () => {
    const soft = rule('pid.available', { gracePeriodMs: 1 });
    const court = new EvictionCourt([rule('nodefs.available'), soft]);
    court.left = { 'nodefs.available': 90, 'pid.available': 90 };
    court.conditions = ['DiskPressure', 'PIDPressure'];
    const victim = court.admitted(pod('a'));
    court.look();
    court.nowMs = 1;
    court.evict(victim, 10, 'pid.available');
    expect(await court.reported()).toEqual([
      'eviction a: is evicted for the soft threshold of pid.available, though nodefs.available is shorter',
    ]);
  });

  test('each is over only when the minimum reclaim is available as well', async () => {
    const court = new EvictionCourt([rule('memory.available', { minReclaim: 50 })]);
    const [first, second] = [court.admitted(pod('a')), court.admitted(pod('b'))];
    court.uses = bytes({ a: 90, b: 60 });
    court.evict(first);
    court.end(first);
    delete court.uses.a;
    court.left = { 'memory.available': 140 };
    court.evict(second);
    court.end(second);
    expect(await court.reported()).toEqual([]);
    delete court.uses.b;
    court.look({ pass: 'Observing' });
    expect(await court.reported()).toEqual(['eviction : nothing is done, though memory.available is short']);
  });

  test('a signal that was not measured keeps its value, and no pod is evicted for it', async () => {
    const court = new EvictionCourt([rule('memory.available'), rule('nodefs.available')]);
    court.left = { 'memory.available': 500, 'nodefs.available': 90 };
    court.conditions = ['DiskPressure'];
    court.look({ pass: 'ReclaimingNode' });
    court.left = { 'memory.available': 500 };
    court.nowMs = 61_000;
    court.look({ pass: 'Observing' });
    expect(await court.reported()).toEqual([]);
  });

  test('a pass that evicts no pod any more has measured that the shortage is over', async () => {
    const court = new EvictionCourt();
    court.look();
    court.measure(true);
    court.hear({ type: 'RELIEVED' });
    court.left = { 'memory.available': 100 };
    court.look({ pass: 'Observing' });
    court.left = { 'memory.available': 90 };
    court.look();
    court.left = { 'memory.available': 100 };
    court.measure(true);
    court.hear({ type: 'RELIEVED' });
    expect(await court.reported()).toEqual([
      'eviction : no pod is evicted, though the shortage is as before',
    ]);
  });

  test('what pods have on disk is known from no more than a second before', async () => {
    const court = new EvictionCourt(DISK);
    court.left = { 'nodefs.available': 90 };
    court.conditions = ['DiskPressure'];
    court.nowMs = 5_000;
    court.uses = { a: { layer: { bytes: 9 }, storageAtMs: 3_999 } };
    court.evictAfter(['containers', 'images'], court.admitted(pod('a')), 'nodefs.available');
    expect(await court.reported()).toEqual([
      'eviction a: is evicted by what pods had on disk some time before',
    ]);
  });
});

test('at rest no pass is under way, the node is measured, and no pod exceeds a limit', () => {
  const court = new EvictionCourt();
  court.look();
  court.conditions = [];
  const show = (pass: string) =>
    court.evictions.shows(after('period', 'eviction.Schedule.Everything.Waiting'), {
      pass,
      isMeasuringMemory: false,
      conditions: [],
    });
  show('Observing');
  expect(court.evictions.unrest).toBeUndefined();
  const volumes = [{ name: 'scratch', emptyDir: { sizeLimit: '100' } }];
  court.admitted(requestingPod('a', { volumes }));
  court.uses = { a: { volume: { bytes: 101 } } };
  expect(court.evictions.unrest).toBe('a exceeds a limit of its storage, and is not evicted');
  court.nowMs = 30_001;
  expect(court.evictions.unrest).toBe('the node has not been measured for too long');
  show('Evaluating');
  expect(court.evictions.unrest).toBe('a pass of eviction is in Evaluating');
});

describe('a pass that begins with the event that ends the one before', () => {
  const evaluated = { type: 'EVALUATED', evaluation: { overLimit: [] } } as never;
  const next = (isMeasuringMemory: boolean) => ({
    pass: 'Evaluating',
    isMeasuringMemory,
    conditions: ['DiskPressure'] as const,
  });

  function measured(signal: EvictionSignal): EvictionCourt {
    const court = new EvictionCourt([rule(signal)]);
    court.left = { [signal]: 90 };
    court.evictions.shows(after('period', 'eviction.Schedule.Everything.Waiting'), next(false));
    court.measure(true);
    court.hear(evaluated);
    return court;
  }

  test('may leave a disk that is short for later, in order to measure memory', async () => {
    const court = measured('nodefs.available');
    court.evictions.shows(evaluated, next(true));
    expect(await court.reported()).toEqual([]);
  });

  test('must not leave it for later otherwise', async () => {
    const court = measured('nodefs.available');
    court.evictions.shows(evaluated, next(false));
    expect(await court.reported()).toEqual(['eviction : nothing is done, though nodefs.available is short']);
  });

  test('must not leave memory that is short for later', async () => {
    const court = measured('memory.available');
    court.evictions.shows(evaluated, { ...next(true), conditions: ['MemoryPressure'] });
    expect(await court.reported()).toEqual(['eviction : nothing is done, though memory.available is short']);
  });

  test('is a pass of its own: figures of the one before are too old for it', async () => {
    const court = measured('nodefs.available');
    court.evictions.shows(evaluated, next(true));
    court.hear(evaluated);
    expect(await court.reported()).toEqual(['eviction : a pass uses figures that are older than the pass']);
  });
});
