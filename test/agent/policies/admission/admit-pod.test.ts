import { describe, expect, test } from '@jest/globals';
import {
  admissionFailures,
  admitPod,
  admitRunningPod,
  beyondNode,
  invalidPodRejection,
  nodeLabels,
  platformRejection,
  pressureRejection,
  toleratesTaint,
} from '../../../../src/agent/policies/admission/admit-pod.ts';
import { usedBy, NOTHING_USED } from '../../../../src/agent/policies/admission/used-resources.ts';
import type { Toleration } from '../../../../src/types/kubernetes.ts';
import type { NodeFacts } from '../../../../src/types/node-facts.ts';
import { requestingPod, type RequestingPod, testNode } from '../../../support/admission.ts';
import { testPod } from '../../../support/pods.ts';
import { testVectors } from '../../../support/test-vectors.ts';

testVectors('admission');

const STATIC = { 'kubernetes.io/config.source': 'file' };
const FULL = [requestingPod('full', { requests: { cpu: '4', memory: '4Gi' } })];
const ADMITTED = { kind: 'admitted' };

const admit = (fields: RequestingPod, facts: Partial<NodeFacts> = {}, others = FULL) =>
  admitPod(testNode(facts), requestingPod('new', fields), usedBy(others));

test('a pod is too large for the node by its memory, or else its CPU, and by nothing else', () => {
  const beyond = (requests: Record<string, string>) =>
    beyondNode(testNode(), requestingPod('new', { requests }))?.resource;
  expect(beyond({ cpu: '4', memory: '4Gi' })).toBeUndefined();
  expect(beyond({ cpu: '5', memory: '1Ti' })).toBe('memory');
  expect(beyond({ cpu: '5', 'example.com/gpu': '1' })).toBe('cpu');
  expect(beyond({ cpu: '1', 'example.com/gpu': '1' })).toBeUndefined();
});

