import { describe, expect, test } from '@jest/globals';
import { reconcileExisting } from '../../../src/policies/node-status/existing-node.ts';
import type { Node } from '../../../src/types/kubernetes.ts';
import { registeredNode } from '../../support/node-status-facts.ts';

const initial = registeredNode();

describe('a node that registers and exists already', () => {
  test('is not changed if all is as it should be', () => {
    expect(reconcileExisting(initial, initial, false)).toEqual({ node: initial, changed: false });
  });

  test('takes over annotation, labels and huge pages; spec and other labels stay', () => {
    const existing: Node = {
      metadata: { name: 'node-1', uid: 'u-1', labels: { role: 'db', 'kubernetes.io/arch': 'arm64' } },
      spec: { taints: [{ key: 'k', effect: 'NoSchedule' }] },
      status: {
        capacity: { cpu: '2', 'hugepages-1Gi': '1Gi', 'example.com/gpu': '2' },
        allocatable: { cpu: '2', 'hugepages-1Gi': '1Gi', 'example.com/gpu': '2' },
      },
    };
    const { node, changed } = reconcileExisting(initial, existing, false);
    expect(changed).toBe(true);
    expect(node).toEqual({
      metadata: {
        name: 'node-1',
        uid: 'u-1',
        annotations: initial.metadata.annotations,
        labels: { ...initial.metadata.labels, role: 'db' },
      },
      spec: existing.spec,
      status: {
        capacity: { cpu: '2', 'hugepages-2Mi': '1Gi', 'example.com/gpu': '2' },
        allocatable: { cpu: '2', 'hugepages-2Mi': '1Gi', 'example.com/gpu': '2' },
      },
    });
  });

  test('gives out no extended resource until its plugin is known again', () => {
    const gpu = { 'example.com/gpu': '2' };
    const existing = { ...initial, status: { capacity: gpu, allocatable: gpu } };
    const { status } = reconcileExisting(initial, existing, true).node;
    expect(status).toMatchObject({
      capacity: { 'example.com/gpu': '0' },
      allocatable: { 'example.com/gpu': '0' },
    });
  });
});
