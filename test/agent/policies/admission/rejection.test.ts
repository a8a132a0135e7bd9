import { expect, test } from '@jest/globals';
import {
  type AdmissionFailure,
  mayFitLater,
  missingResources,
  rejectionFor,
  unexpectedAdmissionError,
} from '../../../../src/agent/policies/admission/rejection.ts';

const CPU: AdmissionFailure = {
  kind: 'resource',
  resource: 'cpu',
  requested: 1500,
  used: 700,
  capacity: 2000,
};
const PORTS: AdmissionFailure = {
  kind: 'predicate',
  name: 'NodePorts',
  description: "node(s) didn't have free ports",
};

test("a missing resource gives the kubelet's reason, with its figures", () => {
  expect(rejectionFor(CPU)).toEqual({
    reason: 'OutOfcpu',
    message: "Node didn't have enough resource: cpu, requested: 1500, used: 700, capacity: 2000",
  });
});

test('a failed predicate gives its name as the reason', () => {
  expect(rejectionFor(PORTS)).toEqual({
    reason: 'NodePorts',
    message: "Predicate NodePorts failed: node(s) didn't have free ports",
  });
});

test('the missing amount is the request less what is free; predicates lack no resources', () => {
  const memory: AdmissionFailure = {
    kind: 'resource',
    resource: 'memory',
    requested: 10,
    used: 30,
    capacity: 20,
  };
  expect(missingResources([CPU, PORTS, memory])).toEqual([
    { resource: 'cpu', amount: 200 },
    { resource: 'memory', amount: 20 },
  ]);
});

test('an admission that fails with an error has its own reason', () => {
  expect(unexpectedAdmissionError('no pods')).toEqual({
    reason: 'UnexpectedAdmissionError',
    message: 'Unexpected error while attempting to recover from admission failure: no pods',
  });
});

test.each([
  ['OutOfcpu', true],
  ['OutOfpods', true],
  ['NodePorts', true],
  ['UnexpectedAdmissionError', true],
  ['TopologyAffinityError', true],
  ['SMTAlignmentError', true],
  ['NodeAffinity', false],
  ['TaintToleration', false],
  ['Evicted', false],
])('a pod rejected with the reason %s may be admitted later, when others have ended: %s', (reason, want) => {
  expect(mayFitLater({ reason, message: '' })).toBe(want);
  expect(mayFitLater({ reason, message: '', isForGood: true })).toBe(false);
});
