/** logind over the tools that come with it: systemd-inhibit holds the lock (a descriptor that Node cannot receive), busctl does the rest. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { makeFolder } from '../../../system/make-folder.ts';
import { replaceFile } from '../../../system/replace-file.ts';
import { BoundedOutput } from '../../../system/run-command.ts';
import { errorMessage } from '../../../types/errors.ts';

const LOGIND = [
  'org.freedesktop.login1',
  '/org/freedesktop/login1',
  'org.freedesktop.login1.Manager',
] as const;
const SYSTEMD = [
  'org.freedesktop.systemd1',
  '/org/freedesktop/systemd1',
  'org.freedesktop.systemd1.Manager',
] as const;
const SIGNAL = "type='signal',interface='org.freedesktop.login1.Manager',member='PrepareForShutdown'";
/** The kubelet's: an agent that takes the kubelet's place replaces its setting. */
const DROP_IN = { folder: '/etc/systemd/logind.conf.d', name: '99-kubelet.conf' } as const;
const CALL_LIMIT_MS = 5_000;

const run = promisify(execFile);

async function busctl(...args: readonly string[]): Promise<string> {
  const { stdout } = await run('busctl', ['--json=short', ...args], {
    timeout: CALL_LIMIT_MS,
    env: process.env,
  });
  return stdout;
}

/** How long logind lets a shutdown be delayed, in seconds. Rejects where there is no logind. */
export async function inhibitDelayMaxSeconds(): Promise<number> {
  const { data } = JSON.parse(await busctl('get-property', ...LOGIND, 'InhibitDelayMaxUSec')) as {
    data: number;
  };
  return data / 1e6;
}

/** Makes logind allow a delay of so many seconds. Rejects with what did not work; `etc` is the folder of logind's drop-ins. */
export async function allowDelay(seconds: number, etc: string = DROP_IN.folder): Promise<void> {
  await makeFolder(etc);
  const setting = `# Written by statelet for shutdownGracePeriod\n[Login]\nInhibitDelayMaxSec=${seconds}\n`;
  await replaceFile(`${etc}/${DROP_IN.name}`, setting, { mode: 0o644 });
  const SIGHUP = '1';
  await busctl('call', ...SYSTEMD, 'KillUnit', 'ssi', 'systemd-logind.service', 'all', SIGHUP);
}

/** Delays a shutdown until the command is closed, or this process ends. */
export function inhibitShutdown(): ChildCommand {
  const why = 'pods end before the node does';
  // cat ends with this process: its standard input is a pipe from here.
  return new ChildCommand('systemd-inhibit', [
    '--what=shutdown',
    '--mode=delay',
    '--who=statelet',
    `--why=${why}`,
    'cat',
  ]);
}

/** Calls back with true when the machine begins to shut down, and with false when that is cancelled. */
export function watchShutdownSignal(onSignal: (isShuttingDown: boolean) => void): ChildCommand {
  return new ChildCommand('busctl', ['monitor', '--json=short', '--match', SIGNAL], (line) => {
    const start = shutdownSignal(line);
    if (start !== undefined) onSignal(start);
  });
}

/** The argument of PrepareForShutdown; undefined for lines of other messages. */
export function shutdownSignal(line: string): boolean | undefined {
  try {
    const message = JSON.parse(line) as { member?: string; payload?: { data?: readonly unknown[] } };
    const [start] = message.payload?.data ?? [];
    return message.member === 'PrepareForShutdown' && typeof start === 'boolean' ? start : undefined;
  } catch {
    return undefined;
  }
}

export function logindProblem(error: unknown): string {
  return (error as { code?: unknown }).code === 'ENOENT'
    ? 'busctl is not installed'
    : errorMessage(error).trim();
}

/** A command that runs until it is closed. */
export class ChildCommand {
  readonly #child: ChildProcess;
  /** Resolves when the command has ended, with what it wrote to stderr. */
  readonly ended: Promise<string>;

  constructor(command: string, args: readonly string[], onLine?: (line: string) => void) {
    const child = spawn(command, args, {
      stdio: ['pipe', onLine === undefined ? 'ignore' : 'pipe', 'pipe'],
      env: process.env,
    });
    this.#child = child;
    const problem = new BoundedOutput();
    child.stderr?.on('data', (chunk: Buffer) => problem.add(chunk));
    // A command that has ended takes no input.
    child.stdin?.on('error', () => undefined);
    if (child.stdout && onLine) createInterface({ input: child.stdout }).on('line', onLine);
    this.ended = new Promise((resolve) => {
      child.once('error', ({ message }) => resolve(message));
      child.once('close', () => resolve(problem.toString().trim()));
    });
  }

  async close(): Promise<void> {
    this.#child.stdin?.end();
    this.#child.kill();
    await this.ended;
  }
}
