import { readdirSync, readFileSync } from 'node:fs';
import { waitFor } from './wait-for.ts';

/** Resolves when no thread of the process runs any more: the signal reaches one after the other. `SIGCONT` lets it go on. */
export async function holdStill(pid: number): Promise<void> {
  process.kill(pid, 'SIGSTOP');
  await waitFor(() => threadsOf(pid).every((state) => state === 'T'), {
    what: `all threads of ${pid} to stand still`,
  });
}

/** The state of each thread. One may end while this looks. */
function threadsOf(pid: number): string[] {
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
