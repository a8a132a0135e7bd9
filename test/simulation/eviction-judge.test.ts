/** Who goes when memory gets short, and how: each mistake is reported, and nothing else is. */
import { describe, expect, test } from '@jest/globals';
import type { EvictionEvent } from '../../src/machines/eviction-machine.ts';
import {
  type Eviction,
  type EvictionEvaluation,
  INITIAL_EVICTION_STATE,
} from '../../src/policies/eviction-pass.ts';
import { evictionKill } from '../../src/policies/eviction-texts.ts';
import { CONFIG_MIRROR_ANNOTATION, CONFIG_SOURCE_ANNOTATION } from '../../src/policies/pod-kinds.ts';
import type { Pod } from '../../src/types/kubernetes.ts';
import { requestingPod, type RequestingPod } from '../support/admission.ts';
import { CLEANED_UP, type JudgedPod, killed, STOPPED } from './court.ts';
import { CRITICAL, RoomCourt } from './room-court.ts';

const MESSAGE = 'The node was low on resource: memory. ';
const DRAINED = { type: 'AT_REST' } as const;

/** A pod that requests so many bytes of memory. Its UID is its name. */
const pod = (name: string, memory = '50', more: RequestingPod = {}): Pod =>
  requestingPod(name, { requests: { memory }, ...more });

const evictionOf = (name: string, gracePeriodSeconds = 1): Eviction => ({
  ...{ pod: { name, namespace: 'default', uid: name }, signal: 'memory.available', message: MESSAGE },
  ...{ annotations: {}, gracePeriodSeconds, why: '' },
  kill: evictionKill(MESSAGE, gracePeriodSeconds, { isDisrupted: true }),
});

const EVALUATION: EvictionEvaluation = {
  ...{ state: INITIAL_EVICTION_STATE, conditions: [], observedConditions: [], overLimit: [] },
  shortage: undefined,
};

function ranked(eviction: Eviction): EvictionEvent {
  const ranking = { candidates: [], awaited: [], victim: undefined } as never;
  return { type: 'RANKED', choice: { ranking, eviction, why: '' } };
}

/** The judge of a node on which more than 100 bytes of memory are to be left, and more than 300 for most of the time. */
class EvictionCourt extends RoomCourt {
  left = 90;
  bytes: Record<string, number> = { a: 60 };

  hear(pass: string, ...events: EvictionEvent[]): void {
    for (const event of events) this.judge.evictions.hears(event, { pass, hasMemoryPressure: false });
  }

  measure(isWhole = false): void {
    const bytesOf = new Map(Object.entries(this.bytes));
    this.judge.evictions.measures()({ atMs: this.nowMs, availableBytes: this.left, bytesOf }, isWhole);
  }

  look(hasMemoryPressure = this.left < 300): void {
    this.hear('Observing', { type: 'OBSERVE' });
    this.measure();
    const event: EvictionEvent = { type: 'EVALUATED', evaluation: EVALUATION };
    this.hear('Evaluating', event);
    this.judge.evictions.shows(event, { pass: 'Observing', hasMemoryPressure });
  }

  choose(name: string, graceSeconds = 1): Eviction {
    const eviction = evictionOf(name, graceSeconds);
    this.hear('Ranking', ranked(eviction));
    return eviction;
  }

  evict(victim: JudgedPod, graceSeconds = 1): void {
    this.look();
    this.measure(true);
    const { kill } = this.choose(victim.snapshot.context.uid, graceSeconds);
    victim.send({ type: 'SyncPodKill', options: kill });
  }

  /** All that the victim has on the node goes. */
  end(victim: JudgedPod): void {
    victim.send(DRAINED, STOPPED);
    this.hear('Evicting', { type: 'POD_ENDED', uid: victim.snapshot.context.uid });
    victim.send(CLEANED_UP);
  }
}

test('evictions in good order violate nothing', async () => {
  const court = new EvictionCourt();
  const [first, second] = [court.admitted(pod('a')), court.admitted(pod('b'))];
  court.admitted(pod('c'));
  court.bytes = { a: 80, b: 60, c: 40 };
  court.evict(first);
  court.end(first);
  court.nowMs = 1000;
  delete court.bytes.a;
  court.evict(second);
  court.end(second);
  expect(await court.reported()).toEqual([]);
  expect(['a', 'b', 'c'].map((uid) => court.judge.hasReasonToEnd(uid))).toEqual([true, true, false]);
});

