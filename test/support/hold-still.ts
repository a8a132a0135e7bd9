import { readdirSync, readFileSync } from 'node:fs';
import { waitFor } from './wait-for.ts';

/** Stops a process with SIGSTOP. Resolves when all of its threads have stopped. `SIGCONT` lets it go on. */
export async function holdStill(pid: number): Promise<void> {
  process.kill(pid, 'SIGSTOP');
  await waitFor(() => threadStates(pid).every((state) => state === 'T'), {
    what: `all threads of ${pid} to stop`,
  });
}

/** The state of each thread, as `S` or `T`. A thread may end while this reads. */
export function threadStates(pid: number): string[] {
  const folder = `/proc/${pid}/task`;
  return readdirSync(folder).flatMap((thread) => {
    try {
      const stat = readFileSync(`${folder}/${thread}/stat`, 'latin1');
      return stat.slice(stat.lastIndexOf(')') + 2, stat.lastIndexOf(')') + 3);
    } catch {
      return [];
    }
  });
}
