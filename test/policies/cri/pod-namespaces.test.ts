import { expect, test } from '@jest/globals';
import { podNamespaces } from '../../../src/policies/cri/pod-namespaces.ts';
import type { UserNamespace } from '../../../src/types/cri.ts';
import type { PodSpec } from '../../../src/types/kubernetes.ts';

const NODE_USERS = { mode: 'NODE', uids: [], gids: [] };
const OWN_USERS: UserNamespace = {
  mode: 'POD',
  uids: [{ hostId: 65_536, containerId: 0, length: 65_536 }],
  gids: [{ hostId: 65_536, containerId: 0, length: 65_536 }],
};

const namespaces = (spec: Partial<PodSpec>, users?: UserNamespace) =>
  podNamespaces({ containers: [{ name: 'app' }], ...spec }, users);

test('by default a pod has its own network and IPC, each container its own processes, and users are those of the node', () => {
  expect(namespaces({})).toEqual({ network: 'POD', pid: 'CONTAINER', ipc: 'POD', usernsOptions: NODE_USERS });
});

test.each([
  [{ hostNetwork: true }, { network: 'NODE', pid: 'CONTAINER', ipc: 'POD' }],
  [{ hostIPC: true }, { network: 'POD', pid: 'CONTAINER', ipc: 'NODE' }],
  [{ hostPID: true }, { network: 'POD', pid: 'NODE', ipc: 'POD' }],
  [{ shareProcessNamespace: true }, { network: 'POD', pid: 'POD', ipc: 'POD' }],
])('with %j: %j', (spec, want) => {
  expect(namespaces(spec)).toMatchObject(want);
});

test('a pod with hostUsers: false gets the ids that the node has reserved for it', () => {
  expect(namespaces({ hostUsers: false }, OWN_USERS).usernsOptions).toEqual(OWN_USERS);
});

test('a pod with hostUsers: false is refused where there are no user namespaces, rather than run as root of the node', () => {
  expect(() => namespaces({ hostUsers: false })).toThrow("can't set `spec.hostUsers: false`");
});
