/** Runs the real command line in child processes, with their own root folder and folder of manifests. */
import { execFile, type ChildProcess } from 'node:child_process';
import { EventEmitter } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { STATE_ANNOTATION } from '../../src/agent/server/routes/local-routes.ts';
import {
  containerIn,
  environOf,
  isRunning,
  processTable,
  type ProcessIdentity,
} from '../../src/embedded/containers/proc.ts';
import { removeEmptyCgroups } from '../../src/agent/runtime/cgroups/cgroup-removal.ts';
import { processGroup } from '../../src/embedded/process-cgroups.ts';
import { errorMessage } from '../../src/types/errors.ts';
import type { ContainerStatus, Pod } from '../../src/types/kubernetes.ts';
import { BIN_ARGS } from './built.ts';
import { type Launcher, THIS_MACHINE } from './launcher.ts';
import { processesOf } from './processes-of.ts';
import { sendSignal } from './send-signal.ts';
import { PATIENCE_MS, waitFor, type WaitOptions } from './wait-for.ts';

export const NODE_NAME = 'node-a';

export interface CommandResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command that ends by itself, and kills it if it does not end. */
export function statelet(...args: string[]): Promise<CommandResult> {
  return startStatelet(...args).result;
}

/**
 * What a shell is given for the last word, where there is something. The program gives up after a second, so that no shell waits for it: on a busy
 * machine it is asked again.
 */
export function completions(rootDir: string, command: string, word: string): Promise<string> {
  const words = ['__complete', '--', command, '--root-dir', rootDir, word];
  return waitFor(async () => (await statelet(...words)).stdout || undefined, {
    what: `${word} to be completed`,
  });
}

export interface RunningCommand {
  readonly child: ChildProcess;
  readonly result: Promise<CommandResult>;
}

export function startStatelet(...args: string[]): RunningCommand {
  const { promise, resolve } = Promise.withResolvers<CommandResult>();
  const options = { timeout: PATIENCE_MS, killSignal: 'SIGKILL' } as const;
  const child = execFile(process.execPath, [...BIN_ARGS, ...args], options, (_error, stdout, stderr) =>
    resolve({ code: child.exitCode, stdout, stderr }),
  );
  return { child, result: promise };
}

/** The address of a page: the first line that the command prints. */
export async function printedAddress({ child }: RunningCommand): Promise<string> {
  let text = '';
  child.stdout?.on('data', (more: string) => (text += more));
  await waitFor(() => text.includes('\n'), { what: 'the address' });
  return text.trim();
}

/** A line of the daemon's log; pods are named `namespace/name`. */
export interface LogLine {
  readonly level: string;
  readonly msg: string;
  readonly pod?: string;
  readonly uid?: string;
  readonly reason?: string;
  readonly container?: string;
  /** Of the container: 0 for its first instance. */
  readonly attempt?: number;
  readonly address?: string;
  /** Why the runtime is not ready. */
  readonly problem?: string;
}

/** Lines of the log that come within this time lead to one look. */
const TOGETHER_MS = 20;
/** What the log does not show is looked for after this time. */
const UNLOGGED_MS = 200;

/** A line of the stack of an error that nothing has caught. */
const STACK = /^ {4}at .+:\d+:\d+\)?$/m;

/** How a process ended: its exit code, or the signal that ended it. */
export type Ending = number | NodeJS.Signals | null;

/** One run of `statelet run`. */
export class Daemon {
  readonly exitsWithPods: boolean;
  readonly log: LogLine[] = [];
  /** Resolves when all its output has been read. */
  readonly ended: Promise<Ending>;
  ending: Ending | undefined;
  /** The lines of the log as they were written. */
  stdout = '';
  stderr = '';
  readonly #child: ChildProcess;
  readonly #launcher: Launcher;
  readonly #news = new EventEmitter().setMaxListeners(0);
  #address = '';

