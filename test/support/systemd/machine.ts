/** systemd as process 1 of namespaces of its own, and programs beside it: a machine of which the network is this machine's. */
import { type ChildProcess, execFile, spawn, type SpawnOptions } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Launcher } from '../launcher.ts';
import { sendSignal } from '../send-signal.ts';
import { waitFor } from '../wait-for.ts';

const REPOSITORY = fileURLToPath(new URL('../../..', import.meta.url));
const CGROUPS = '/sys/fs/cgroup';

export class SystemdMachine implements Launcher {
  readonly dir: string;
  readonly #cgroup: string;
  readonly #child: ChildProcess;
  #log = '';

  private constructor(dir: string, cgroup: string) {
    this.dir = dir;
    this.#cgroup = cgroup;
    // It ends with this process, and all that it has started with it.
    const args = ['--pdeathsig', 'KILL', 'sh', script('start.sh'), cgroup, dir, REPOSITORY];
    this.#child = spawn('setpriv', args, { stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => (this.#log += text));
    }
  }

  /** Resolves when systemd takes calls. `dir`: the folder that it shares with this machine; `cgroup`: the top of its cgroups. */
  static async start(dir: string, cgroup: string): Promise<SystemdMachine> {
    const machine = new SystemdMachine(dir, cgroup);
    try {
      await waitFor(() => machine.#isUp(), { what: 'systemd to start' });
    } catch (error) {
      await machine.stop();
      throw new Error(`systemd did not start:\n${machine.#log}`, { cause: error });
    }
    return machine;
  }

  spawn(command: string, args: readonly string[], options: SpawnOptions): ChildProcess {
    return spawn('sh', [script('launch.sh'), this.#cgroup, String(this.#init()), command, ...args], options);
  }

  /** The program is the child of the process that has entered the namespaces. */
  signal(child: ChildProcess, signal: NodeJS.Signals): void {
    const [pid] = childrenOf(child.pid ?? 0);
    if (pid !== undefined) sendSignal(pid, signal);
  }

  /** Runs a command on the machine, and resolves to its output. */
  async run(command: string, ...args: string[]): Promise<string> {
    const enter = [script('launch.sh'), this.#cgroup, String(this.#init()), command, ...args];
    return (await promisify(execFile)('sh', enter)).stdout;
  }

  systemctl(...args: string[]): Promise<string> {
    return this.run('systemctl', ...args);
  }

  /** The value of a property of a unit. */
  async show(unit: string, property: string): Promise<string> {
    return (await this.systemctl('show', unit, '--property', property, '--value')).trim();
  }

  /** Process 1, as this machine sees it. */
  get pid(): number {
    return this.#init() ?? 0;
  }

  /** Kills systemd, and with it every process of its namespaces. */
  async stop(): Promise<void> {
    const ended = once(this.#child, 'close');
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      this.#child.kill('SIGKILL');
      await ended;
    }
    const tops = readdirSync(CGROUPS).map((name) => join(CGROUPS, name, this.#cgroup));
    await waitFor(() => tops.every(isEmpty), { what: 'every process of the machine to end' });
  }

  #init(): number | undefined {
    return childrenOf(this.#child.pid ?? 0)[0];
  }

  async #isUp(): Promise<boolean> {
    if (this.#child.exitCode !== null) throw new Error(`it ended with ${this.#child.exitCode}`);
    if (this.#init() === undefined) return false;
    return await this.systemctl('is-system-running').then(
      (state) => state.trim() === 'running',
      () => false,
    );
  }
}

/** Whether no process is in the group, or below it. */
function isEmpty(group: string): boolean {
  if (!existsSync(join(group, 'cgroup.procs'))) return true;
  if (readFileSync(join(group, 'cgroup.procs'), 'utf8') !== '') return false;
  const entries = readdirSync(group, { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).every(({ name }) => isEmpty(join(group, name)));
}

function script(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url));
}

function childrenOf(pid: number): readonly number[] {
  try {
    const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
    return text.split(' ').filter(Boolean).map(Number);
  } catch {
    return [];
  }
}
