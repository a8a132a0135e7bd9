/** The paths of the certificate machine, replayed against the production manager. */
import { afterAll, expect, test } from '@jest/globals';
import { certificateMachine } from '../../../src/agent/machines/certificate-machine.ts';
import { Coverage } from '../coverage.ts';
import { shortestPaths } from '../paths.ts';
import { certificateEnvironment } from './certificate-environment.ts';
import { replayCertificate } from './certificate-replay.ts';

const coverage = new Coverage(certificateMachine);

afterAll(() => coverage.print('all events in all states'));

test.each(['client', 'serving'] as const)('every event in every state of a %s certificate', async (kind) => {
  const paths = shortestPaths(certificateEnvironment(kind));
  expect(paths.length).toBeGreaterThan(40);
  for (const path of paths) await replayCertificate(kind, path, coverage);
});

test('every state, transition and guard is covered', () => {
  expect(coverage.uncovered()).toEqual([]);
});