  constructor(
    rootDir: string,
    args: readonly string[],
    env: Readonly<Record<string, string>>,
    launcher = THIS_MACHINE,
  ) {
    this.#launcher = launcher;
    this.exitsWithPods = args.includes('--exit-with-pods');
    const fixed = ['run', '--root-dir', rootDir, '--healthz-port', 'auto', '--hostname-override', NODE_NAME];
    const child = launcher.spawn(process.execPath, [...BIN_ARGS, ...fixed, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { PATH: process.env.PATH, ...env },
    });
    this.#child = child;
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.stderr += text));
    if (child.stdout === null) throw new Error('the daemon has no output');
    createInterface({ input: child.stdout }).on('line', (line) => {
      this.stdout += `${line}\n`;
      this.log.push(JSON.parse(line) as LogLine);
      this.#news.emit('news');
    });
    this.ended = new Promise((resolve) => {
      child.once('close', (code, signal) => {
        this.ending = code ?? signal;
        this.#news.emit('news');
        resolve(this.ending);
      });
    });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get address(): string {
    return this.#address;
  }

  /** Resolves when the daemon serves, even if its runtime is not ready. */
  async serves(): Promise<void> {
    const { address } = await this.logged('where it serves', (line) => line.address !== undefined);
    this.#address = address ?? '';
  }

  /** Resolves when the daemon serves, and has adopted the running pods. */
  async ready(): Promise<void> {
    await this.serves();
    await this.logged('the runtime to be ready', ({ msg }) => msg === 'Container runtime is ready');
  }

  /** The first line of the log that matches; waits for it if it has not come yet. */
  logged(what: string, matches: (line: LogLine) => boolean): Promise<LogLine> {
    const { promise, resolve, reject } = Promise.withResolvers<LogLine>();
    const fail = (why: string) => reject(new Error(`${why} ${what}; ${this.transcript}`));
    const look = () => {
      const line = this.log.find(matches);
      if (line) resolve(line);
      else if (this.ending !== undefined) fail('the daemon ended without');
    };
    const timer = setTimeout(() => fail('waited in vain for'), PATIENCE_MS);
    this.#news.on('news', look);
    look();
    return promise.finally(() => {
      clearTimeout(timer);
      this.#news.off('news', look);
    });
  }

  /** An event of a pod, by the name in its manifest: the reasons are `Started`, `Killing`, `BackOff`, … */
  event(name: string, reason: string): Promise<LogLine> {
    const matches = (line: LogLine) => line.reason === reason && isOf(line.pod?.split('/')[1], name);
    return this.logged(`${reason} of ${name}`, matches);
  }

  /** A warning that contains all of these texts. */
  warning(...texts: string[]): Promise<LogLine> {
    const matches = ({ level, msg }: LogLine) =>
      level === 'warn' && texts.every((text) => msg.includes(text));
    return this.logged(`a warning with ${JSON.stringify(texts)}`, matches);
  }

  fetch(path: string): Promise<Response> {
    return fetch(`http://${this.#address}${path}`, { signal: AbortSignal.timeout(PATIENCE_MS) });
  }

  async pods(): Promise<readonly Pod[]> {
    return ((await (await this.fetch('/pods')).json()) as { items: Pod[] }).items;
  }

  /** The pod of that name in its manifest, as soon as it matches. */
  async until(name: string, what: string, isWanted: (pod: Pod) => boolean): Promise<Pod> {
    let found: readonly Pod[] = [];
    const look = async () => {
      found = (await this.pods()).filter(({ metadata }) => isOf(metadata.name, name));
      return found.find(isWanted);
    };
    try {
      return await this.waitFor(look, { what: `${name} to be ${what}` });
    } catch (error) {
      const shown = found.map((pod) => `${stateOf(pod)} ${JSON.stringify(pod.status)}`).join('; ');
      const message = `${name} is not ${what} but ${shown || 'not there'}; ${this.transcript}`;
      throw new Error(message, { cause: error });
    }
  }

  /** The pod, once all its containers run. */
  running(name: string): Promise<Pod> {
    const runs = ({ state }: ContainerStatus) => state?.running !== undefined;
    return this.until(name, 'running', ({ spec, status }) => {
      const statuses = status?.containerStatuses ?? [];
      return statuses.length === spec.containers.length && statuses.every(runs);
    });
  }

  inPhase(name: string, phase: string): Promise<Pod> {
    return this.until(name, phase, ({ status }) => status?.phase === phase);
  }

  inState(name: string, state: string): Promise<Pod> {
    return this.until(name, `in ${state}`, (pod) => stateOf(pod) === state);
  }

  /** Resolves when exactly these pods are served. */
  async onlyPods(...names: string[]): Promise<void> {
    const wanted = names.map((name) => `${name}-${NODE_NAME}`).toSorted();
    const served = async () => (await this.pods()).map(({ metadata }) => metadata.name).toSorted();
    const what = `only these pods to be served: ${wanted.join()}`;
    await this.waitFor(async () => (await served()).join() === wanted.join(), { what });
  }

  /**
   * Looks again when the log has further lines, and now and then for what is not logged. Each look takes the daemon and the test some milliseconds of
   * CPU time.
   */
  waitFor<T>(look: () => Promise<T | undefined | false>, options: Omit<WaitOptions, 'news'>): Promise<T> {
    let lines = this.log.length;
    const check = () => {
      lines = this.log.length;
      return look();
    };
    return waitFor(check, { ...options, news: () => this.#furtherLine(lines) });
  }

  /** Resolves soon after the log has more than these lines. */
  async #furtherLine(lines: number): Promise<void> {
    if (this.log.length === lines && this.ending === undefined) {
      const { promise, resolve } = Promise.withResolvers<undefined>();
      const seen = () => resolve(undefined);
      const timer = setTimeout(seen, UNLOGGED_MS);
      this.#news.once('news', seen);
      await promise;
      clearTimeout(timer);
      this.#news.off('news', seen);
    }
    await delay(TOGETHER_MS);
  }

  signal(signal: NodeJS.Signals): void {
    this.#launcher.signal(this.#child, signal);
  }

  /** Sends the signal, and resolves when the daemon has ended. */
  async end(signal: NodeJS.Signals = 'SIGTERM'): Promise<Ending> {
    this.signal(signal);
    await waitFor(() => this.ending !== undefined, {
      what: `the daemon to end on ${signal}`,
    }).catch((error: unknown) => {
      throw new Error(`${errorMessage(error)}; ${this.transcript}`);
    });
    return this.ending ?? null;
  }

  /** What it has logged, for errors of tests. */
  get transcript(): string {
    return `its log:\n${this.log.map((line) => JSON.stringify(line)).join('\n')}\n${this.stderr}`;
  }
}

