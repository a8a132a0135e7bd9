import { type ChildProcess, spawn, type SpawnOptions } from 'node:child_process';

/** Where the programs of a test run: on this machine, or in namespaces of their own. */
export interface Launcher {
  /** Folders of a test lie in it. Default: the system's folder for temporary files. */
  readonly dir?: string;
  spawn(command: string, args: readonly string[], options: SpawnOptions): ChildProcess;
  /** Sends a signal to the program itself. */
  signal(child: ChildProcess, signal: NodeJS.Signals): void;
  /** Ends all that was launched. */
  stop?(): Promise<void>;
}

export const THIS_MACHINE: Launcher = {
  spawn: (command, args, options) => spawn(command, args, options),
  signal: (child, signal) => void child.kill(signal),
};
