/** `simulate.ts SEEDS`: simulates nodes with drivers, then seeds 1, 2, …. If an invariant is violated, prints it as a line of JSON, with exit code 1. */
import { DRIVER_KINDS } from '../../src/simulation/drivers/driver-kinds.ts';
import { ALL_FAULTS } from '../../src/simulation/plan/fault-kinds.ts';
import { simulate, type SimulationOptions } from '../../src/simulation/simulation.ts';

const NODE = { nodes: 1, pods: 6, hours: 0.5, faults: ALL_FAULTS };
const DRIVERS = { ...NODE, drivers: DRIVER_KINDS };
/** On these, each mutant of drivers is noticed. Many pods share volumes and claims. */
const WITH_DRIVERS: readonly SimulationOptions[] = [
  { ...DRIVERS, seed: 1, faults: [] },
  { ...DRIVERS, seed: 10, pods: 30, hours: 0.15, faults: [] },
  { ...DRIVERS, seed: 1, pods: 15, hours: 0.2, faults: [] },
  { ...DRIVERS, seed: 3, pods: 3, faults: ['drivers'] },
  { ...DRIVERS, seed: 2 },
];
/** They notice `other-disk-counts` and `fewest-processes-first`, which the first two hundred seeds do not notice, or only late. */
const WITH_EVICTIONS: readonly SimulationOptions[] = [
  { ...NODE, seed: 199, pods: 15, hours: 0.15, faults: [] },
  { ...NODE, seed: 5223, hours: 0.15, faults: [] },
];

const seeds = Array.from({ length: Number(process.argv[2]) }, (_, index) => ({ ...NODE, seed: index + 1 }));

for (const run of [...WITH_DRIVERS, ...seeds, ...WITH_EVICTIONS]) {
  const { violation } = await simulate(run);
  if (violation === undefined) continue;
  console.log(JSON.stringify({ seed: run.seed, ...violation }));
  process.exitCode = 1;
  break;
}
