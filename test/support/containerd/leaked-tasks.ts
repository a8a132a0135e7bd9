import { closeSync, fstatSync, openSync, readSync, watch } from 'node:fs';

/** The log lines of containerd when it has cancelled the creation of a container's task, and when it cannot remove a sandbox for that reason. */
const LEAKED =
  /StartContainer for \\"(?<started>[0-9a-f]{64})\\" failed" error="failed to create containerd task: failed to get task pid: context canceled|Failed to delete containerd container \\"(?<failed>[0-9a-f]{64})\\"" error="cannot delete running task/gu;

/**
 * Calls `free` with the ID of each task that containerd forgets, until it is closed. If a client disappears while its task is being created, like an
 * agent that is killed, containerd 1.6 may leave the task. Then the container cannot be removed until containerd starts again, and a test that kills
 * agents would fail by chance.
 */
export function watchLeakedTasks(logFile: string, free: (id: string) => void): () => void {
  const log = openSync(logFile, 'r');
  let offset = fstatSync(log).size;
  /** The beginning of a line that is not written to its end. */
  let begun = '';
  const look = () => {
    const bytes = Buffer.alloc(Math.max(0, fstatSync(log).size - offset));
    offset += readSync(log, bytes, 0, bytes.length, offset);
    const lines = (begun + bytes.toString()).split('\n');
    begun = lines.pop() ?? '';
    for (const { groups } of lines.join('\n').matchAll(LEAKED)) free(groups?.started ?? groups?.failed ?? '');
  };
  const watcher = watch(logFile, { persistent: false }, look);
  return () => {
    watcher.close();
    closeSync(log);
  };
}