/** Whether a pod of that name has the name `name` in its manifest. Static pods have the name of the node in addition. */
function isOf(podName: string | undefined, name: string): boolean {
  return podName === name || podName === `${name}-${NODE_NAME}`;
}

/** None if there is no such folder. */
export function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    // A cgroup may go at any time.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/** A folder for everything that one test needs, and the daemons that it starts. */
export class DaemonBed {
  readonly dir: string;
  readonly rootDir: string;
  readonly manifestDir: string;
  readonly #launcher: Launcher;
  readonly #daemons: Daemon[] = [];
  /** Whether pods were run once since the last daemon was started. */
  #ranOnce = false;

  constructor(launcher = THIS_MACHINE) {
    this.#launcher = launcher;
    this.dir = mkdtempSync(join(launcher.dir ?? tmpdir(), 'statelet-e2e-'));
    this.rootDir = join(this.dir, 'root');
    this.manifestDir = join(this.dir, 'manifests');
    mkdirSync(this.manifestDir);
  }

  /** Starts a daemon on the manifests that ends the pods when it stops. */
  start(...flags: string[]): Promise<Daemon> {
    return this.run(['--pod-manifest-path', this.manifestDir, '--exit-with-pods', ...flags]);
  }

  /** Starts a daemon on the manifests that leaves the pods running when it stops. */
  startToLeavePods(...flags: string[]): Promise<Daemon> {
    return this.run(['--pod-manifest-path', this.manifestDir, ...flags]);
  }

  /** No pod is wanted: the daemon ends all that still run. */
  runWithoutPods(...flags: readonly string[]): Promise<Daemon> {
    return this.run(['--pods', join(this.dir, 'none'), ...flags]);
  }