describe('nobody goes', () => {
  const safe: [string, RequestingPod][] = [
    ['critical', { priority: CRITICAL }],
    ['static', { annotations: { [CONFIG_SOURCE_ANNOTATION]: 'file' } }],
    ['a mirror', { annotations: { [CONFIG_MIRROR_ANNOTATION]: 'x' } }],
  ];
  test.each(safe)('who is %s', async (_, more) => {
    const court = new EvictionCourt();
    court.evict(court.admitted(pod('a', '50', more)));
    expect(await court.reported()).toEqual(['eviction a: is to go, and must never']);
  });

  test('who uses nothing', async () => {
    const court = new EvictionCourt();
    court.bytes = {};
    court.evict(court.admitted(pod('a')));
    expect(await court.reported()).toEqual(['eviction a: is to go, and uses nothing']);
  });

  test('while nothing is short', async () => {
    const court = new EvictionCourt();
    court.left = 300;
    court.evict(court.admitted(pod('a')));
    expect(await court.reported()).toEqual(['eviction a: is to go, and nothing is short']);
  });

  test('for a soft threshold before its grace period is over, or with another one of his own', async () => {
    const court = new EvictionCourt();
    court.left = 200;
    const victim = court.admitted(pod('a', '50', { terminationGracePeriodSeconds: 5 }));
    court.look();
    court.nowMs = 29_999;
    court.evict(victim, 5);
    expect(await court.reported()).toEqual([
      'eviction a: is to go before the grace period of the soft threshold is over',
    ]);
    const later = new EvictionCourt();
    later.left = 200;
    const other = later.admitted(pod('a', '50', { terminationGracePeriodSeconds: 5 }));
    later.look();
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
      'eviction a: is chosen by figures that are older than the choice',
    );
  });

  test('who ends already, or beside one that does', async () => {
    const court = new EvictionCourt();
    const [ending, other] = [court.admitted(pod('a')), court.admitted(pod('b'))];
    ending.send(killed(5));
    court.bytes = { a: 60, b: 60 };
    court.evict(ending);
    court.evict(other);
    expect(await court.reported()).toEqual([
      'eviction a: is to go, and is in Syncing.Draining',
      'eviction a: is evicted, and the next pass begins beside it',
      'eviction b: is to go while a is in Syncing.Draining',
    ]);
  });
});

describe('before anybody else goes', () => {
  const orders: [string, Pod, Pod, Record<string, number>][] = [
    ['who uses more than he requests', pod('a', '50', { priority: 9 }), pod('b'), { a: 60, b: 50 }],
    ['who is of lower priority', pod('a'), pod('b', '50', { priority: 9 }), { a: 60, b: 600 }],
    ['who is further above what he requests', pod('a', '50'), pod('b', '550'), { a: 160, b: 600 }],
  ];
  test.each(orders)('%s', async (_, first, second, bytes) => {
    const court = new EvictionCourt();
    court.admitted(first);
    court.bytes = bytes;
    court.evict(court.admitted(second));
    expect(await court.reported()).toEqual(['eviction b: is to go before a']);
  });
});

describe('who is chosen', () => {
  test('is told by a kill (I9)', async () => {
    const court = new EvictionCourt();
    court.admitted(pod('a'));
    court.look();
    court.measure(true);
    court.choose('a');
    expect(await court.reported()).toEqual(['I9 a: is to go, and is not told by SyncPodKill']);
  });

  test('is the one who is told (I9)', async () => {
    const court = new EvictionCourt();
    court.admitted(pod('a')).send({ type: 'SyncPodKill', options: evictionOf('a').kill });
    expect(await court.reported()).toEqual(['I9 a: is evicted, and was not chosen']);
  });

  test('counts as ended no sooner than it has, and is cleaned up after before anybody looks again', async () => {
    const court = new EvictionCourt();
    const victim = court.admitted(pod('a'));
    court.evict(victim);
    court.hear('Evicting', { type: 'POD_ENDED', uid: 'a' });
    expect(await court.reported()).toEqual(['eviction a: counts as ended in Syncing.Draining']);
    victim.send(DRAINED, STOPPED);
    court.look();
    expect(await court.reported()).toContain(
      'eviction a: is evicted, and the next pass begins in Terminated.CleaningUp',
    );
  });

  test('is not given up before its time, and not chosen again', async () => {
    const court = new EvictionCourt();
    const victim = court.admitted(pod('a'));
    court.evict(victim);
    court.nowMs = 9_999;
    court.hear('Evicting', { type: 'POD_FAILED', uid: 'a', problem: '' });
    court.evict(victim);
    expect(await court.reported()).toEqual([
      'eviction a: is given up before its time',
      'eviction a: is to go once more, though it has been given up',
    ]);
  });
});

describe('MemoryPressure', () => {
  test('is there as soon as memory is short, and for the transition period', async () => {
    const court = new EvictionCourt();
    court.look(true);
    court.left = 400;
    court.nowMs = 59_999;
    court.look(true);
    court.nowMs = 60_000;
    court.look(false);
    expect(await court.reported()).toEqual([]);
    court.look(true);
    court.left = 200;
    court.look(false);
    expect(await court.reported()).toEqual([
      'eviction : MemoryPressure is stuck',
      'eviction : there is no MemoryPressure, though memory is short',
    ]);
  });

  test('turns away those alone that request nothing, and while it holds', async () => {
    const court = new EvictionCourt();
    const reject = (rejected: Pod) => {
      const status = { phase: 'Failed', reason: 'Evicted' };
      court.waiting(rejected).send({ type: 'SyncPodUpdate', pod: { ...rejected, status } });
    };
    const what = 'is turned away because of a pressure that it does not bring about';
    reject(requestingPod('early'));
    court.look();
    reject(requestingPod('rightly'));
    reject(pod('requesting'));
    expect(await court.reported()).toEqual([`admission early: ${what}`, `admission requesting: ${what}`]);
  });
});

test('at rest no pass is under way, and the node is looked at', () => {
  const court = new EvictionCourt();
  court.look();
  expect(court.judge.evictions.unrest).toBeUndefined();
  court.nowMs = 30_001;
  expect(court.judge.evictions.unrest).toBe('nobody looks whether memory gets short');
  court.judge.evictions.shows({ type: 'OBSERVE' }, { pass: 'Evaluating', hasMemoryPressure: true });
  expect(court.judge.evictions.unrest).toBe('a pass of eviction is in Evaluating');
});
