import { closeSync, readdirSync, readFileSync } from 'node:fs';

/** O_CLOEXEC in the octal flags of /proc/self/fdinfo. */
const CLOSE_ON_EXEC = 0o2000000;

/**
 * Closes the file descriptors that this process has inherited, but for the standard streams and `keep`: a descriptor
 * of the shell that started the daemon would otherwise reach every container. Node marks inherited descriptors as
 * close-on-exec at its start, but only up to the first gap above 16. Descriptors that Node opens itself are all
 * marked, and stay open.
 */
export function closeInheritedDescriptors(keep: number): void {
  for (const fd of readdirSync('/proc/self/fd').map(Number)) {
    if (fd > 2 && fd !== keep && isPassedOn(fd)) closeSync(fd);
  }
}

/** Whether a child process would inherit the descriptor. */
function isPassedOn(fd: number): boolean {
  try {
    const flags = /^flags:\s*(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'latin1'))?.[1] ?? '';
    return (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) === 0;
  } catch {
    // The descriptor by which the folder was read is closed by now.
    return false;
  }
}
