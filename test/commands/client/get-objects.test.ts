import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { get } from '../../../src/commands/client/get.ts';
import type { GetFlags } from '../../../src/commands/client/get-output.ts';
import { objectRoutes } from '../../../src/agent/server/routes/apply-routes.ts';
import { type OwnerSocket, ownerSocket } from '../../support/owner-socket.ts';

const object = (kind: string, name: string, more: object, namespace = 'default') => ({
  ...{ kind, namespace, name },
  object: { metadata: { name, namespace, labels: { app: name } }, ...more },
});
const OBJECTS = [
  object('ConfigMap', 'settings', { data: { a: '1', b: '2' }, binaryData: { c: 'AA==' } }),
  object('ConfigMap', 'other', {}, 'kube-system'),
  object('Secret', 'token', { type: 'kubernetes.io/basic-auth', data: { password: 'aHVudGVyMg==' } }),
  object('PersistentVolumeClaim', 'disk', {
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
  }),
];

let socket: OwnerSocket;
beforeEach(async () => {
  socket = await ownerSocket(objectRoutes({ objects: () => OBJECTS, deleteObject: () => Promise.resolve() }));
});
afterEach(async () => socket.close());

async function shown(words: string, flags: GetFlags = {}): Promise<string> {
  let text = '';
  const output = { write: (part: string) => (text += part), tell: (line: string) => (text += `${line}\n`) };
  await get(words.split(' '), { rootDir: socket.rootDir, ...flags }, output);
  return text;
}

test.each<[string, GetFlags, string[]]>([
  ['cm', {}, ['NAME       DATA   AGE', 'settings   3      <unknown>']],
  [
    'configmaps',
    { allNamespaces: true, headers: false },
    ['default       settings   3   <unknown>', 'kube-system   other      0   <unknown>'],
  ],
  [
    'secret/token',
    {},
    ['NAME    TYPE                       DATA   AGE', 'token   kubernetes.io/basic-auth   1      <unknown>'],
  ],
  [
    'pvc disk',
    {},
    [
      'NAME   STATUS   VOLUME   CAPACITY   ACCESS MODES   STORAGECLASS   VOLUMEATTRIBUTESCLASS   AGE',
      'disk   Bound             1Gi        RWO                           <unset>                 <unknown>',
    ],
  ],
  [
    'pvc',
    { output: 'wide', headers: false, labelColumns: ['app'] },
    ['disk   Bound      1Gi   RWO      <unset>   <unknown>   Filesystem   disk'],
  ],
  ['cm', { output: 'name', selector: 'app' }, ['configmap/settings']],
  ['secrets', { namespace: 'x' }, ['No resources found in x namespace.']],
])('%s %j', async (words, flags, lines) => {
  expect(await shown(words, flags)).toBe(`${lines.join('\n')}\n`);
});

test('values of Secrets are nowhere', async () => {
  const text = await shown('secret token', { output: 'yaml' });
  expect(text).toMatch(/^kind: Secret$/mu);
  expect(text).toMatch(/^ {2}password: /mu);
  expect(text).not.toContain('aHVudGVyMg');
  expect(await shown('secrets', { output: 'json' })).not.toContain('aHVudGVyMg');
});

test('those of ConfigMaps are shown', async () => {
  expect(JSON.parse(await shown('cm settings', { output: 'json' }))).toMatchObject({ data: { a: '1' } });
});

test('one that is not there is an error, and so is a watch', async () => {
  await expect(shown('cm none')).rejects.toMatchObject({
    kind: 'NotFound',
    message: 'there is no "none" among the configmaps of namespace default',
  });
  expect(await shown('cm none', { ignoreNotFound: true, output: 'name' })).toBe('');
  await expect(shown('cm', { watch: true })).rejects.toMatchObject({ kind: 'InvalidArgument' });
});
