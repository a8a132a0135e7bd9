import type { NodeAgent } from '../actors/node-agent.ts';
import type { Clock } from '../types/clock.ts';
import { StateletError } from '../types/errors.ts';
import { awaitChange } from './await-change.ts';

/** Resolves when the runtime is ready, or the signal aborts. Rejects with `Unavailable` when it is not ready after `patienceMs`. */
export async function awaitRuntime(
  { supervisor }: NodeAgent,
  clock: Clock,
  signal: AbortSignal,
  patienceMs: number,
): Promise<void> {
  const atMs = clock.now() + patienceMs;
  while (supervisor.runtimeProblem !== undefined && !signal.aborted) {
    if (clock.now() >= atMs) {
      throw new StateletError('Unavailable', `container runtime is not ready: ${supervisor.runtimeProblem}`);
    }
    await awaitChange(supervisor.actor, { clock, signal, atMs });
  }
}
