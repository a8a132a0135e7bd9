import { closeSync, readdirSync, readFileSync } from 'node:fs';

/** O_CLOEXEC in the octal flags of /proc/self/fdinfo. */
const CLOSE_ON_EXEC = 0o2000000;

/**
 * Closes what this process was started with beside the standard streams and `keep`: a descriptor of the starting shell
 * would otherwise reach every container. Node marks the low ones as close-on-exec when it starts, but no further than to
 * the first gap above 16; everything that it opens itself is marked.
 */
export function closeInheritedDescriptors(keep: number): void {
  for (const fd of readdirSync('/proc/self/fd').map(Number)) {
    if (fd > 2 && fd !== keep && isPassedOn(fd)) closeSync(fd);
  }
}

/** The folder was read through a descriptor that is gone by now. */
function isPassedOn(fd: number): boolean {
  try {
    const flags = /^flags:\s*(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'latin1'))?.[1] ?? '';
    return (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) === 0;
  } catch {
    return false;
  }
}
