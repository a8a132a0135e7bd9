/** Sends the signal to a process that may have ended by now. Never to a group: 0 would be that of the test itself. */
export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  if (!(pid > 1)) throw new RangeError(`${pid} is not the pid of a process that a test started`);
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
