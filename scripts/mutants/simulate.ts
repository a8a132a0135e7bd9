/** `simulate.ts SEEDS`: simulates seeds 1, 2, …, and before them seed 1 with drivers of nodes. If an invariant is violated, prints it as a line of JSON, with exit code 1. */
import { DRIVER_KINDS } from '../../src/simulation/drivers/driver-kinds.ts';
import { ALL_FAULTS } from '../../src/simulation/plan/fault-kinds.ts';
import { simulate } from '../../src/simulation/simulation.ts';

const seeds = Number(process.argv[2]);

// The first run is the one with drivers.
for (let ordinal = 0; ordinal <= seeds; ordinal++) {
  const seed = Math.max(1, ordinal);
  const nodes = ordinal === 0 ? { faults: [], drivers: DRIVER_KINDS } : { faults: ALL_FAULTS };
  const { violation } = await simulate({ seed, nodes: 1, pods: 6, hours: 0.5, ...nodes });
  if (violation === undefined) continue;
  console.log(JSON.stringify({ seed, ...violation }));
  process.exitCode = 1;
  break;
}
