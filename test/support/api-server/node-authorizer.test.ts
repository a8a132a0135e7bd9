/** What a node may do with objects of drivers, as with the node authorizer of Kubernetes. */
import { beforeEach, expect, test } from '@jest/globals';
import { ApiStore } from '../../../src/simulation/api/api-store.ts';
import type { Store } from './context.ts';
import { NodeAuthorizer } from './node-authorizer.ts';

const UNRELATED = `no relationship found between node 'node-1' and this object`;
const GET_ONLY = 'can only get individual resources of this type';

let store: Store;
let nodes: NodeAuthorizer;

beforeEach(() => {
  store = new ApiStore<string>();
  nodes = new NodeAuthorizer(store);
});

function add(key: string, name: string, fields: object, namespace?: string): void {
  store.add(key, { metadata: { name, ...(namespace !== undefined && { namespace }) }, ...fields }, undefined);
}

/** Undefined: it may. */
function whyNot(verb: string, path: string, namespace?: string): string | undefined {
  const [full = '', name = ''] = path.split(' ');
  const [resource = '', ...group] = (full.split('/')[0] ?? '').split('.');
  const subresource = full.split('/')[1] ?? '';
  return nodes.whyRefused('node-1', { verb, group: group.join('.'), resource, subresource, namespace, name });
}

test('a node reads the attachments of its own volumes alone, each by its name', () => {
  add('volumeattachments.storage.k8s.io', 'own', { spec: { nodeName: 'node-1' } });
  add('volumeattachments.storage.k8s.io', 'other', { spec: { nodeName: 'node-2' } });
  const kind = 'volumeattachments.storage.k8s.io';
  expect(whyNot('get', `${kind} own`)).toBeUndefined();
  expect(whyNot('get', `${kind} other`)).toBe(UNRELATED);
  expect(whyNot('get', `${kind} gone`)).toBe(UNRELATED);
  expect(whyNot('list', kind)).toBe(GET_ONLY);
  expect(whyNot('watch', `${kind} own`)).toBe(GET_ONLY);
  expect(whyNot('get', `${kind}/status own`)).toBe('cannot get subresource');
});

test('a node writes its own CSINode alone', () => {
  const kind = 'csinodes.storage.k8s.io';
  for (const verb of ['get', 'update', 'patch', 'delete']) {
    expect(whyNot(verb, `${kind} node-1`)).toBeUndefined();
    expect(whyNot(verb, `${kind} node-2`)).toBe(
      'can only access CSINode with the same name as the requesting node',
    );
  }
  expect(whyNot('create', kind)).toBeUndefined();
  expect(whyNot('list', kind)).toBe('can only get, create, update, patch, or delete a CSINode');
});

test('a node reads the claims of its pods, their volumes, and the secrets that these name for nodes', () => {
  const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: 'orders' } }];
  add('pods', 'web', { spec: { nodeName: 'node-1', volumes, containers: [] } }, 'shop');
  const secret = (name: string) => ({ namespace: 'storage', name });
  const csi = {
    nodeStageSecretRef: secret('stage'),
    nodePublishSecretRef: secret('publish'),
    nodeExpandSecretRef: secret('expand'),
    controllerExpandSecretRef: secret('controller'),
  };
  add('persistentvolumes', 'pv-1', { spec: { csi, claimRef: { namespace: 'shop', name: 'orders' } } });
  add('persistentvolumes', 'pv-2', { spec: { csi, claimRef: { namespace: 'shop', name: 'others' } } });
  expect(whyNot('get', 'persistentvolumeclaims orders', 'shop')).toBeUndefined();
  expect(whyNot('get', 'persistentvolumeclaims others', 'shop')).toBe(UNRELATED);
  expect(whyNot('patch', 'persistentvolumeclaims/status orders', 'shop')).toBeUndefined();
  expect(whyNot('patch', 'persistentvolumeclaims orders', 'shop')).toBe(GET_ONLY);
  expect(whyNot('get', 'persistentvolumes pv-1')).toBeUndefined();
  expect(whyNot('get', 'persistentvolumes pv-2')).toBe(UNRELATED);
  const secrets = ['stage', 'publish', 'expand', 'controller'];
  const readable = secrets.filter((name) => whyNot('get', `secrets ${name}`, 'storage') === undefined);
  expect(readable).toEqual(['stage', 'publish', 'expand']);
});
