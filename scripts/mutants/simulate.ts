/** `simulate.ts SEEDS`: simulates seeds 1, 2, … If an invariant is violated, prints it as a line of JSON, with exit code 1. */
import { ALL_FAULTS } from '../../src/simulation/plan/fault-kinds.ts';
import { simulate } from '../../src/simulation/simulation.ts';

const seeds = Number(process.argv[2]);

for (let seed = 1; seed <= seeds; seed++) {
  const { violation } = await simulate({ seed, nodes: 1, pods: 6, hours: 0.5, faults: ALL_FAULTS });
  if (violation === undefined) continue;
  console.log(JSON.stringify({ seed, ...violation }));
  process.exitCode = 1;
  break;
}
