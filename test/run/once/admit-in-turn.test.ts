import { expect, test } from '@jest/globals';
import { type AdmissionView, admitInTurn } from '../../../src/run/once/admit-in-turn.ts';
import type { Pod } from '../../../src/types/kubernetes.ts';
import { requestingPod, testNode } from '../../support/admission.ts';

async function namesAndReasons(pods: readonly Pod[], view: Partial<AdmissionView> = {}) {
  const none = { facts: testNode(), admit: () => undefined, runs: () => false };
  const { admitted, rejected } = await admitInTurn(pods, { ...none, ...view });
  return {
    admitted: admitted.map(({ metadata }) => metadata.name),
    rejected: rejected.map(({ pod, rejection }) => [pod.metadata.name, rejection.reason]),
  };
}

test('each pod is admitted beside the pods before it; a rejected pod holds no resources, and later pods are still admitted', async () => {
  const pods = [
    requestingPod('three', { requests: { cpu: '3' } }),
    requestingPod('two', { requests: { cpu: '2' } }),
    requestingPod('elsewhere', { nodeSelector: { zone: 'b' } }),
    requestingPod('one', { requests: { cpu: '1' } }),
  ];
  expect(await namesAndReasons(pods)).toEqual({
    admitted: ['three', 'one'],
    rejected: [
      ['two', 'OutOfcpu'],
      ['elsewhere', 'NodeAffinity'],
    ],
  });
});

test('a critical pod that does not fit is rejected: no other pod is preempted for it', async () => {
  const pods = [
    requestingPod('small', { requests: { cpu: '1' } }),
    requestingPod('critical', { requests: { cpu: '4' }, critical: true }),
  ];
  expect(await namesAndReasons(pods)).toEqual({ admitted: ['small'], rejected: [['critical', 'OutOfcpu']] });
});

test('a pod that runs already is admitted first, though other pods come before it', async () => {
  const pods = [
    requestingPod('new', { requests: { cpu: '2' } }),
    requestingPod('running', { requests: { cpu: '3' } }),
    requestingPod('larger than the node has become', { requests: { cpu: '5' } }),
  ];
  const runs = ({ metadata }: Pod) => metadata.name !== 'new';
  expect(await namesAndReasons(pods, { runs })).toEqual({
    admitted: ['running', 'larger than the node has become'],
    rejected: [['new', 'OutOfcpu']],
  });
});

test('a pod whose requests cannot be parsed is rejected', async () => {
  const pods = [requestingPod('odd', { requests: { cpu: 'much' } }), requestingPod('plain')];
  expect(await namesAndReasons(pods)).toEqual({
    admitted: ['plain'],
    rejected: [['odd', 'UnexpectedAdmissionError']],
  });
});

test('a pod that the node cannot run is rejected', async () => {
  const pods = [requestingPod('plain'), requestingPod('odd')];
  const admit = ({ metadata }: Pod) =>
    metadata.name === 'odd' ? { reason: 'SysctlForbidden', message: 'no' } : undefined;
  expect(await namesAndReasons(pods, { admit })).toEqual({
    admitted: ['plain'],
    rejected: [['odd', 'SysctlForbidden']],
  });
});

test('of two pods with one name, or one UID, the first is admitted (I6)', async () => {
  const web = requestingPod('web');
  const again: Pod = { ...web, metadata: { ...web.metadata, uid: 'of another source' } };
  const twin: Pod = { ...web, metadata: { ...web.metadata, name: 'twin' } };
  expect(await namesAndReasons([web, again, twin])).toEqual({
    admitted: ['web'],
    rejected: [
      ['web', 'NameConflict'],
      ['twin', 'NameConflict'],
    ],
  });
});
