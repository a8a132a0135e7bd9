/** The shortest paths to every state of every machine, replayed against the production actors on real processes. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { evictionMachine } from '../../src/agent/machines/eviction-machine.ts';
import { podMachine } from '../../src/agent/machines/pod-machine.ts';
import { preemptionMachine } from '../../src/agent/machines/preemption-machine.ts';
import { probeMachine } from '../../src/agent/machines/probe-machine.ts';
import { supervisorMachine } from '../../src/agent/machines/supervisor-machine.ts';
import { Coverage } from './coverage.ts';
import { plainEvictionEnvironment } from './eviction/eviction-environment.ts';
import { replayEviction } from './eviction/eviction-replay.ts';
import { embeddedPathNode } from './path-node.ts';
import { shortestPathsToStates } from './paths.ts';
import { podEnvironment } from './pod/pod-environment.ts';
import { replayPod } from './pod/pod-replay.ts';
import { plainPreemptionEnvironment } from './preemption/preemption-environment.ts';
import { replayPreemption } from './preemption/preemption-replay.ts';
import { probeEnvironment } from './probe/probe-environment.ts';
import { replayProbe } from './probe/probe-replay.ts';
import { supervisorEnvironment } from './supervisor/supervisor-environment.ts';
import { replaySupervisor } from './supervisor/supervisor-replay.ts';

const LONG_MS = 120_000;

let pathNode: Awaited<ReturnType<typeof embeddedPathNode>>;
const eviction = new Coverage(evictionMachine);
const pod = new Coverage(podMachine);
const preemption = new Coverage(preemptionMachine);
const probe = new Coverage(probeMachine);
const supervisor = new Coverage(supervisorMachine);

beforeAll(async () => {
  pathNode = await embeddedPathNode();
});
afterAll(async () => {
  await pathNode.close();
  for (const coverage of [eviction, pod, preemption, probe, supervisor]) coverage.print('on real processes');
});

test.each(['nothing', 'ended', 'running'] as const)(
  'a pod, when the runtime holds %s',
  async (holds) => {
    for (const path of shortestPathsToStates(podEnvironment(holds)))
      await replayPod(pathNode, holds, path, pod);
    expect(pod.unvisited()).toEqual([]);
  },
  LONG_MS,
);

test(
  'a preemption',
  async () => {
    const situation = { preemptor: 'static', second: 'ending' } as const;
    for (const path of shortestPathsToStates(plainPreemptionEnvironment(situation)))
      await replayPreemption(pathNode, situation, path, preemption);
    expect(preemption.unvisited()).toEqual([]);
  },
  LONG_MS,
);

test(
  'eviction',
  async () => {
    for (const resource of ['memory', 'disk', 'pids'] as const)
      for (const path of shortestPathsToStates(plainEvictionEnvironment({ resource })))
        await replayEviction(pathNode, { resource }, path, eviction);
    expect(eviction.unvisited()).toEqual([]);
  },
  LONG_MS,
);

test.each(['startup', 'liveness', 'readiness'] as const)(
  'a %s probe',
  async (kind) => {
    for (const path of shortestPathsToStates(probeEnvironment(kind)))
      await replayProbe(pathNode, kind, path, probe);
    expect(probe.unvisited()).toEqual([]);
  },
  LONG_MS,
);

test(
  'the supervisor',
  async () => {
    const sources = ['file', 'http'];
    for (const path of shortestPathsToStates(supervisorEnvironment(sources)))
      await replaySupervisor(pathNode, sources, path, supervisor);
    expect(supervisor.unvisited()).toEqual([]);
  },
  LONG_MS,
);
