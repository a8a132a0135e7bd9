import { expect, test } from '@jest/globals';
import { reservedGroups } from '../../../src/policies/node/reserved-groups.ts';

const RESERVED = {
  kubeReserved: { cpu: '500m', memory: '1Gi', pid: '100' },
  systemReserved: { cpu: '250m', memory: '2Gi' },
};
const NAMES = { kubeReservedCgroup: '/kube', systemReservedCgroup: '/system' };
const groups = (...enforceNodeAllocatable: string[]) =>
  reservedGroups({ enforceNodeAllocatable, ...NAMES }, RESERVED);

test('a group of daemons has as limits what is reserved for it, where that is enforced', () => {
  expect(groups('pods')).toEqual([]);
  expect(groups('kube-reserved', 'system-reserved')).toEqual([
    {
      title: 'system reserved',
      field: 'systemReservedCgroup',
      name: '/system',
      limits: RESERVED.systemReserved,
    },
    { title: 'kube reserved', field: 'kubeReservedCgroup', name: '/kube', limits: RESERVED.kubeReserved },
  ]);
});

test('what is compressible is the CPU alone', () => {
  expect(groups('kube-reserved-compressible').map(({ limits }) => limits)).toEqual([{ cpu: '500m' }]);
});
