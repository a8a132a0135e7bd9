import { expect, test } from '@jest/globals';
import { metadataProblems } from '../../../src/sources/rules/metadata-rules.ts';
import { problemText } from '../../../src/sources/source.ts';

function problems(metadata: object, nodeName = 'node-1', containers = [{ name: 'main' }]): string[] {
  const root = { path: '', value: { metadata: { name: 'web', ...metadata }, spec: { containers } } };
  return Array.from(metadataProblems(root, nodeName), (problem) => problemText(problem));
}

test('a pod must have a name', () => {
  expect(problems({ name: undefined })).toEqual(['metadata.name: is required']);
});

test('the name must leave space for the name of the node, which is appended', () => {
  expect(problems({ name: 'a'.repeat(246) })).toEqual([]);
  expect(problems({ name: 'a'.repeat(247) })).toEqual([
    'metadata.name: must be at most 246 characters: "-node-1" is appended',
  ]);
});

test('all annotations together have at most 256 KiB, including their keys', () => {
  const text = 'x'.repeat(256 * 1024 - 1);
  expect(problems({ annotations: { a: text } })).toEqual([]);
  expect(problems({ annotations: { ab: text } })).toEqual([
    'metadata.annotations: must have no more than 256 KiB together',
  ]);
});

test('an AppArmor annotation names a container of the pod and a known profile', () => {
  const key = (container: string) => `container.apparmor.security.beta.kubernetes.io/${container}`;
  expect(problems({ annotations: { [key('main')]: 'localhost/mine' } })).toEqual([]);
  expect(problems({ annotations: { [key('other')]: 'unconfined', [key('main')]: 'mine' } })).toEqual([
    `metadata.annotations[${key('other')}]: there is no container "other"`,
    `metadata.annotations[${key('main')}]: must be unconfined, runtime/default or localhost/PROFILE`,
  ]);
});

test('a finalizer is a standard one or has a domain', () => {
  expect(problems({ finalizers: ['orphan', 'example.com/mine', 'mine'] })).toEqual([
    'metadata.finalizers[2]: must be a name with a domain such as example.com/finalizer',
  ]);
});

test('at most one owner is the controller', () => {
  const owner = { name: 'a', controller: true };
  expect(problems({ ownerReferences: [owner, { name: 'b' }] })).toEqual([]);
  expect(problems({ ownerReferences: [owner, owner] })).toEqual([
    'metadata.ownerReferences: must name only one controller',
  ]);
});

test('metadata that breaks the schema is skipped', () => {
  expect(problems({ annotations: 'none', finalizers: [3], ownerReferences: {} })).toEqual([]);
});
