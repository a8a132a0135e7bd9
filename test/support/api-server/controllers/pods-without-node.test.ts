/** What the double's controllers do with pods that cannot stay where they are. */
import { describe, expect, test } from '@jest/globals';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import { describeOnControlPlane } from '../../control-plane.ts';
import { waitFor } from '../../wait-for.ts';
import { secondsOnNode } from './taint-eviction.ts';

const GONE = { key: 'gone', value: 'yes', effect: 'NoExecute' };

describe('a pod stays on a node with a taint NoExecute', () => {
  test.each([
    ['for ever if it tolerates it', [{ key: 'gone', operator: 'Exists' }], Infinity],
    ['not at all if it does not', [{ key: 'other', operator: 'Exists' }], 0],
    [
      'for the shortest time that it says',
      [
        { operator: 'Exists', tolerationSeconds: 9 },
        { key: 'gone', operator: 'Exists', tolerationSeconds: 3 },
      ],
      3,
    ],
    ['for no time if the time is negative', [{ operator: 'Exists', tolerationSeconds: -1 }], 0],
  ])('%s', (_how, tolerations, seconds) => {
    expect(secondsOnNode([GONE], tolerations)).toBe(seconds);
  });

  test('for ever if the effect is another one', () => {
    expect(secondsOnNode([{ key: 'gone', effect: 'NoSchedule' }], [])).toBe(Infinity);
  });
});

describeOnControlPlane('pods of a node', { with: ['kube-controller-manager'] }, (controlPlane) => {
  const phaseOf = async (name: string) => {
    const pod = await controlPlane.read<Pod>(`/api/v1/namespaces/default/pods/${name}`);
    return pod?.metadata.deletionTimestamp === undefined ? pod?.status?.phase : 'ending';
  };

  test('that gets a taint are deleted, and say why, but for those that tolerate it', async () => {
    const pod = (name: string, tolerations: readonly object[]) => ({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name },
      spec: { nodeName: 'tainted', tolerations, containers: [{ name: 'main', image: 'x' }] },
    });
    await controlPlane.apply({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'tainted' } });
    await controlPlane.apply(
      pod('strict', []),
      pod('patient', [{ key: 'gone', operator: 'Exists' }]),
      pod('hasty', [{ key: 'gone', operator: 'Exists', tolerationSeconds: 1 }]),
    );
    await controlPlane.patch('/api/v1/nodes/tainted', { spec: { taints: [GONE] } });
    for (const name of ['strict', 'hasty'])
      await waitFor(async () => (await phaseOf(name)) === 'ending', { what: `the deletion of ${name}` });
    expect(await phaseOf('patient')).toBe('Pending');
    const strict = await controlPlane.read<Pod>('/api/v1/namespaces/default/pods/strict');
    expect(strict?.status?.conditions).toContainEqual(
      expect.objectContaining({ type: 'DisruptionTarget', reason: 'DeletionByTaintManager' }),
    );
  });
});
