import { parseProgram, type Program } from '../../../src/runtime/simulated/simulated-program.ts';
import {
  CONTAINERD_LATENCIES,
  type Latencies,
  NO_LATENCIES,
} from '../../../src/runtime/simulated/latencies.ts';
import { SimulatedRuntime } from '../../../src/runtime/simulated/simulated-runtime.ts';
import { keyedRandom } from '../../../src/simulation/plan/seeded-random.ts';
import { systemClock } from '../../../src/system/system-clock.ts';
import { CONTRACT_COMMANDS, runtimeContract, type RuntimeBed } from '../runtime-contract.ts';

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

/** The clock is a real one. */
const BRIEF: Latencies = Object.fromEntries(Object.keys(CONTAINERD_LATENCIES).map((name) => [name, [0, 3]]));

const bedOf = (latencies: Latencies) => (): Promise<RuntimeBed> => {
  const simulated = new SimulatedRuntime({
    ...{ clock: systemClock, random: keyedRandom(1), latencies },
    programOf: (words) => PROGRAMS.get(words.join(' ')) ?? parseProgram(words),
  });
  const runtime = simulated.connect();
  return Promise.resolve({ runtime, simulated: true, cleanup: () => runtime.close() });
};

runtimeContract('the simulated runtime', bedOf(BRIEF));
runtimeContract('the simulated runtime without latencies', bedOf(NO_LATENCIES));
