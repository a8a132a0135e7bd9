import { expect, test } from '@jest/globals';
import { needlessWatch } from '../../../../src/simulation/judges/contents/watch-check.ts';
import { apiPod } from '../../api/api-bed.ts';

const POD = apiPod('web', { imagePullSecrets: [{ name: 'key' }] });
const OWN = 'secrets/default/key';

test.each([
  ['what a pod refers to', [OWN, 'services//', 'pods//'], undefined],
  [
    'what no pod refers to',
    [OWN, 'configmaps/default/a'],
    'configmaps/default/a is watched, and no pod refers to it',
  ],
  ['the same twice', [OWN, OWN], `${OWN} is watched twice`],
])('a node watches %s', (_, watched, what) => {
  expect(needlessWatch(watched, [POD])).toBe(what);
});
