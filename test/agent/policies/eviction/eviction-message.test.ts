import { describe, expect, test } from '@jest/globals';
import {
  EVICTION_THRESHOLD_MET,
  evictionKill,
  evictionMessage,
  evictionThresholdMetMessage,
} from '../../../../src/agent/policies/eviction/eviction-message.ts';
import { requestingPod } from '../../../support/admission.ts';
import { MI, shortageOf, statsOf, usingMemory } from '../../../support/eviction.ts';

const MEMORY = shortageOf('memory.available', '100Mi', { memory: 50 });
const DISK = shortageOf('nodefs.available', '10Gi', { disk: 5 });

describe('the message in the status of the pod', () => {
  test('names resource, figures and the containers over their requests, sidecars too', () => {
    const pod = requestingPod('a', {
      requests: { memory: '10Mi' },
      initContainers: [{ name: 'sidecar', restartPolicy: 'Always' }],
    });
    const stats = statsOf('a', {
      containers: ['main', 'sidecar', 'stranger'].map((name) => ({
        name,
        memory: { workingSetBytes: 20 * MI },
      })),
    });
    expect(evictionMessage(MEMORY, pod, stats)).toEqual({
      message:
        'The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. ' +
        'Container main was using 20Mi, request is 10Mi, has larger consumption of memory. ' +
        'Container sidecar was using 20Mi, request is 0, has larger consumption of memory. ',
      annotations: {
        offending_containers: 'main,sidecar',
        offending_containers_usage: '20Mi,20Mi',
        starved_resource: 'memory',
      },
    });
  });

  test('writable layer and logs are added if both are known', () => {
    const pod = requestingPod('a');
    const known = statsOf('a', {
      containers: [{ name: 'main', rootfs: { usedBytes: MI }, logs: { usedBytes: MI } }],
    });
    const unknown = statsOf('a', { containers: [{ name: 'main', rootfs: { usedBytes: MI } }] });
    expect(evictionMessage(DISK, pod, known).message).toContain('Container main was using 2Mi, request is 0');
    expect(evictionMessage(DISK, pod, unknown).message).not.toContain('Container');
  });

  test('a pod with a pod-level memory request is named before its containers, whatever it uses', () => {
    const pod = requestingPod('a', { resources: { requests: { memory: '1Gi' } } });
    const { message, annotations } = evictionMessage(MEMORY, pod, usingMemory('a', 20));
    expect(message).toContain(
      'Pod a was using 20Mi, request is 1Gi, has larger consumption of memory. Container main was using 20Mi',
    );
    expect(annotations).toMatchObject({ offending_pod: 'a', offending_pod_usage: '20Mi' });
    expect(evictionMessage(DISK, pod, usingMemory('a', 20)).message).not.toContain('Pod a');
    expect(evictionMessage(MEMORY, pod, statsOf('a', {})).annotations).not.toHaveProperty('offending_pod');
  });

  test('for a pod without stats the message is only about the node, without annotations', () => {
    expect(evictionMessage(MEMORY, requestingPod('a'), undefined)).toEqual({
      message: 'The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. ',
      annotations: {},
    });
  });
});

test('the event on the node names the resource', () => {
  expect([EVICTION_THRESHOLD_MET, evictionThresholdMetMessage(DISK)]).toEqual([
    'EvictionThresholdMet',
    'Attempting to reclaim ephemeral-storage',
  ]);
});

test('a pod that is evicted for a shortage is marked as disrupted; a pod that exceeds its own limit is not', () => {
  expect(evictionKill('why', 1, { isDisrupted: true })).toEqual({
    evict: true,
    podTerminationGracePeriodSecondsOverride: 1,
    podStatus: {
      phase: 'Failed',
      reason: 'Evicted',
      message: 'why',
      conditions: [
        { type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet', message: 'why' },
      ],
    },
  });
  expect(evictionKill('why', 1, { isDisrupted: false }).podStatus).not.toHaveProperty('conditions');
});
