/** Sends the signal to a process, which may have ended. Refuses process groups: 0 would be the group of the test itself. */
export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  if (!(pid > 1)) throw new RangeError(`${pid} is not the pid of a process that a test started`);
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
