import { describe, expect, test } from '@jest/globals';
import { initialNode } from '../../../../src/agent/policies/node/initial-node.ts';
import { REGISTRATION } from '../../../support/node-status-facts.ts';

const UNSCHEDULABLE = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' };

describe('the node that registers', () => {
  test('has the labels of its name, operating system and architecture', () => {
    expect(initialNode(REGISTRATION)).toEqual({
      apiVersion: 'v1',
      kind: 'Node',
      metadata: {
        name: 'node-1',
        annotations: { 'volumes.kubernetes.io/controller-managed-attach-detach': 'true' },
        labels: {
          'kubernetes.io/hostname': 'node-1',
          'kubernetes.io/os': 'linux',
          'kubernetes.io/arch': 'amd64',
          'beta.kubernetes.io/os': 'linux',
          'beta.kubernetes.io/arch': 'amd64',
        },
      },
      spec: {},
    });
  });

  test('takes --node-labels over its own', () => {
    const { metadata } = initialNode({
      ...REGISTRATION,
      nodeLabels: { 'kubernetes.io/hostname': 'other', disk: 'ssd' },
    });
    expect(metadata.labels).toMatchObject({ 'kubernetes.io/hostname': 'other', disk: 'ssd' });
  });

  test('with --register-schedulable=false has the taint from the beginning', () => {
    const { spec } = initialNode({ ...REGISTRATION, registerSchedulable: false });
    expect(spec).toEqual({ unschedulable: true, taints: [UNSCHEDULABLE] });
  });

  test('has that taint once if the settings name it', () => {
    const registerWithTaints = [UNSCHEDULABLE];
    const { spec } = initialNode({ ...REGISTRATION, registerSchedulable: false, registerWithTaints });
    expect(spec?.taints).toEqual([UNSCHEDULABLE]);
  });

  test('waits for the cloud controller behind a taint, after those of the settings', () => {
    const registerWithTaints = [{ key: 'maint', effect: 'NoExecute' }];
    const settings = {
      ...REGISTRATION,
      registerWithTaints,
      externalCloudProvider: true,
      providerID: 'cloud:///1',
    };
    expect(initialNode(settings).spec).toEqual({
      providerID: 'cloud:///1',
      taints: [
        { key: 'maint', effect: 'NoExecute' },
        { key: 'node.cloudprovider.kubernetes.io/uninitialized', value: 'true', effect: 'NoSchedule' },
      ],
    });
  });
});
