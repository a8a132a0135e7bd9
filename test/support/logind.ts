/** The real logind on a D-Bus of its own. Without systemd it shuts nothing down: the test sends its signals. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { installLogind } from './containerd/packages.ts';
import { waitFor } from './wait-for.ts';

const run = promisify(execFile);
const LOGIND = '/lib/systemd/systemd-logind';
const MANAGER = ['org.freedesktop.login1', '/org/freedesktop/login1', 'org.freedesktop.login1.Manager'];

export class Logind {
  readonly dir = mkdtempSync(join(tmpdir(), 'statelet-logind-'));
  readonly #children: ChildProcess[] = [];
  readonly #busBefore = process.env.DBUS_SYSTEM_BUS_ADDRESS;

  static async start(): Promise<Logind> {
    await installLogind();
    const logind = new Logind();
    await logind.#startBus();
    for (const name of ['seats', 'users', 'sessions', 'inhibit', 'shutdown'])
      mkdirSync(join('/run/systemd', name), { recursive: true });
    logind.#spawn(LOGIND, []);
    await waitFor(() => logind.#answers(), { what: 'logind to answer' });
    return logind;
  }

  /** The signal with which logind announces that the machine shuts down, or that it does not after all. */
  async announce(isShuttingDown: boolean): Promise<void> {
    const [, path = '', name = ''] = MANAGER;
    await this.#busctl('emit', path, name, 'PrepareForShutdown', 'b', String(isShuttingDown));
  }

  /** The reasons of the locks that hold a shutdown up. */
  async inhibitors(): Promise<readonly string[]> {
    const stdout = await this.#busctl('--json=short', 'call', ...MANAGER, 'ListInhibitors');
    const { data } = JSON.parse(stdout) as { data: [[string, string][]] };
    return data[0].map(([what, who]) => `${who} ${what}`);
  }

  async stop(): Promise<void> {
    for (const child of this.#children.reverse()) {
      child.kill();
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    }
    if (this.#busBefore === undefined) delete process.env.DBUS_SYSTEM_BUS_ADDRESS;
    else process.env.DBUS_SYSTEM_BUS_ADDRESS = this.#busBefore;
    rmSync(this.dir, { recursive: true, force: true });
  }

  async #startBus(): Promise<void> {
    const address = `unix:path=${join(this.dir, 'bus')}`;
    const config = join(this.dir, 'bus.conf');
    writeFileSync(
      config,
      `<busconfig><type>system</type><listen>${address}</listen><auth>EXTERNAL</auth>
       <policy context="default"><allow user="*"/><allow own="*"/><allow send_destination="*" eavesdrop="true"/>
       <allow send_type="method_call"/><allow eavesdrop="true"/></policy></busconfig>`,
    );
    const bus = this.#spawn('dbus-daemon', [`--config-file=${config}`, '--nofork', '--print-address']);
    if (bus.stdout !== null) await once(createInterface({ input: bus.stdout }), 'line');
    process.env.DBUS_SYSTEM_BUS_ADDRESS = address;
  }

  async #answers(): Promise<boolean> {
    try {
      return (await this.inhibitors()).length >= 0;
    } catch {
      return false;
    }
  }

  async #busctl(...args: readonly string[]): Promise<string> {
    const { stdout } = await run('busctl', [...args], { env: process.env });
    return stdout;
  }

  #spawn(command: string, args: readonly string[]): ChildProcess {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'ignore'], env: process.env });
    this.#children.push(child);
    return child;
  }
}
