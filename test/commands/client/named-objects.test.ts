import { expect, test } from '@jest/globals';
import { namedObjects } from '../../../src/commands/client/named-objects.ts';

test.each([
  ['pods', []],
  ['po', []],
  ['pod web db', ['web', 'db']],
  ['PODS kube-system/web', ['kube-system/web']],
  ['pod/web', ['web']],
  ['pod/web po/db', ['web', 'db']],
])('%s names %j', (words, names) => {
  expect(namedObjects(words.split(' '))).toEqual({ type: 'pods', names });
});

test.each([
  ['podz', /^a node has no resource type "podz", but pods; did you mean "pods"\?$/u],
  ['deployments', /^a node has no resource type "deployments", but pods$/u],
  ['nodes', /see statelet why node/u],
  ['pod/', /"pod\/" is not of the form TYPE\/NAME/u],
  ['pod/web db', /"db" is not of the form TYPE\/NAME/u],
  ['pods pod/web', /"pod\/web" follows a type/u],
])('%s is refused', (words, message) => {
  expect(() => namedObjects(words.split(' '))).toThrow(message);
});
