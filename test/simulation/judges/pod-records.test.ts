import { describe, expect, test } from '@jest/globals';
import { CONFIG_SOURCE_ANNOTATION } from '../../../src/agent/policies/pod/pod-kinds.ts';
import {
  isNeverEvicted,
  patienceMs,
  type PodRecord,
  PodRecords,
} from '../../../src/simulation/judges/pod-records.ts';
import type { Pod } from '../../../src/types/kubernetes.ts';
import { critical, pod } from './admission-judge-bed.ts';
import { JudgedPod, killed, STOPPED } from './lifecycle-judge-bed.ts';

/** Records of pods whose events the test sends. */
function bed({ found = [], running = [] }: { found?: string[]; running?: string[] } = {}) {
  const clock = { ms: 0 };
  const records = new PodRecords({
    now: () => clock.ms,
    isRunning: (uid) => running.includes(uid),
    found,
  });
  const judged = (of: Pod) => {
    const onSnapshot = (actor: object, snapshot: JudgedPod['snapshot']) => {
      records.update(actor, snapshot);
      return false;
    };
    return new JudgedPod({ onSnapshot, effectBegins: () => () => undefined }, of).send({
      type: 'SyncPodCreate',
      pod: of,
    });
  };
  const uids = (all: readonly PodRecord[]) => all.map(({ uid }) => uid);
  return { clock, records, judged, uids };
}

describe('holders of resources', () => {
  test('an admitted pod holds resources until it is Terminated', async () => {
    const { records, judged, uids } = bed();
    const one = judged(pod('a'));
    expect(uids(records.holders())).toEqual([]);
    records.get('a')!.isAdmitted = true;
    expect(uids(records.holders())).toEqual(['a']);
    one.send(killed());
    await Promise.resolve();
    expect([records.holders(), records.known()]).toEqual([[], []]);
  });

  test('a pod that was found running, or runs, possibly holds resources', () => {
    const { records, judged, uids } = bed({ found: ['a'], running: ['b'] });
    for (const name of ['a', 'b', 'c']) judged(pod(name));
    expect(uids(records.possibleHolders())).toEqual(['a', 'b']);
    expect(records.holders()).toEqual([]);
  });

  test('a pod of which an abandoned call has started something possibly holds resources', () => {
    const { records, judged, uids } = bed();
    judged(pod('a'));
    records.landedLate('a');
    records.landedLate('b');
    judged(pod('b'));
    expect(uids(records.possibleHolders())).toEqual(['a', 'b']);
  });
});

test('a Terminated pod is gone one microtask later', async () => {
  const { records, judged } = bed();
  judged(pod('a')).send(killed(), STOPPED);
  expect(records.get('a')).toMatchObject({ state: 'Terminated.CleaningUp', isGone: false });
  await Promise.resolve();
  expect(records.get('a')?.isGone).toBe(true);
});

test('an ending pod is overdue after 1.5 times its grace period, and at least 10 s', () => {
  expect([patienceMs(30), patienceMs(1)]).toEqual([45_000, 10_000]);
  const { clock, records } = bed();
  const ending = { endingSince: 0, graceSeconds: 30 } as PodRecord;
  clock.ms = 44_999;
  expect(records.isOverdue(ending)).toBe(false);
  clock.ms = 45_000;
  expect(records.isOverdue(ending)).toBe(true);
  expect(records.isOverdue({ ...ending, endingSince: undefined })).toBe(false);
});

test('static and critical pods are never evicted', () => {
  const isNever = (of: Pod) => isNeverEvicted({ pod: of } as PodRecord);
  const ofFile = pod('a', '1', { annotations: { [CONFIG_SOURCE_ANNOTATION]: 'file' } });
  expect([isNever(critical('a')), isNever(ofFile), isNever(pod('a'))]).toEqual([true, true, false]);
});
