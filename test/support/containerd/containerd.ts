/** A containerd for a test, with its own network and images. Other containerds may run on the machine. */
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { holdStill } from '../hold-still.ts';
import { type Launcher, THIS_MACHINE } from '../launcher.ts';
import { waitFor } from '../wait-for.ts';
import { criHasImage, criServes } from './cri-probe.ts';
import { archive, BUSYBOX, PAUSE, standardImages, type TestImage } from './images.ts';
import { createLayout, type Layout } from './layout.ts';
import { watchLeakedTasks } from './leaked-tasks.ts';
import { installPackages } from './packages.ts';
import { wipe } from './wipe.ts';

export interface ContainerdOptions {
  /** Images beside the standard ones. */
  readonly images?: readonly TestImage[];
  /** Appended to config.toml. */
  readonly config?: string;
  /** Keeps images and containers on a disk of their own of this size, see `ContainerdBed.rootDir`. */
  readonly diskBytes?: number;
  /** Starts a machine for it, which shares the folder and has its cgroups in that one. Default: this machine. */
  readonly machine?: (dir: string, cgroup: string) => Promise<Launcher>;
}

export interface StopOptions {
  /** Default `fail`: pods that remain in the runtime are an error. They are removed in any case. */
  readonly leftovers?: 'fail' | 'remove';
}

/** Installs what is missing first, which may take minutes: see `SET_UP_TIMEOUT_MS`. */
export async function startContainerd(options: ContainerdOptions = {}): Promise<ContainerdBed> {
  const pluginDir = await installPackages();
  const bed = new ContainerdBed(createLayout(pluginDir, options.config ?? ''));
  try {
    if (options.machine) bed.launcher = await options.machine(bed.dir, bed.cgroupRoot);
    if (options.diskBytes !== undefined) await bed.smallDisk(basename(bed.rootDir), options.diskBytes);
    await bed.start();
    await bed.importImages([...standardImages(), ...(options.images ?? [])]);
  } catch (error) {
    const { logs } = bed;
    await bed.stop({ leftovers: 'remove' });
    throw new Error(`containerd did not come up; its log:\n${logs}`, { cause: error });
  }
  return bed;
}

export class ContainerdBed {
  readonly dir: string;
  /** Where containerd keeps images and containers. */
  readonly rootDir: string;
  readonly endpoint: string;
  readonly image = BUSYBOX;
  readonly pauseImage = PAUSE;
  readonly cniConfDir: string;
  /** Where specs of the Container Device Interface are. */
  readonly cdiDir: string;
  /** A cgroup for a daemon's `--cgroup-root`. It is removed with the bed. */
  readonly cgroupRoot: string;
  launcher: Launcher = THIS_MACHINE;
  readonly #layout: Layout;
  readonly #janitor: ChildProcess;
  #child: ChildProcess | undefined;
  #endWatch: (() => void) | undefined;

  constructor(layout: Layout) {
    this.#layout = layout;
    this.dir = layout.dir;
    this.rootDir = layout.rootDir;
    this.endpoint = `unix://${layout.socket}`;
    this.cniConfDir = layout.cniConfDir;
    this.cdiDir = layout.cdiDir;
    this.cgroupRoot = layout.cgroupRoot;
    this.#janitor = startJanitor(layout.dir);
  }

  /** Everything that containerd has written to its log. */
  get logs(): string {
    return existsSync(this.#layout.logFile) ? readFileSync(this.#layout.logFile, 'utf8') : '';
  }

  /** The process of containerd itself; undefined while it is down. */
  get pid(): number | undefined {
    return this.#running()?.pid;
  }

  async start(): Promise<void> {
    const log = openSync(this.#layout.logFile, 'a');
    const child = this.launcher.spawn('containerd', ['--config', this.#layout.configFile], {
      stdio: ['ignore', log, log],
      // A Ctrl-C in the terminal ends the test, and the test ends its containerd.
      detached: true,
      env: withoutProxies(),
    });
    closeSync(log);
    this.#child = child;
    this.#endWatch ??= watchLeakedTasks(
      this.#layout.logFile,
      (id) => void this.ctr('tasks', 'delete', '--force', id).catch(() => undefined),
    );
    const ended = new Promise<never>((_resolve, reject) => {
      child.once('error', reject);
      child.once('exit', (code, signal) => reject(new Error(`containerd ended with ${code ?? signal}`)));
    });
    ended.catch(() => undefined);
    const serves = waitFor(() => criServes(this.endpoint), { what: `CRI on ${this.endpoint}` });
    await Promise.race([serves, ended]);
  }

  /** Kills containerd, as in a crash: shims and containers stay. */
  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const child = this.#running();
    if (child === undefined) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    this.launcher.signal(child, signal);
    await ended;
  }

  /** Stops containerd if it runs, and starts it again with the same state. */
  async restart(): Promise<void> {
    await this.kill();
    await this.start();
  }

  /** Pauses containerd: connections stay open, and no call is answered until `resume`. */
  async pause(): Promise<void> {
    if (this.pid === undefined) throw new Error('containerd does not run');
    await holdStill(this.pid);
  }

