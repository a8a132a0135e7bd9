import { describe, expect, test } from '@jest/globals';
import { landsUnawaited } from '../../../src/simulation/runtime/call-faults.ts';
import { parseProgram, type Program } from '../../../src/simulation/runtime/simulated-program.ts';
import {
  CONTAINERD_LATENCIES,
  type Latencies,
  NO_LATENCIES,
} from '../../../src/simulation/runtime/chance.ts';
import { SimulatedRuntime } from '../../../src/simulation/runtime/simulated-runtime.ts';
import { keyedRandom } from '../../../src/simulation/plan/seeded-random.ts';
import { systemClock } from '../../../src/system/timer.ts';
import { CONTRACT_COMMANDS, runtimeContract, type RuntimeBed } from '../../agent/runtime/runtime-contract.ts';
import { chosen, createPod, outcomeOf, simulatedBed, startPod } from './simulated-bed.ts';

const C = CONTRACT_COMMANDS;
const PROGRAMS = new Map<string, Program>([
  [C.runForever.join(' '), parseProgram(['run'])],
  [C.succeed.join(' '), parseProgram(['succeed'])],
  [C.fail.join(' '), parseProgram(['fail', 'code=3'])],
  [C.ignoreTerm.join(' '), parseProgram(['run', 'ignore-term'])],
  [C.askChild.join(' '), parseProgram(['run', 'term-code=140'])],
  [C.missing.join(' '), { exitCode: 0, startError: { exitCode: 127, message: `no ${C.missing.join(' ')}` } }],
  [C.say.join(' '), parseProgram(['succeed', 'stdout=out', 'stderr=err', 'code=7'])],
]);

/** Short ones, because the clock is real. */
const BRIEF: Latencies = Object.fromEntries(Object.keys(CONTAINERD_LATENCIES).map((name) => [name, [0, 3]]));

const bedOf = (latencies: Latencies) => (): Promise<RuntimeBed> => {
  const simulated = new SimulatedRuntime({
    clock: systemClock,
    random: keyedRandom(1),
    latencies,
    programOf: (words) => PROGRAMS.get(words.join(' ')) ?? parseProgram(words),
  });
  const runtime = simulated.connect();
  return Promise.resolve({ runtime, simulated: true, cleanup: () => runtime.close() });
};

runtimeContract('the simulated runtime', bedOf(BRIEF));
runtimeContract('the simulated runtime without latencies', bedOf(NO_LATENCIES));

const LANDS = chosen(landsUnawaited);
const NEVER_LANDS = chosen((value) => !landsUnawaited(value));
const SLOW_START = { StartContainer: [1000, 1000] } as const;

const stateOf = (bed: ReturnType<typeof simulatedBed>, uid: string) =>
  bed.simulated.sandboxesOf(uid)[0]?.containers[0]?.state;

const bed = simulatedBed();
const { runtime, simulated } = bed;
const start = (uid: string, ...words: readonly string[]) => startPod(bed, uid, words);

describe('without a call of the agent', () => {
  test('a container may end with any code and reason', async () => {
    const { id } = await start('oom', 'run');
    simulated.killContainer(id, 137, 'OOMKilled');
    expect(await runtime.containerStatus(id)).toMatchObject({ exitCode: 137, reason: 'OOMKilled' });
  });

  test('a sandbox may die and leave its containers running', async () => {
    const { id, sandboxId } = await start('headless', 'run');
    simulated.killSandbox(sandboxId);
    expect((await runtime.podSandboxStatus(sandboxId)).state).toBe('SANDBOX_NOTREADY');
    expect((await runtime.containerStatus(id)).state).toBe('CONTAINER_RUNNING');
    expect(simulated.isRunning('headless')).toBe(true);
    await runtime.stopPodSandbox(sandboxId);
    expect(simulated.isRunning('headless')).toBe(false);
  });

  test('a sandbox may die with its containers', async () => {
    const { id, sandboxId } = await start('beheaded', 'run');
    simulated.killSandbox(sandboxId, { withContainers: true });
    expect((await runtime.containerStatus(id)).exitCode).toBe(137);
  });

  test('the network may become not ready', async () => {
    simulated.networkReady = false;
    const [, network] = (await runtime.status()).conditions;
    expect(network).toMatchObject({ type: 'NetworkReady', status: false });
    simulated.networkReady = true;
  });
});

describe('a simulated runtime that goes down', () => {
  test.each([
    ['carries them out at once, if they land', LANDS, 'CONTAINER_RUNNING'],
    ['forgets them, if they do not land', NEVER_LANDS, 'CONTAINER_CREATED'],
  ])('answers calls under way with Unavailable, and %s', async (_, random, state) => {
    const bed = simulatedBed({ latencies: SLOW_START, random });
    const { id } = await createPod(bed, 'pod');
    const outcome = outcomeOf(bed.runtime.startContainer(id));
    bed.simulated.goDown();
    await Promise.resolve();
    expect(outcome.told).toBe('Unavailable');
    expect(stateOf(bed, 'pod')).toBe(state);
    expect(bed.simulated.inFlight('pod')).toEqual([]);
    expect(bed.clock.armed).toBe(0);
  });

  test('keeps its containers running, and sends no SIGKILL', async () => {
    const bed = simulatedBed({ random: LANDS });
    const { id } = await startPod(bed, 'pod', ['run', 'ignore-term']);
    const { id: brief } = await startPod(bed, 'brief', ['run', 'exit-after=5s']);
    const stop = outcomeOf(bed.runtime.stopContainer(id, 1));
    bed.simulated.goDown();
    await bed.clock.advance(10_000);
    expect(stop.told).toBe('Unavailable');
    await expect(bed.runtime.status()).rejects.toMatchObject({ kind: 'Unavailable' });
    bed.simulated.comeUp();
    expect(await bed.runtime.containerStatus(id)).toMatchObject({ state: 'CONTAINER_RUNNING' });
    expect(await bed.runtime.containerStatus(brief)).toMatchObject({ state: 'CONTAINER_EXITED' });
  });
});
