import { crc32 } from 'node:zlib';
import { expect, test } from '@jest/globals';
import { claimsText, readClaims } from '../../../../src/agent/policies/dra/claims-checkpoint.ts';

/** In the shape in which a kubelet writes it. */
const DATA =
  '{"kind":"DRACheckpoint","apiVersion":"checkpoint.dra.kubelet.k8s.io/v1","ClaimInfoStateList":[{"ClaimUID":"uid-1","ClaimName":"one","Namespace":"default","PodUIDs":{"uid-a":{},"uid-b":{}},"DriverState":{"a.test":{"Devices":[{"PoolName":"p","DeviceName":"d","ShareID":null,"RequestNames":["r"],"CDIDeviceIDs":["a/d=1"]}]},"b.test":{"Devices":null}}}]}';
const OF_KUBELET = JSON.stringify({ Data: DATA, Checksum: crc32(DATA) });

test("a kubelet's file is read, and written again byte by byte with its checksum", () => {
  const claims = readClaims(OF_KUBELET, crc32);
  expect(claims).toMatchObject([
    { uid: 'uid-1', namespace: 'default', name: 'one', pods: ['uid-a', 'uid-b'] },
  ]);
  expect(claims[0]?.drivers['b.test']).toEqual([]);
  expect(claimsText(claims, crc32)).toBe(OF_KUBELET);
});

test('the share of a shared device is kept, and an empty file of a kubelet is read', () => {
  const shared = { pool: 'p', device: 'd', shareId: 's-1', requests: [], cdiIds: [] };
  const claim = { uid: 'u', namespace: 'n', name: 'c', pods: [], drivers: { 'a.test': [shared] } };
  expect(readClaims(claimsText([claim], crc32), crc32)).toEqual([claim]);
  const empty = DATA.replace(/"ClaimInfoStateList":.*/u, '"ClaimInfoStateList":null}');
  expect(readClaims(JSON.stringify({ Data: empty, Checksum: crc32(empty) }), crc32)).toEqual([]);
});

const withData = (data: string) => JSON.stringify({ Data: data, Checksum: crc32(data) });

test.each([
  [OF_KUBELET.replace('uid-1', 'uid-2'), 'checkpoint is corrupted'],
  ['{}', 'checkpoint is corrupted'],
  ['', 'JSON'],
  [withData('[]'), 'it has no ClaimInfoStateList'],
  [withData('{"ClaimInfoStateList":[1]}'), 'a claim is not an object'],
  [withData('{"ClaimInfoStateList":[{"ClaimUID":1}]}'), 'ClaimUID is not a text'],
  [withData('{"ClaimInfoStateList":[{"DriverState":{"a":{"Devices":{}}}}]}'), 'Devices is not a list'],
])('%s is refused', (text, problem) => {
  expect(() => readClaims(text, crc32)).toThrow(problem);
});