  resume(): void {
    this.#running()?.kill('SIGCONT');
  }

  /**
   * Delays every call for the network of the pod, RunPodSandbox and StopPodSandbox, until it is released;
   * `podName` is the name in the sandbox. Pods on the host's network are not delayed.
   */
  hold(podName: string): void {
    writeFileSync(join(this.#layout.heldDir, podName), '');
  }

  release(podName: string): void {
    rmSync(join(this.#layout.heldDir, podName));
  }

  /**
   * Mounts an empty disk of that size, less what ext4 needs, in the bed's folder, and returns its path. The disk is a file in memory:
   * its I/O does not use the disks of the machine.
   */
  async smallDisk(name: string, bytes: number): Promise<string> {
    const [path, memory] = [join(this.dir, name), join(this.dir, `${name}.memory`)];
    const file = join(memory, 'disk');
    const run = promisify(execFile);
    for (const folder of [path, memory]) mkdirSync(folder);
    await run('mount', ['-t', 'tmpfs', '-o', `size=${bytes}`, 'tmpfs', memory]);
    writeFileSync(file, '');
    truncateSync(file, bytes);
    // Without reserved blocks for root, and without a journal.
    await run('mkfs.ext4', ['-q', '-m', '0', '-O', '^has_journal', file]);
    await run('mount', ['-o', 'loop', file, path]);
    return path;
  }

  /** containerd's own client, in the namespace of CRI. */
  async ctr(...args: string[]): Promise<string> {
    return (await promisify(execFile)('ctr', this.#ctrArgs(args))).stdout;
  }

  /** Resolves when CRI knows the images. */
  async importImages(images: readonly TestImage[]): Promise<void> {
    const imported = promisify(execFile)('ctr', this.#ctrArgs(['images', 'import', '-']));
    imported.child.stdin?.end(archive(images));
    await imported;
    for (const { ref } of images) {
      await waitFor(() => criHasImage(this.endpoint, ref), { what: `CRI to know ${ref}` });
    }
  }

  /** The sandboxes and containers in the runtime, by names that show their origin. */
  async leftovers(): Promise<readonly string[]> {
    const ids = (await this.ctr('containers', 'list', '--quiet')).split('\n').filter(Boolean);
    const described = await Promise.all(ids.map((id) => this.#describe(id)));
    return described.filter((text) => text !== undefined);
  }

  /** Fails if something is left in the runtime; removes everything in any case. */
  async stop({ leftovers = 'fail' }: StopOptions = {}): Promise<void> {
    try {
      if (leftovers === 'remove') return;
      this.resume();
      if (this.#running() === undefined) await this.start();
      const left = await this.leftovers();
      if (left.length > 0) throw new Error(`left in the runtime: ${left.join('; ')}\n${this.#warnings()}`);
    } finally {
      this.#endWatch?.();
      await this.launcher.stop?.();
      await wipe(this.dir);
      this.#janitor.stdin?.end('nothing to do\n');
    }
  }

  /** The last warnings and errors in containerd's log. */
  #warnings(): string {
    const lines = this.logs.split('\n').filter((line) => /level=(?:warning|error)/u.test(line));
    return lines.slice(-20).join('\n');
  }

  #running(): ChildProcess | undefined {
    const child = this.#child;
    return child?.exitCode === null && child.signalCode === null ? child : undefined;
  }

  /** Undefined if it no longer exists. */
  async #describe(id: string): Promise<string | undefined> {
    const answer = await this.ctr('containers', 'info', id).catch(unlessNotFound);
    if (answer === undefined) return undefined;
    const info = JSON.parse(answer) as { Labels?: Record<string, string> };
    const labels = info.Labels ?? {};
    const names = ['namespace', 'name'].map((name) => labels[`io.kubernetes.pod.${name}`] ?? '?');
    const container = labels['io.kubernetes.container.name'];
    const kind = labels['io.cri-containerd.kind'] ?? 'container';
    return `${kind} ${id.slice(0, 13)} of pod ${names.join('/')}${container ? `, ${container}` : ''}`;
  }

  #ctrArgs(args: readonly string[]): string[] {
    return ['--address', this.#layout.socket, '--namespace', 'k8s.io', ...args];
  }
}

function unlessNotFound(error: Error): undefined {
  if (!error.message.includes('not found')) throw error;
}

/** The environment of a runtime: all its connections are on loopback, and must not use a proxy. */
export function withoutProxies(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !/_proxy$/i.test(name)));
}

/**
 * Cleans up after a test that was killed: its end closes the pipe on which the janitor waits. A shell waits, as it
 * is small; Node starts only when there is something to clean up.
 */
export function startJanitor(dir: string): ChildProcess {
  const janitorFile = fileURLToPath(new URL('./janitor.ts', import.meta.url));
  const script = 'read -r word || exec "$0" "$@"';
  const args = ['-c', script, process.execPath, '--disable-warning=ExperimentalWarning', janitorFile, dir];
  const janitor = spawn('sh', args, { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
  janitor.unref();
  return janitor;
}
