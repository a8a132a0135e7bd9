/** One case of `bench:simulate`, as a process: `NODES PODS`, and its result as JSON. Needs --expose-gc. */
import { measureLives } from './simulated-lives.ts';

const [nodes = 1, pods = 1] = process.argv.slice(2).map(Number);
const { gc } = globalThis;
if (gc === undefined) throw new Error('run with --expose-gc');
const lives = await measureLives(nodes, pods, () => {
  gc();
});
process.stdout.write(JSON.stringify(lives));
