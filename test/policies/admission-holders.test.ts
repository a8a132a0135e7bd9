import { expect, test } from '@jest/globals';
import { holdsResources } from '../../src/policies/admission-holders.ts';
import { testPod } from '../support/pods.ts';

const RUNNING = { terminationRequested: false, terminated: false };
const ENDING = { terminationRequested: true, terminated: false };
const ENDED = { terminationRequested: true, terminated: true };

test.each([
  ['runs', testPod({ phase: 'Running' }), RUNNING, true],
  ['is ending', testPod({ phase: 'Running', deleted: true }), ENDING, true],
  ['is ending, and already counts as failed', testPod({ phase: 'Failed' }), ENDING, true],
  ['has ended', testPod({ phase: 'Running' }), ENDED, false],
  ['had run to its end before', testPod({ phase: 'Succeeded' }), RUNNING, false],
  ['has no status yet', testPod(), RUNNING, true],
])('a pod that %s', (_, pod, life, holds) => {
  expect(holdsResources(pod, life)).toBe(holds);
});
