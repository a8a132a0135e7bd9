import { expect, test } from '@jest/globals';
import { namedObjects } from '../../../src/commands/client/named-objects.ts';

test.each<[string, string[], string?]>([
  ['pods', []],
  ['po', []],
  ['pod web db', ['web', 'db']],
  ['PODS kube-system/web', ['kube-system/web']],
  ['pod/web', ['web']],
  ['pod/web po/db', ['web', 'db']],
  ['cm a', ['a'], 'configmaps'],
  ['secret/a', ['a'], 'secrets'],
  ['pvc', [], 'persistentvolumeclaims'],
])('%s names %j', (words, names, type = 'pods') => {
  expect(namedObjects(words.split(' '))).toEqual({ type, names });
});

test.each([
  [
    'podz',
    /^a node has no resource type "podz", but pods, configmaps, secrets, persistentvolumeclaims, nodes; did you mean "pods"\?$/u,
  ],
  ['deployments', /^a node has no resource type "deployments", but pods, configmaps, /u],
  ['deploy', /; a node has only pods: name one, or choose them by their labels with -l$/u],
  ['events', /see statelet events/u],
  ['all', /see statelet get pods$/u],
  ['pods,cm', /"pods,cm": objects of one type can be named at a time/u],
  ['pod/', /"pod\/" is not of the form TYPE\/NAME/u],
  ['pod/web cm/a', /^objects of one type can be named at a time$/u],
  ['pod/web db', /"db" is not of the form TYPE\/NAME/u],
  ['pods pod/web', /"pod\/web" follows a type/u],
])('%s is refused', (words, message) => {
  expect(() => namedObjects(words.split(' '))).toThrow(message);
});
