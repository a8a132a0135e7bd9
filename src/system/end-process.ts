import { existsSync } from 'node:fs';
import { outputWritten } from './terminal.ts';

const SHELL = '/bin/sh';

const lastActs = new Set<() => void>();

/** `act` is called when this process ends itself. It must not wait for anything. Returns a function that takes it back. */
export function beforeEnd(act: () => void): () => void {
  lastActs.add(act);
  process.on('exit', act);
  return () => {
    lastActs.delete(act);
    process.off('exit', act);
  };
}

/**
 * Ends this process at once; output that is not written yet is lost. `process.exit` waits until V8's threads have ended, and one that
 * compiles may wait for the main thread to collect garbage: then the process hangs for ever (nodejs/node issue 54918, seen with Node
 * 24). A shell that takes the place of this process ends it without waiting.
 */
export function endProcess(code: number): never {
  // A process that is replaced tells no listener of its exit.
  for (const act of lastActs) {
    try {
      act();
    } catch {
      // The process ends all the same.
    }
  }
  if (process.execve && existsSync(SHELL)) process.execve(SHELL, ['sh', '-c', `exit ${code}`], {});
  process.exit(code);
}

/** Ends this process when its output is written, or its reader is gone. */
export async function endAfterOutput(code: number): Promise<never> {
  await outputWritten();
  return endProcess(code);
}
