import { describe, expect, test } from '@jest/globals';
import { admissionFailures, admitPod } from '../../../src/policies/admission/admit-pod.ts';
import { heldBy } from '../../../src/policies/admission/held-resources.ts';
import type { NodeFacts } from '../../../src/types/node-facts.ts';
import { requestingPod, type RequestingPod, testNode } from '../../support/admission.ts';
import { testVectors } from '../../support/test-vectors.ts';

testVectors('admission');

const STATIC = { 'kubernetes.io/config.source': 'file' };
const FULL = [requestingPod('full', { requests: { cpu: '4', memory: '4Gi' } })];
const ADMITTED = { kind: 'admitted' };

const admit = (fields: RequestingPod, facts: Partial<NodeFacts> = {}, others = FULL) =>
  admitPod(testNode(facts), requestingPod('new', fields), heldBy(others));

describe('an ordinary pod', () => {
  test('that fits is admitted', () => {
    expect(admit({})).toEqual(ADMITTED);
    expect(admit({ requests: { cpu: '4' } }, {}, [])).toEqual(ADMITTED);
  });

  test('that fails several checks is rejected for the first of them', () => {
    const fields = { requests: { cpu: '1', memory: '1Gi' }, nodeSelector: { zone: 'b' }, nodeName: 'node2' };
    const failures = admissionFailures(testNode(), requestingPod('new', fields), heldBy(FULL));
    expect(
      failures.map((failure) => (failure.kind === 'resource' ? failure.resource : failure.name)),
    ).toEqual(['cpu', 'memory', 'NodeAffinity', 'NodeName']);
    expect(admit(fields)).toEqual({
      kind: 'rejected',
      reason: 'OutOfcpu',
      message: "Node didn't have enough resource: cpu, requested: 1000, used: 4000, capacity: 4000",
    });
  });

  test('is admitted if it names this node, or no node', () => {
    expect(admit({ nodeName: 'node1' })).toEqual(ADMITTED);
    expect(admit({ nodeName: 'node2' })).toEqual({
      kind: 'rejected',
      reason: 'NodeName',
      message: "Predicate NodeName failed: node(s) didn't match the requested node name",
    });
  });

  test('is rejected if another pod has its port of the node', () => {
    const containers = [{ name: 'c', ports: [{ containerPort: 80, hostPort: 80 }] }];
    const others = [requestingPod('other', { containers })];
    expect(admit({ containers }, {}, others)).toMatchObject({ kind: 'rejected', reason: 'NodePorts' });
  });
});

describe('taints', () => {
  const taint = (effect: string) => ({ taints: [{ key: 'maint', effect }] });

  test('only those with the effect NoExecute keep pods from the node', () => {
    expect(admit({}, taint('NoSchedule'))).toEqual(ADMITTED);
    expect(admit({}, taint('NoExecute'))).toEqual({
      kind: 'rejected',
      reason: 'TaintToleration',
      message: "Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate",
    });
    expect(admit({ tolerations: [{ operator: 'Exists' }] }, taint('NoExecute'))).toEqual(ADMITTED);
  });

  test('a static pod tolerates all of them', () => {
    expect(admit({ annotations: STATIC }, taint('NoExecute'))).toEqual(ADMITTED);
  });
});

describe('a critical pod', () => {
  test('that lacks only resources is short of them: others may be preempted', () => {
    expect(admit({ critical: true, requests: { cpu: '1500m', memory: '1Mi' } })).toEqual({
      kind: 'short',
      missing: [
        { resource: 'cpu', amount: 1500 },
        { resource: 'memory', amount: 2 ** 20 },
      ],
      reason: 'OutOfcpu',
      message: "Node didn't have enough resource: cpu, requested: 1500, used: 4000, capacity: 4000",
    });
  });

  test('what is free does not count as missing', () => {
    const others = [requestingPod('other', { requests: { cpu: '3' } })];
    expect(admit({ annotations: STATIC, requests: { cpu: '1500m' } }, {}, others)).toMatchObject({
      missing: [{ resource: 'cpu', amount: 500 }],
    });
  });

  test('that fails another check is rejected for that, because preemption would not help', () => {
    const fields = { critical: true, requests: { cpu: '1' }, nodeSelector: { zone: 'b' } };
    expect(admit(fields)).toMatchObject({ kind: 'rejected', reason: 'NodeAffinity' });
  });
});

test('pressure is checked first, then the platform, then all other checks', () => {
  const fields = { os: { name: 'windows' }, nodeName: 'node2' };
  const pressed = { conditions: ['DiskPressure'] };
  expect(admit(fields, pressed)).toMatchObject({ kind: 'rejected', reason: 'Evicted' });
  expect(admit(fields)).toMatchObject({ kind: 'rejected', reason: 'PodOSNotSupported' });
  expect(admit({ ...fields, critical: true }, pressed)).toMatchObject({ reason: 'PodOSNotSupported' });
});
