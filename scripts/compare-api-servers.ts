/**
 * Plays random writes of two clients against a real API server and the double of the tests, and prints the first step of each seed at which they
 * differ. Needs the programs of a control plane, and root. `--seeds 1..50`, `--steps 80`.
 */
import { parseArgs } from 'node:util';
import { startControlPlane } from '../test/support/control-plane/control-plane.ts';
import { compareSeed } from '../test/support/api-server/random/compare-servers.ts';
import { noControlPlaneBecause } from '../test/support/kubernetes-programs.ts';

const options = {
  seeds: { type: 'string', default: '1..20' },
  steps: { type: 'string', default: '80' },
} as const;
const { values } = parseArgs({ options });
const [, first, last] = /^(\d+)(?:\.\.(\d+))?$/u.exec(values.seeds) ?? [];
const steps = Number(values.steps);
const reason = noControlPlaneBecause();
if (first === undefined || !Number.isInteger(steps) || steps < 1) {
  console.error('compare:api-servers: --seeds is a number or a range such as 1..20, and --steps a number');
  process.exitCode = 2;
} else if (reason !== undefined) {
  console.error(`compare:api-servers: no real control plane: ${reason}`);
  process.exitCode = 1;
} else await compare(Number(first), Number(last ?? first));

async function compare(from: number, to: number): Promise<void> {
  const [real, double] = await Promise.all([
    startControlPlane({ programs: 'real' }),
    startControlPlane({ programs: 'double' }),
  ]);
  let differing = 0;
  try {
    for (let seed = from; seed <= to; seed += 1) {
      const difference = await compareSeed({ real, double }, seed, steps);
      if (difference === undefined) continue;
      differing += 1;
      console.log(difference);
    }
  } finally {
    await Promise.all([real.stop(), double.stop()]);
  }
  console.log(`${String(to - from + 1)} seeds of ${String(steps)} steps: ${String(differing)} differ`);
  process.exitCode = differing === 0 ? 0 : 1;
}
