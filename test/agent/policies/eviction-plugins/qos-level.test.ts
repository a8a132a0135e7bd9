import { expect, test } from '@jest/globals';
import { isSkipped, shownToPlugins } from '../../../../src/agent/policies/eviction-plugins/qos-level.ts';
import { requestingPod } from '../../../support/admission.ts';

const SOURCE = 'kubernetes.io/config.source';
const running = { phase: 'Running' };

test('a pod is shown with the status that this node has computed', () => {
  const pod = requestingPod('a');
  expect(shownToPlugins(pod, running)).toEqual({ ...pod, status: running });
  expect(shownToPlugins(pod, undefined)).toBe(pod);
});

test('the same object is shown until the status changes', () => {
  const pod = requestingPod('a');
  const shown = shownToPlugins(pod, running);
  expect(shownToPlugins(pod, running)).toBe(shown);
  const later = { phase: 'Running' };
  expect(shownToPlugins(pod, later)).not.toBe(shown);
  expect(shownToPlugins(pod, later).status).toBe(later);
});

test('an ordinary pod of a manifest is shown as one of the API server, a static one as it is', () => {
  const local = requestingPod('local', { annotations: { [SOURCE]: 'local', other: 'x' } });
  expect(shownToPlugins(local, undefined).metadata).toEqual({
    ...local.metadata,
    annotations: { [SOURCE]: 'api', other: 'x' },
  });
  expect(local.metadata.annotations?.[SOURCE]).toBe('local');
  const fixed = requestingPod('static', { annotations: { [SOURCE]: 'file' } });
  expect(shownToPlugins(fixed, undefined).metadata.annotations).toEqual({ [SOURCE]: 'file' });
});

test('a pod is kept from plugins by the name of an annotation or a label, whatever its value', () => {
  const settings = { skippedAnnotations: ['keep'], skippedLabels: ['stay'] };
  const plain = requestingPod('a');
  const kept = (metadata: object) =>
    isSkipped({ ...plain, metadata: { ...plain.metadata, ...metadata } }, settings);
  expect(kept({})).toBe(false);
  expect(kept({ annotations: { keep: '' } })).toBe(true);
  expect(kept({ annotations: { stay: 'x' } })).toBe(false);
  expect(kept({ labels: { stay: 'false' } })).toBe(true);
});
