import { describe, expect, test } from '@jest/globals';
import type { PodEvent } from '../../../src/agent/machines/pod-machine.ts';
import { EndOrders } from '../../../src/simulation/judges/pod-progress.ts';
import { PodEndJudge, type PodEndJudgeOptions } from '../../../src/simulation/judges/pod-end-judge.ts';
import type { PodRecord } from '../../../src/simulation/judges/pod-records.ts';
import type { Pod } from '../../../src/types/kubernetes.ts';
import { container, podSpec } from '../../support/simulated-agent.ts';
import { CLEANED_UP, killed } from './lifecycle-judge-bed.ts';

const UID = 'uid-1';
const WANTED: Pod = { metadata: { name: 'web', namespace: 'default', uid: UID }, spec: podSpec() };

/** A judge of the pod `web`, which is wanted and has not been killed, unless `more` says otherwise. */
function bed(more: Partial<PodEndJudgeOptions> = {}) {
  const reported: string[] = [];
  const judge = new PodEndJudge({
    lifecycle: { ordersOf: () => undefined },
    admission: { hasReasonToEnd: () => false, record: () => undefined },
    wantedPod: () => WANTED,
    wasAskedToEnd: () => false,
    statusOf: () => undefined,
    isKnown: () => true,
    isMounted: () => false,
    violated: (invariant, uid, what) => reported.push(`${invariant} ${uid}: ${what}`),
    ...more,
  });
  return { judge, reported };
}

describe('rule 3: a pod ends for a reason', () => {
  test('a wanted pod that would go on forever is ended', () => {
    const { judge, reported } = bed();
    judge.checkRequested(UID, 'web');
    expect(reported).toEqual([`rule 3 ${UID}: is ended, though its end was not asked for`]);
  });

  const job = podSpec({ containers: [container('main', 'run exit-after=5s')], restartPolicy: 'Never' });
  test.each<[string, Partial<PodEndJudgeOptions>]>([
    ['it was killed or removed', { wasAskedToEnd: () => true }],
    [
      'it was preempted, evicted or rejected',
      { admission: { hasReasonToEnd: () => true, record: () => undefined } },
    ],
    [
      'another pod of its name is wanted',
      { wantedPod: () => ({ ...WANTED, metadata: { ...WANTED.metadata, uid: 'uid-2' } }) },
    ],
    [
      'it was deleted',
      {
        wantedPod: () => ({
          ...WANTED,
          metadata: { ...WANTED.metadata, deletionTimestamp: '2030-01-01T00:00:00Z' },
        }),
      },
    ],
    ['it runs to its end', { wantedPod: () => ({ ...WANTED, spec: job }) }],
  ])('it may end if %s', (_, more) => {
    const { judge, reported } = bed(more);
    judge.checkRequested(UID, 'web');
    expect(reported).toEqual([]);
  });
});

describe('a finished pod', () => {
  const ordersOf = (...events: PodEvent[]) => {
    const orders = new EndOrders();
    for (const event of events) orders.take(event);
    return { ordersOf: () => orders };
  };
  const evicted = killed(1, { podStatus: { phase: 'Failed', reason: 'Evicted' } });

  test('has released its volumes (rule 8)', () => {
    const { judge, reported } = bed({ isMounted: () => true });
    judge.checkFinished(UID, CLEANED_UP);
    expect(reported).toEqual([`rule 8 ${UID}: is finished, and its volumes are mounted`]);
  });

  test('may have volumes of a dead agent if it never started', () => {
    const { judge, reported } = bed({ isMounted: () => true });
    judge.checkFinished(UID, killed());
    expect(reported).toEqual([]);
  });

  test('has the reason of the last kill in its status (rule 5)', () => {
    const lifecycle = ordersOf(evicted);
    const right = bed({ lifecycle, statusOf: () => ({ phase: 'Failed', reason: 'Evicted' }) });
    right.judge.checkFinished(UID, CLEANED_UP);
    const wrong = bed({ lifecycle, statusOf: () => ({ phase: 'Failed', reason: 'Preempting' }) });
    wrong.judge.checkFinished(UID, CLEANED_UP);
    expect([right.reported, wrong.reported]).toEqual([
      [],
      [`rule 5 ${UID}: ends as Preempting, not as Evicted`],
    ]);
  });

  test('may have succeeded before it was killed', () => {
    const { judge, reported } = bed({
      lifecycle: ordersOf(evicted),
      statusOf: () => ({ phase: 'Succeeded' }),
    });
    judge.checkFinished(UID, CLEANED_UP);
    expect(reported).toEqual([]);
  });

  test('has the reason of its rejection in its status', () => {
    const record = () => ({ rejection: 'OutOfcpu' }) as PodRecord;
    const admission = { hasReasonToEnd: () => true, record };
    const right = bed({ admission, statusOf: () => ({ phase: 'Failed', reason: 'OutOfcpu' }) });
    right.judge.checkFinished(UID, killed());
    const wrong = bed({ admission, statusOf: () => ({ phase: 'Failed', reason: 'NodePorts' }) });
    wrong.judge.checkFinished(UID, killed());
    expect([right.reported, wrong.reported]).toEqual([
      [],
      [`admission ${UID}: ends as Failed NodePorts, not as OutOfcpu`],
    ]);
  });
});