describe('an ordinary pod', () => {
  test('that fits is admitted', () => {
    expect(admit({})).toEqual(ADMITTED);
    expect(admit({ requests: { cpu: '4' } }, {}, [])).toEqual(ADMITTED);
  });

  test('that fails several checks is rejected for the first of them', () => {
    const fields = { requests: { cpu: '1', memory: '1Gi' }, nodeSelector: { zone: 'b' }, nodeName: 'node2' };
    const failures = admissionFailures(testNode(), requestingPod('new', fields), usedBy(FULL));
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

const MESSAGE = 'spec.containers: must have at least 1 item';

const broken = {
  ...testPod({ annotations: { 'statelet.dev/invalid': MESSAGE } }),
  spec: { containers: [] },
};

test('a pod that the source could not use is rejected with what is wrong', () => {
  expect(invalidPodRejection(broken)).toEqual({ reason: 'FailedValidation', message: MESSAGE });
});

test('it is not admitted, and where it ran before the agent started it ends', () => {
  expect(admitPod(testNode(), broken, NOTHING_USED)).toEqual({
    kind: 'rejected',
    reason: 'FailedValidation',
    message: MESSAGE,
  });
  expect(admitRunningPod(testNode(), broken)).toMatchObject({ reason: 'FailedValidation' });
});

test('a pod that holds is not rejected', () => {
  expect(invalidPodRejection(testPod())).toBeUndefined();
});

testVectors('evictionAdmit');

const MEMORY = ['MemoryPressure'];

const BEST_EFFORT = requestingPod('besteffort');

const BURSTABLE = requestingPod('burstable', { requests: { memory: '1Mi' } });

test('without pressure every pod is admitted, under pressure every critical pod', () => {
  expect(pressureRejection([], BEST_EFFORT)).toBeUndefined();
  const critical = requestingPod('critical', { critical: true });
  const fromFile = requestingPod('static', { annotations: { 'kubernetes.io/config.source': 'file' } });
  for (const pod of [critical, fromFile])
    expect(pressureRejection(['MemoryPressure', 'DiskPressure'], pod)).toBeUndefined();
});

test('under memory pressure alone, pods that request memory or tolerate the pressure are admitted', () => {
  expect(pressureRejection(MEMORY, BURSTABLE)).toBeUndefined();
  expect(pressureRejection(MEMORY, BEST_EFFORT)).toEqual({
    reason: 'Evicted',
    message: 'The node had condition: [MemoryPressure]. ',
  });
  const tolerations = [{ key: 'node.kubernetes.io/memory-pressure', operator: 'Exists' }];
  expect(pressureRejection(MEMORY, requestingPod('tolerant', { tolerations }))).toBeUndefined();
});

test('under any other pressure, no pod is admitted that is not critical', () => {
  expect(pressureRejection(['DiskPressure', 'MemoryPressure'], BURSTABLE)?.message).toBe(
    'The node had condition: [DiskPressure MemoryPressure]. ',
  );
});

test('selectors see the real operating system, whatever the labels of the node say', () => {
  expect(Object.fromEntries(nodeLabels(testNode()))).toEqual({
    zone: 'a',
    'kubernetes.io/os': 'linux',
    'kubernetes.io/arch': 'amd64',
  });
  const labelled = testNode({ labels: { 'kubernetes.io/os': 'plan9', 'kubernetes.io/arch': 'arm64' } });
  expect(Object.fromEntries(nodeLabels(labelled))).toEqual({
    'kubernetes.io/os': 'linux',
    'kubernetes.io/arch': 'arm64',
  });
});

test('a pod for another operating system is rejected, whether its label or its field says so', () => {
  const { metadata, spec } = requestingPod('p');
  const labelled = (os: string) => ({ spec, metadata: { ...metadata, labels: { 'kubernetes.io/os': os } } });
  expect(platformRejection(testNode(), labelled('windows'))?.reason).toBe(
    'PodOSSelectorNodeLabelDoesNotMatch',
  );
  expect(platformRejection(testNode(), labelled('linux'))).toBeUndefined();
  const asking = (name: string) => requestingPod('p', { os: { name } });
  expect(platformRejection(testNode(), asking('windows'))?.reason).toBe('PodOSNotSupported');
  expect(platformRejection(testNode(), asking('linux'))).toBeUndefined();
});

test('a pod with the policy Strict for groups needs a runtime that supports it', () => {
  const asking = (supplementalGroupsPolicy: string) =>
    requestingPod('p', { securityContext: { supplementalGroupsPolicy } });
  const unable = testNode({ supplementalGroupsPolicy: false });
  expect(platformRejection(unable, asking('Strict'))).toEqual({
    reason: 'SupplementalGroupsPolicyNotSupported',
    message: 'SupplementalGroupsPolicy=Strict is not supported in this node',
  });
  expect(platformRejection(unable, asking('Merge'))).toBeUndefined();
  expect(platformRejection(testNode(), asking('Strict'))).toBeUndefined();
});

const TAINT = { key: 'maint', value: 'x', effect: 'NoExecute' };

test.each<[string, Toleration, boolean]>([
  ['the same', { key: 'maint', operator: 'Equal', value: 'x', effect: 'NoExecute' }, true],
  ['no operator: equal', { key: 'maint', value: 'x' }, true],
  ['an empty operator too', { key: 'maint', operator: '', value: 'x' }, true],
  ['another value', { key: 'maint', value: 'y' }, false],
  ['no value', { key: 'maint' }, false],
  ['another key', { key: 'other', operator: 'Exists' }, false],
  ['another effect', { key: 'maint', operator: 'Exists', effect: 'NoSchedule' }, false],
  ['it exists: any value', { key: 'maint', operator: 'Exists', value: 'y' }, true],
  ['no key: all of them', { operator: 'Exists' }, true],
  ['no key, but a value', { value: 'x' }, true],
  ['an operator that is not known', { key: 'maint', operator: 'Lt', value: 'x' }, false],
])('%s', (_, toleration, tolerated) => {
  expect(toleratesTaint([toleration], TAINT)).toBe(tolerated);
});

test('one of several tolerations is enough; without tolerations no taint is tolerated', () => {
  expect(toleratesTaint([{ key: 'other' }, { operator: 'Exists' }], TAINT)).toBe(true);
  expect(toleratesTaint([], TAINT)).toBe(false);
  expect(toleratesTaint(undefined, TAINT)).toBe(false);
});
