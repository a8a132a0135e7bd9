/** Measures one case of `bench:simulate` in a process of its own: `NODES PODS`. Prints JSON. Needs --expose-gc. */
import { measurePods } from './simulated-pods.ts';

const [nodes = 1, pods = 1] = process.argv.slice(2).map(Number);
const { gc } = globalThis;
if (gc === undefined) throw new Error('run with --expose-gc');
const costs = await measurePods(nodes, pods, () => {
  gc();
});
process.stdout.write(JSON.stringify(costs));