  async run(flags: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Daemon> {
    const daemon = this.launch(flags, env);
    await daemon.ready();
    return daemon;
  }

  /** Further flags for commands that run pods here. */
  protected get runtimeFlags(): readonly string[] {
    return [];
  }

  /** Runs `statelet run-once` with the same root folder and node name. */
  runOnce(...flags: string[]): RunningCommand {
    this.#ranOnce = true;
    const fixed = ['run-once', '--root-dir', this.rootDir, '--hostname-override', NODE_NAME];
    return startStatelet(...fixed, ...this.runtimeFlags, ...flags);
  }

  /** Does not wait. */
  launch(flags: readonly string[], env: Readonly<Record<string, string>> = {}): Daemon {
    const daemon = new Daemon(this.rootDir, [...this.runtimeFlags, ...flags], env, this.#launcher);
    this.#ranOnce = false;
    this.#daemons.push(daemon);
    return daemon;
  }

  /** The log lines of an instance of a container, in CRI's format; without `attempt`, of the first. */
  containerLog(pod: Pod['metadata'], container: string, attempt = 0): string {
    return readFileSync(join(this.podLogs(pod), container, `${attempt}.log`), 'utf8');
  }

  /** The folder in which the kubelet keeps the logs of a pod. */
  podLogs({ namespace, name, uid }: Pod['metadata']): string {
    return join(this.rootDir, 'pods', `${namespace}_${name}_${uid}`);
  }

  /** Ends every daemon with its pods, asserts that nothing is left, and removes the folder. */
  async cleanUp(): Promise<void> {
    try {
      await this.#endDaemons();
      await this.#endMonitor();
      await this.#noProcesses();
    } finally {
      for (const { pid } of processesOf(this.dir)) sendSignal(pid, 'SIGKILL');
      // A daemon that was killed leaves the cgroups above the pods to the next one.
      if (existsSync(this.rootDir)) removeEmptyCgroups(cgroupsOf(this.rootDir));
      await rm(this.dir, { recursive: true, force: true, maxRetries: 5 });
    }
  }

  /** A killed process takes a moment to end. */
  async #noProcesses(): Promise<void> {
    const left = () => processesOf(this.dir).map(({ text }) => text);
    await waitFor(() => left().length === 0, { what: 'every process to go' }).catch(() => {
      throw new Error(`left behind: ${left().join('; ')}`);
    });
  }

  async #endDaemons(): Promise<void> {
    for (const daemon of this.#daemons) if (daemon.ending === undefined) await daemon.end();
    const crashed = this.#daemons.find(({ stderr }) => STACK.test(stderr));
    if (crashed !== undefined) throw new Error(`a daemon has crashed; ${crashed.transcript}`);
    const last = this.#daemons.at(-1);
    if (last === undefined && !this.#ranOnce) return;
    const mayLeavePods = this.#ranOnce || !last?.exitsWithPods || last.ending !== 0;
    let left = await this.leftBehind();
    // A daemon costs a second of CPU time: there is none where nothing is left.
    if (mayLeavePods && left.length > 0) {
      const code = await (await this.runWithoutPods('--exit-with-pods')).end();
      if (code !== 0) throw new Error(`the last daemon ended with ${code}`);
      left = await this.leftBehind();
    }
    if (left.length > 0) throw new Error(`left behind: ${left.join()}`);
  }

  /** What remains of pods after all of them have ended. */
  leftBehind(): Promise<readonly string[]> {
    const records = ['sandboxes', 'begun', 'containers'].map((kind) => join(this.rootDir, 'runtime', kind));
    const folders = ['pods', 'scratch'].map((name) => join(this.rootDir, name));
    return Promise.resolve([...[...records, ...folders].flatMap(namesIn), ...podCgroupsOf(this.rootDir)]);
  }

  /** The monitor ends by itself when it has no pods; the test does not wait for that. */
  async #endMonitor(): Promise<void> {
    const monitor = processesOf(this.dir).find(({ text }) => text.startsWith('statelet-monitor'));
    if (monitor === undefined) return;
    sendSignal(monitor.pid, 'SIGTERM');
    await waitFor(() => !isRunning(monitor), { what: 'the monitor to end' });
  }
}

/** The cgroups of pods. The daemon keeps the groups above them as long as it runs. */
function podCgroupsOf(rootDir: string): readonly string[] {
  return cgroupsOf(rootDir)
    .flatMap((folder) => ['', 'burstable', 'besteffort'].map((name) => join(folder, 'kubepods', name)))
    .filter((folder) => existsSync(folder))
    .flatMap((folder) => readdirSync(folder).map((name) => join(folder, name)))
    .filter((folder) => basename(folder).startsWith('pod'));
}

/** The cgroups of an embedded runtime, in each hierarchy. */
export function cgroupsOf(rootDir: string): readonly string[] {
  const name = processGroup(rootDir);
  const top = '/sys/fs/cgroup';
  const folders = [
    top,
    ...(existsSync(top) ? readdirSync(top).map((hierarchy) => join(top, hierarchy)) : []),
  ];
  return folders.map((folder) => join(folder, name)).filter((folder) => existsSync(folder));
}

export function stateOf({ metadata }: Pod): string | undefined {
  return metadata.annotations?.[STATE_ANNOTATION];
}

export function containerStatus({ status }: Pod, name = 'main'): ContainerStatus | undefined {
  const all = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  return all.find((candidate) => candidate.name === name);
}

/** Whether a container was killed for its memory. Containerd may report an end before its reason: after each restart the last state is read again. */
export function wasOOMKilled(pod: Pod): boolean {
  const { state, lastState } = containerStatus(pod) ?? {};
  return [state, lastState].some(
    (one) => one?.terminated?.reason === 'OOMKilled' && one.terminated.exitCode === 137,
  );
}

export { isRunning };

/**
 * The processes that lead a session in a container's present instance, the oldest first: its main process, and then a command that
 * runs in it. More than one without such a command is a defect.
 */
export function mainProcesses(pod: Pod, container = 'main'): readonly ProcessIdentity[] {
  const id = containerStatus(pod, container)?.containerID?.replace('statelet://', '');
  if (id === undefined) return [];
  return processTable()
    .filter(({ pid, sessionId }) => pid === sessionId && containerOfLeader(pid) === id)
    .toSorted((a, b) => a.startTicks - b.startTicks)
    .map(({ pid, startTicks }) => ({ pid, startTicks }));
}

const EXEC_TRIES = 20;

/** While a process becomes another program (execve), the kernel shows no environment of it: that takes a moment, and has no event. */
function containerOfLeader(pid: number): string | undefined {
  let environ = environOf(pid);
  for (let tries = 0; tries < EXEC_TRIES && environ === ''; tries++) {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    environ = environOf(pid);
  }
  return containerIn(environ);
}
