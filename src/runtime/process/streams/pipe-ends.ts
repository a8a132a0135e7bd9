import { closeSync, constants, openSync } from 'node:fs';

const { O_RDONLY, O_RDWR, O_WRONLY, O_NONBLOCK } = constants;

/**
 * Opens an end of a named pipe for a process that is to be started: it gets the end of the file, or SIGPIPE, when the other
 * end is closed. The flags are those that programs expect: blocking.
 */
export function openForProcess(pipe: string, direction: 'reading' | 'writing'): number {
  return whilePipeIsOpen(pipe, () => openSync(pipe, direction === 'reading' ? O_RDONLY : O_WRONLY));
}

/** Opens an end that a process of Node's writes into. The reader may come later. */
export function openForWriting(pipe: string): number {
  return whilePipeIsOpen(pipe, () => openSync(pipe, O_WRONLY | O_NONBLOCK));
}

/** The system opens one direction of a pipe only while the other one is open: a descriptor for both stands in for it. */
function whilePipeIsOpen(pipe: string, open: () => number): number {
  const both = openSync(pipe, O_RDWR | O_NONBLOCK);
  try {
    return open();
  } finally {
    closeSync(both);
  }
}
