import { describe, expect, test } from '@jest/globals';
import {
  claimName,
  containerClaims,
  hasClaims,
  podClaims,
  usableClaimDrivers,
} from '../../../../src/agent/policies/dra/pod-claims.ts';
import type { Container, Pod, PodStatus, ResourceClaim } from '../../../../src/types/kubernetes.ts';
import { testPod } from '../../../support/pods.ts';

const POD = testPod({ uid: 'uid-web' });
type Entries = Pod['spec']['resourceClaims'];

function podWith(resourceClaims: Entries, status?: PodStatus): Pod {
  return { ...POD, spec: { ...POD.spec, resourceClaims }, ...(status && { status }) };
}

const EXTENDED: PodStatus = {
  extendedResourceClaimStatus: {
    resourceClaimName: 'web-extended',
    requestMappings: [
      { containerName: 'main', resourceName: 'example.com/gpu', requestName: 'r-0' },
      { containerName: 'other', resourceName: 'example.com/gpu', requestName: 'r-1' },
      { containerName: 'main', resourceName: 'deviceclass.resource.kubernetes.io/nic', requestName: 'r-2' },
      { containerName: 'main', resourceName: 'example.com/unasked', requestName: 'r-3' },
    ],
  },
};

describe('the claims of a pod', () => {
  test('are those that it names, those created for it, and that of its extended resources', () => {
    const entries = [
      { name: 'a', resourceClaimName: 'shared' },
      { name: 'b', resourceClaimTemplateName: 'template' },
      { name: 'c', resourceClaimTemplateName: 'template' },
    ];
    const resourceClaimStatuses = [{ name: 'b', resourceClaimName: 'web-b-x1' }, { name: 'c' }];
    const pod = podWith(entries, { resourceClaimStatuses, ...EXTENDED });
    expect(podClaims(pod)).toEqual([
      { name: 'shared', isOwned: false },
      { name: 'web-b-x1', isOwned: true },
      { name: 'web-extended', isOwned: false },
    ]);
    expect([hasClaims(pod), hasClaims(podWith(undefined, EXTENDED)), hasClaims(POD)]).toEqual([
      true,
      true,
      false,
    ]);
  });

  test('are not known before they are created, or if the status of the pod does not name them', () => {
    const made = podWith([{ name: 'b', resourceClaimTemplateName: 'template' }], {});
    expect(() => podClaims(made)).toThrow('pod "default/web": ResourceClaim not created yet');
    expect(() => podClaims(podWith([{ name: 'b' }]))).toThrow(
      'pod "default/web", spec.resourceClaim "b": none of the supported fields are set',
    );
  });
});

describe('a claim that was read from the API server', () => {
  const named = { name: 'shared', isOwned: false };
  const claim = (status: ResourceClaim['status'], ownerReferences: object[] = []): ResourceClaim => ({
    metadata: { name: 'shared', uid: 'uid-claim', ownerReferences: ownerReferences as never },
    status,
  });
  const reservedFor = [{ resource: 'pods', name: 'web', uid: 'uid-web' }];
  const result = (driver: string) => ({ driver, pool: 'p', device: 'd', request: 'r' });
  const allocation = { devices: { results: [result('b.test'), result('a.test'), result('b.test')] } };

  test('may be used by a pod that it is reserved for, with the drivers of its devices', () => {
    expect(usableClaimDrivers(POD, named, claim({ reservedFor, allocation }))).toEqual(['b.test', 'a.test']);
    const owner = { controller: true, uid: 'uid-web' };
    const owned = claim({ reservedFor, allocation: {} }, [owner]);
    expect(usableClaimDrivers(POD, { ...named, isOwned: true }, owned)).toEqual([]);
  });

  test.each([
    [named, claim({}), 'pod web (uid-web) is not allowed to use ResourceClaim shared (uid-claim)'],
    [named, claim({ reservedFor }), 'ResourceClaim shared: not allocated'],
    [
      { ...named, isOwned: true },
      claim({ reservedFor, allocation }, [{ controller: true, uid: 'uid-other' }]),
      'ResourceClaim default/shared was not created for Pod default/web (Pod is not owner)',
    ],
    [
      { ...named, isOwned: true },
      claim({ reservedFor, allocation }, [{ uid: 'uid-web' }]),
      '(Pod is not owner)',
    ],
  ])('%j is refused otherwise', (podClaim, object, problem) => {
    expect(() => usableClaimDrivers(POD, podClaim, object)).toThrow(problem);
  });
});

describe('the claims of a container', () => {
  const container = (resources: Container['resources']): Container => ({
    name: 'main',
    image: 'a',
    resources,
  });

  test('are those that it names, whole or by request', () => {
    const pod = podWith([
      { name: 'a', resourceClaimName: 'one' },
      { name: 'b', resourceClaimName: 'two' },
      { name: 'c', resourceClaimName: 'three' },
    ]);
    const claims = [{ name: 'a' }, { name: 'b', request: 'x' }, { name: 'b', request: 'y' }];
    expect([...containerClaims(pod, container({ claims }))]).toEqual([
      ['one', ['']],
      ['two', ['x', 'y']],
    ]);
  });

  test('are left out while they are not known', () => {
    const pod = podWith([{ name: 'a', resourceClaimTemplateName: 'template' }], {
      resourceClaimStatuses: [{ name: 'b', resourceClaimName: 'other' }],
    });
    expect(containerClaims(pod, container({ claims: [{ name: 'a' }, { name: 'b' }] })).size).toBe(0);
    const made = { ...pod, status: { resourceClaimStatuses: [{ name: 'a', resourceClaimName: 'web-a' }] } };
    expect([claimName(pod, 'a'), claimName(made, 'a'), claimName(made, 'b')]).toEqual([
      undefined,
      'web-a',
      undefined,
    ]);
  });

  test('for extended resources are the requests in the status of the pod for these resources', () => {
    const requests = {
      'example.com/gpu': '2',
      'deviceclass.resource.kubernetes.io/nic': '1',
      'example.com/unasked': '0',
      cpu: '1',
    };
    const pod = podWith(undefined, EXTENDED);
    expect([...containerClaims(pod, container({ requests }))]).toEqual([['web-extended', ['r-0', 'r-2']]]);
    expect(containerClaims(pod, container({})).size).toBe(0);
  });
});
