import { describe, expect, test } from '@jest/globals';
import { type SourceName, SimulatedSources } from '../../../src/simulation/node/simulated-sources.ts';
import { testPod } from '../../support/pods.ts';

const NOW = '2030-01-01T00:00:00Z';

function sources(source: SourceName = 'api', uid = 'uid-1') {
  const all = new SimulatedSources();
  all.create(source, testPod({ uid }));
  return all;
}

const listed = (all: SimulatedSources, source: SourceName) =>
  all.lists[source].value.pods?.map(({ metadata }) => metadata.uid);

test('each source publishes its own pods', () => {
  const all = sources('file');
  all.create('api', testPod({ name: 'db', uid: 'uid-2' }));
  expect([listed(all, 'file'), listed(all, 'api')]).toEqual([['uid-1'], ['uid-2']]);
});

test('a new pod replaces the pod of its name, whose end is asked for', () => {
  const all = sources('file');
  all.create('api', testPod({ uid: 'uid-2' }));
  expect([listed(all, 'file'), listed(all, 'api')]).toEqual([[], ['uid-2']]);
  expect([all.hasAskedForEnd('uid-1'), all.hasAskedForEnd('uid-2')]).toEqual([true, false]);
});

describe('a deletion', () => {
  test('at the API server sets a deletion timestamp, and a second one only shortens the grace period', () => {
    const all = sources();
    all.delete('web', 30, NOW);
    all.delete('web', 5, NOW);
    all.delete('web', 60, NOW);
    expect(all.get('web')?.metadata).toMatchObject({
      deletionTimestamp: NOW,
      deletionGracePeriodSeconds: 5,
    });
    expect(all.hasAskedForEnd('uid-1')).toBe(true);
  });

  test('of a static pod removes its manifest', () => {
    const all = sources('file');
    all.delete('web', 30, NOW);
    expect(all.get('web')).toBeUndefined();
  });
});

test('a removed pod is created again with its UID, without a deletion timestamp', () => {
  const all = sources();
  all.delete('web', 30, NOW);
  all.remove('web');
  all.createAgain('web');
  expect(all.get('web')).toEqual(testPod({ uid: 'uid-1' }));
  expect(all.hasAskedForEnd('uid-1')).toBe(true);
});

describe('after the end of a pod', () => {
  const status = { phase: 'Succeeded' };

  test('the API server removes it if it was deleted', () => {
    const all = sources();
    all.delete('web', 30, NOW);
    all.ended({ name: 'web', uid: 'uid-1' }, status);
    expect(all.get('web')).toBeUndefined();
  });

  test('the API server stores its status if it was not deleted', () => {
    const all = sources();
    all.ended({ name: 'web', uid: 'uid-1' }, status);
    expect(all.get('web')?.status).toEqual(status);
  });

  test('a manifest and another pod of the name stay as they are', () => {
    const [file, api] = [sources('file'), sources('api', 'uid-2')];
    for (const all of [file, api]) all.ended({ name: 'web', uid: 'uid-1' }, status);
    expect([file.get('web')?.status, api.get('web')?.status]).toEqual([undefined, undefined]);
  });
});

test('after clear no pod is wanted', () => {
  const all = sources();
  all.clear();
  expect([all.pods, listed(all, 'api'), all.hasAskedForEnd('uid-1')]).toEqual([[], [], true]);
});
