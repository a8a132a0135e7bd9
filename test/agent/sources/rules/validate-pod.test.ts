import { expect, test } from '@jest/globals';
import { podProblems } from '../../../../src/agent/sources/rules/validate-pod.ts';
import { problemText } from '../../../../src/agent/sources/source.ts';
import { podWith } from '../support.ts';

const problems = (pod: unknown) =>
  podProblems(pod, { source: 'file', nodeName: 'node' }).map((problem) => problemText(problem));

test('a valid pod has no problems', () => {
  expect(problems(podWith({}))).toEqual([]);
});

test('problems of the schema, between fields and of references are reported together', () => {
  const containers = [{ name: 'a', tty: 'x' }, { name: 'a' }];
  expect(problems(podWith({ containers, serviceAccountName: 'robot' }))).toEqual([
    'spec.containers[0].tty: must be boolean (got "x")',
    'spec.containers[1].name: is already used by spec.containers[0]',
    'spec.serviceAccountName: static pods may not reference serviceaccounts',
  ]);
});

test('the rules for volumes and resources are checked only if the schema is not violated', () => {
  const resources = { requests: { 'example.com/gpu': 1 } };
  const message =
    'spec.containers[0].resources.requests.example.com/gpu: needs a limit of the same amount: it cannot be overcommitted';
  expect(problems(podWith({ containers: [{ name: 'a', resources }] }))).toEqual([message]);
  expect(problems(podWith({ containers: [{ name: 'a', resources, tty: 'x' }] }))).toEqual([
    'spec.containers[0].tty: must be boolean (got "x")',
  ]);
});

test('fifty problems of the schema have details; the others only say that they do not fit', () => {
  const fields = Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`field${index}`, 1]));
  const found = problems(podWith(fields));
  expect(found).toHaveLength(60);
  expect([found[49], found[50]]).toEqual(['spec.field49: unknown field', 'does not fit the schema']);
});

test('a member that is null is a problem: the reader of manifests has removed such members', () => {
  expect(problems(podWith({ hostNetwork: null }))).toEqual(['spec.hostNetwork: must be boolean (got null)']);
});
