/** The shortest paths of the pod machine, replayed against the production actor on real processes. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { podMachine } from '../../src/machines/pod-machine.ts';
import { Coverage } from './coverage.ts';
import { embeddedGround } from './ground.ts';
import { shortestPathsToStates } from './paths.ts';
import { podEnvironment } from './pod-environment.ts';
import { replayPod } from './pod-replay.ts';

const coverage = new Coverage(podMachine);
let ground: Awaited<ReturnType<typeof embeddedGround>>;

beforeAll(async () => {
  ground = await embeddedGround();
});
afterAll(async () => {
  await ground.close();
  coverage.print();
});

test.each(['nothing', 'ended', 'running'] as const)(
  'to every state, when the runtime holds %s',
  async (holds) => {
    for (const path of shortestPathsToStates(podEnvironment(holds)))
      await replayPod(ground, holds, path, coverage);
    expect(coverage.uncovered().filter((name) => !/[:[]/.test(name))).toEqual([]);
  },
  120_000,
);
