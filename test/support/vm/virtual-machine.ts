/** A machine under QEMU, without KVM: it runs wherever tests run, about twenty times as slowly as a real one. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, mkdtempSync, readFileSync, rmSync, type WriteStream } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { waitFor } from '../wait-for.ts';
import { type DebianDisk, makeDebianDisk } from './debian-disk.ts';
import { HostNetwork } from './host-network.ts';

const run = promisify(execFile);

const MEMORY_MB = 2048;
const BOOT_MS = 900_000;
const COMMAND_MS = 1_200_000;
const OUTPUT_MAX = 16 * 1024 * 1024;

export interface VirtualMachineOptions {
  /** Commands and their output are written to `vm-<name>.log`, in the folder VM_TRANSCRIPTS or here, with the time since the first boot. */
  readonly name: string;
}

export class VirtualMachine {
  readonly dir: string;
  readonly network: HostNetwork;
  readonly #disk: DebianDisk;
  readonly #transcript: WriteStream;
  readonly #startedAt = performance.now();
  #qemu: ChildProcess | undefined;

  private constructor(dir: string, network: HostNetwork, disk: DebianDisk, transcript: string) {
    this.dir = dir;
    this.network = network;
    this.#disk = disk;
    this.#transcript = createWriteStream(transcript);
  }

  /** Resolves when Debian has started, and root can log in. */
  static async start({ name }: VirtualMachineOptions): Promise<VirtualMachine> {
    const dir = mkdtempSync(join(tmpdir(), 'statelet-vm-'));
    const key = join(dir, 'key');
    await run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', key]);
    const network = await HostNetwork.open();
    try {
      const disk = await makeDebianDisk(dir, readFileSync(`${key}.pub`, 'utf8'), network);
      const transcript = join(process.env.VM_TRANSCRIPTS ?? '.', `vm-${name}.log`);
      const machine = new VirtualMachine(dir, network, disk, transcript);
      await machine.boot();
      return machine;
    } catch (error) {
      await network.close();
      throw error;
    }
  }

  get console(): string {
    return join(this.dir, 'console.log');
  }

  async boot(): Promise<void> {
    const { disk, kernel, initrd } = this.#disk;
    this.note('the machine is switched on');
    // oxfmt-ignore
    const args = [
      '-accel', 'tcg,thread=multi,tb-size=512', '-cpu', 'max', '-smp', '2', '-m', String(MEMORY_MB),
      '-display', 'none', '-serial', `file:${this.console}`, '-no-reboot',
      '-kernel', kernel, '-initrd', initrd, '-append', 'root=/dev/vda rw console=ttyS0 panic=-1 mitigations=off no_timer_check',
      '-drive', `file=${disk},format=raw,if=virtio,cache=unsafe`,
      '-nic', `tap,ifname=${this.network.tap},script=no,downscript=no,model=virtio`,
    ];
    // A test that is killed leaves no machine behind.
    const command = ['--pdeathsig', 'KILL', 'qemu-system-x86_64', ...args];
    this.#qemu = spawn('setpriv', command, { stdio: ['ignore', 'inherit', 'inherit'] });
    const isUp = () => {
      if (this.hasEnded) throw new Error(`QEMU has ended; see ${this.console}`);
      return this.#ssh('true', 60_000).then(
        () => true,
        () => false,
      );
    };
    await waitFor(isUp, { what: 'root to log in', timeoutMs: BOOT_MS, pauseMs: 3000 });
    await this.shell('systemctl is-system-running --wait || systemctl --failed');
  }

  get hasEnded(): boolean {
    const { exitCode, signalCode } = this.#qemu ?? { exitCode: 0, signalCode: null };
    return exitCode !== null || signalCode !== null;
  }

  /** Resolves when the machine has been switched off by itself, after `systemctl reboot` or `poweroff`. */
  async off(): Promise<void> {
    if (this.#qemu !== undefined && !this.hasEnded) await once(this.#qemu, 'exit');
    this.note('the machine is off');
  }

  /** Runs a script as root. Resolves with what it prints; rejects with that if it fails. */
  async shell(script: string): Promise<string> {
    this.note(`# ${script}`);
    try {
      const output = await this.#ssh(`{ ${script}\n} 2>&1`, COMMAND_MS);
      this.note(output);
      return output;
    } catch (error) {
      const { stdout = '', message } = error as Error & { stdout?: string };
      this.note(`${stdout}(it failed)`);
      throw new Error(`${script}: ${message}\n${stdout}`, { cause: error });
    }
  }

  /** Copies a file of the host to a path of the machine. */
  async copyIn(file: string, path: string): Promise<void> {
    await run('scp', ['-q', ...this.#sshOptions(), file, `root@${this.network.address}:${path}`]);
  }

  note(text: string): void {
    const seconds = Math.round((performance.now() - this.#startedAt) / 1000);
    this.#transcript.write(`[${String(seconds).padStart(5)} s] ${text.trimEnd()}\n`);
  }

  /** Switches the machine off as a power cut would, and removes it. */
  async stop(): Promise<void> {
    if (!this.hasEnded) {
      this.#qemu?.kill('SIGKILL');
      await this.off();
    }
    await this.network.close();
    this.#transcript.end();
    rmSync(this.dir, { recursive: true, force: true });
  }

  async #ssh(script: string, timeout: number): Promise<string> {
    const { stdout } = await run('ssh', [...this.#sshOptions(), `root@${this.network.address}`, script], {
      timeout,
      maxBuffer: OUTPUT_MAX,
    });
    return stdout;
  }

  #sshOptions(): string[] {
    const options = {
      IdentityFile: join(this.dir, 'key'),
      StrictHostKeyChecking: 'no',
      UserKnownHostsFile: '/dev/null',
      LogLevel: 'ERROR',
      BatchMode: 'yes',
      ConnectTimeout: '60',
      ServerAliveInterval: '30',
      ServerAliveCountMax: '20',
    };
    return Object.entries(options).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
  }
}
