import { describe, expect, test } from '@jest/globals';
import {
  CONFIG_HASH_ANNOTATION,
  CONFIG_MIRROR_ANNOTATION,
} from '../../../src/agent/policies/pod/pod-kinds.ts';
import { type SourceName, SimulatedSources } from '../../../src/simulation/node/simulated-sources.ts';
import type { Pod } from '../../../src/types/kubernetes.ts';
import { testPod } from '../../support/pods.ts';
import { ApiBed, NODE } from '../api/api-bed.ts';

const PODS = { resource: 'pods', namespace: 'default' } as const;

function sources(source: SourceName = 'api', uid = 'uid-1') {
  const bed = new ApiBed();
  const all = new SimulatedSources(bed.server);
  all.create(source, testPod({ uid }));
  return { bed, all };
}

const inFiles = (all: SimulatedSources) => all.file.value.pods?.map(({ metadata }) => metadata.uid);
const atServer = (all: SimulatedSources) => all.objects.map(({ metadata }) => metadata.uid);

function withMirror() {
  const { bed, all } = sources('file');
  const annotations = { [CONFIG_MIRROR_ANNOTATION]: 'uid-1', [CONFIG_HASH_ANNOTATION]: 'uid-1' };
  const mirror = testPod({ uid: 'mirror-1', annotations });
  bed.server.operations.create(PODS, { ...mirror, spec: { ...mirror.spec, nodeName: NODE } }, 'mirror-1');
  return { bed, all };
}

test('static pods are listed in files, and others are bound to the node at the API server', () => {
  const { all } = sources('file');
  all.create('api', testPod({ name: 'db', uid: 'uid-2' }));
  expect([inFiles(all), atServer(all)]).toEqual([['uid-1'], ['uid-2']]);
  expect(all.get('db')?.spec.nodeName).toBe(NODE);
  expect(all.get('web')?.metadata.annotations).toEqual({ [CONFIG_HASH_ANNOTATION]: 'uid-1' });
});

test('a new pod replaces the pod of its name, whose end is asked for', () => {
  const { all } = sources('file');
  all.create('api', testPod({ uid: 'uid-2' }));
  expect([inFiles(all), atServer(all)]).toEqual([[], ['uid-2']]);
  expect([all.hasAskedForEnd('uid-1'), all.hasAskedForEnd('uid-2')]).toEqual([true, false]);
});

describe('a deletion', () => {
  test('at the API server gives the pod time', () => {
    const { all } = sources();
    all.delete('web', 30);
    expect(all.get('web')?.metadata.deletionGracePeriodSeconds).toBe(30);
    expect(all.hasAskedForEnd('uid-1')).toBe(true);
  });

  test('of a static pod removes its manifest', () => {
    const { all } = sources('file');
    all.delete('web', 30);
    expect(all.get('web')).toBeUndefined();
  });
});

test('a removed pod is created again with its UID, without a deletion timestamp', () => {
  const { all } = sources();
  expect(all.wasMadeAgain('uid-1')).toBe(false);
  all.delete('web', 30);
  all.remove('web');
  all.createAgain('web');
  expect(all.get('web')?.metadata).toMatchObject({ uid: 'uid-1', generation: 1 });
  expect(all.get('web')?.metadata.deletionTimestamp).toBeUndefined();
  expect([all.hasAskedForEnd('uid-1'), all.wasMadeAgain('uid-1')]).toEqual([true, true]);
});

test('a pod that its node has removed is not wanted any more', async () => {
  const { bed, all } = sources();
  await bed.settle(bed.node.delete({ ...PODS, name: 'web' }, { gracePeriodSeconds: 0 }));
  expect([all.get('web'), all.pods]).toEqual([undefined, []]);
});

describe('a mirror pod', () => {
  test('is no pod that is wanted', () => {
    const { all } = withMirror();
    expect(all.pods.map(({ metadata }) => metadata.uid)).toEqual(['uid-1']);
    expect(atServer(all)).toEqual(['mirror-1']);
  });

  test('can be deleted by a user, and the static pod stays', () => {
    const { all } = withMirror();
    all.deleteMirror('web', 0);
    expect([atServer(all), all.get('web')?.metadata.uid]).toEqual([[], 'uid-1']);
  });

  test('gives way to a pod of the cluster with its name', () => {
    const { all } = withMirror();
    all.create('api', testPod({ uid: 'uid-2' }));
    expect([inFiles(all), atServer(all)]).toEqual([[], ['uid-2']]);
  });
});

test('others set conditions', () => {
  const { all } = sources();
  all.setCondition('web', { type: 'example.com/gate', status: 'True' });
  all.setCondition('missing', { type: 'example.com/gate', status: 'True' });
  expect(all.get('web')?.status?.conditions).toMatchObject([{ type: 'example.com/gate', status: 'True' }]);
});

test('a change is made in place', () => {
  for (const source of ['file', 'api'] as const) {
    const { all } = sources(source);
    const relabel = (pod: Pod) => ({ ...pod, metadata: { ...pod.metadata, labels: { a: 'b' } } });
    all.change('web', relabel);
    expect(all.get('web')?.metadata).toMatchObject({ uid: 'uid-1', labels: { a: 'b' } });
    all.remove('web');
    all.createAgain('web');
    expect(all.get('web')?.metadata.labels).toEqual({ a: 'b' });
  }
});

test('after clear no manifest is left, and all other pods are deleted', () => {
  const { all } = sources();
  all.create('file', testPod({ name: 'static', uid: 'uid-2' }));
  all.clear();
  expect(inFiles(all)).toEqual([]);
  expect(all.pods).toMatchObject([{ metadata: { uid: 'uid-1', deletionGracePeriodSeconds: 30 } }]);
  expect([all.hasAskedForEnd('uid-1'), all.hasAskedForEnd('uid-2')]).toEqual([true, true]);
});
