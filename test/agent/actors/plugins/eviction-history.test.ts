/** What plugins are told of candidates: their budgets, read from the server now and then, and what was evicted before. */
import { expect, test } from '@jest/globals';
import { EvictionHistory, type ReadBudgets } from '../../../../src/agent/actors/plugins/eviction-history.ts';
import { ApiError } from '../../../../src/agent/cluster/service/api-error.ts';
import { settled, VirtualClock } from '../../../../src/simulation/node/virtual-clock.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import { requestingPod } from '../../../support/admission.ts';
import { recordingLogger } from '../../../support/recording-logger.ts';
import { testContext } from '../../../support/test-context.ts';

function owned(name: string, owner?: string): Pod {
  const pod = requestingPod(name);
  const ownerReferences =
    owner === undefined
      ? []
      : [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: owner, uid: owner, controller: true }];
  return { ...pod, metadata: { ...pod.metadata, labels: { app: name.slice(0, 1) }, ownerReferences } };
}

const BUDGET = {
  spec: { selector: { matchLabels: { app: 'a' } } },
  status: { disruptionsAllowed: 1, currentHealthy: 3, desiredHealthy: 2, expectedPods: 3 },
};

function history(readBudgets?: ReadBudgets) {
  const clock = new VirtualClock();
  const { logger, lines } = recordingLogger();
  return { clock, lines, it: new EvictionHistory(testContext({ clock, logger }), readBudgets) };
}

test('evictions of the owner are counted per ten minutes, for an hour; a pod without an owner counts as its own owner', async () => {
  const { clock, it } = history();
  const [one, two, other] = [owned('a1', 'rs'), owned('a2', 'rs'), owned('b')];
  const begin = Math.floor(clock.now() / 600_000) * 600;
  it.evicted(one);
  it.evicted(two);
  it.evicted(other);
  await clock.advance(600_000);
  it.evicted(one);
  const buckets = () =>
    it
      .of([two, other])
      .map((record) => record.buckets.map(({ time, duration, count }) => [time - begin, duration, count]));
  expect(buckets()).toEqual([
    [
      [0, 600, 2],
      [600, 600, 1],
    ],
    [[0, 600, 1]],
  ]);
  await clock.advance(50 * 60_000);
  expect(buckets()).toEqual([[[600, 600, 1]], []]);
  expect(it.of([two])).toMatchObject([{ uid: 'a2', hasPdb: false, expectedPods: 0 }]);
});

test('budgets are read in the background, and again after half a minute; until they are known there is no record', async () => {
  const asked: string[] = [];
  const { clock, it } = history((namespace) => {
    asked.push(namespace);
    return Promise.resolve([BUDGET]);
  });
  const both = [owned('a'), owned('b')];
  expect([it.of(both), it.of(both)]).toEqual([[], []]);
  await settled();
  expect(it.of(both)).toMatchObject([
    { uid: 'a', hasPdb: true, ...BUDGET.status },
    { uid: 'b', hasPdb: false, disruptionsAllowed: 0 },
  ]);
  await clock.advance(29_999);
  it.of(both);
  expect(asked).toEqual(['default']);
  await clock.advance(1);
  it.of(both);
  expect(asked).toEqual(['default', 'default']);
});

test('a server that refuses is asked again after ten minutes, and the log says once which right is missing', async () => {
  let asked = 0;
  const { clock, lines, it } = history(() => {
    asked += 1;
    return Promise.reject(new ApiError('may not list', { status: 403, reason: 'Forbidden' }));
  });
  for (let pass = 0; pass < 3; pass += 1) {
    expect(it.of([owned('a')])).toEqual([]);
    await settled();
    await clock.advance(5 * 60_000);
  }
  expect(asked).toBe(2);
  expect(
    lines.map(({ message }) => message.includes('must be allowed to list poddisruptionbudgets')),
  ).toEqual([true]);
});
