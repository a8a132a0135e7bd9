import { type ChildProcess, spawn } from 'node:child_process';
import { BoundedOutput } from '../../system/run-command.ts';

/** An answer holds some credentials. What is longer is none. */
const ANSWER_BYTES_MAX = 1024 * 1024;

export interface PluginCommand {
  readonly path: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** For its stdin. */
  readonly input: string;
}

export interface PluginEnd {
  readonly stdout: string;
  readonly stderr: string;
  /** Undefined: it ended well. */
  readonly failure: string | undefined;
}

/**
 * Runs a plugin to its end. When the signal aborts, the plugin is killed with all that it has started in its process group, and this
 * rejects with the signal's reason. Rejects with the system's error where it cannot be started.
 */
export async function runPlugin(command: PluginCommand, signal: AbortSignal): Promise<PluginEnd> {
  signal.throwIfAborted();
  const { path, args, env, input } = command;
  const child = spawn(path, args, { env, stdio: ['pipe', 'pipe', 'pipe'], detached: true });
  const stdout = new BoundedOutput(ANSWER_BYTES_MAX);
  const stderr = new BoundedOutput();
  child.stdout.on('data', (chunk: Buffer) => stdout.add(chunk));
  child.stderr.on('data', (chunk: Buffer) => stderr.add(chunk));
  // A plugin may end without reading its input.
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  const abort = Promise.withResolvers<never>();
  const onAbort = () => {
    kill(child);
    abort.reject(signal.reason);
  };
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    const failure = await Promise.race([endOf(child), abort.promise]);
    const tooLong = stdout.isFull ? 'its answer is longer than 1 MiB' : undefined;
    return { stdout: stdout.toString(), stderr: stderr.toString(), failure: failure ?? tooLong };
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

function endOf(child: ChildProcess): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => {
      if (code === 0) resolve(undefined);
      else resolve(code === null ? `signal: ${signal}` : `exit status ${code}`);
    });
  });
}

function kill(child: ChildProcess): void {
  // A process that has left the group may hold the pipes open.
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.destroy();
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    // It has ended meanwhile.
  }
}
