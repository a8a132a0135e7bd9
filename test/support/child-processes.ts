import { type ChildProcess, spawn, type SpawnOptions } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { processTable } from '../../src/embedded/containers/proc.ts';
import { sendSignal } from './send-signal.ts';

/** Processes that a test has started. */
export interface ChildProcesses {
  /** A process that leads its own session and group, as the main process of a container does. */
  start(
    command: string,
    args: readonly string[],
    options?: Omit<SpawnOptions, 'detached'>,
  ): ChildProcess & { readonly pid: number };
  /** Runs a script; resolves with the process and the first line that it writes. */
  startShell(
    script: string,
    env?: NodeJS.ProcessEnv,
  ): Promise<{ readonly child: ChildProcess; readonly pid: number; readonly line: string }>;
  /** Kills the sessions of all of them. */
  end(): Promise<void>;
}

export function childProcesses(): ChildProcesses {
  const children: ChildProcess[] = [];
  const start: ChildProcesses['start'] = (command, args, options = {}) => {
    const child = spawn(command, args, { stdio: 'ignore', ...options, detached: true });
    const { pid } = child;
    if (pid === undefined) throw new Error(`${command} could not be started`);
    children.push(child);
    return Object.assign(child, { pid });
  };
  return {
    start,
    startShell: async (script, env = process.env) => {
      const child = start('bash', ['-c', script], { env, stdio: ['ignore', 'pipe', 'ignore'] });
      if (child.stdout === null) throw new Error('the shell has no standard output');
      const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
      return { child, pid: child.pid, line };
    },
    end: async () => {
      for (const child of children.splice(0)) await killSession(child);
    },
  };
}

async function killSession(child: ChildProcess): Promise<void> {
  const { pid = 0, exitCode, signalCode } = child;
  const ended = exitCode === null && signalCode === null ? once(child, 'exit') : undefined;
  for (const stat of processTable()) if (stat.sessionId === pid) sendSignal(stat.pid, 'SIGKILL');
  await ended;
}
