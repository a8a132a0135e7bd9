/** A CRI-O for a test, with its own network and a registry with its images. Its folder is that of a containerd of a test. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startJanitor, withoutProxies } from '../containerd/containerd.ts';
import { criServes } from '../containerd/cri-probe.ts';
import { busyboxImage, pauseImage } from '../containerd/images.ts';
import { createLayout, type Layout } from '../containerd/layout.ts';
import { installPackages } from '../containerd/packages.ts';
import { type Registry, startRegistry } from '../containerd/registry.ts';
import { wipe } from '../containerd/wipe.ts';
import { THIS_MACHINE } from '../launcher.ts';
import { waitFor } from '../wait-for.ts';
import { crioConfig } from './crio-config.ts';
import type { CrioPrograms } from './crio-programs.ts';

export async function startCrio(programs: CrioPrograms): Promise<CrioBed> {
  const layout = createLayout(await installPackages(), '');
  const registry = await startRegistry();
  const image = await registry.push('busybox:1', busyboxImage('busybox'));
  const pause = await registry.push('pause:1', pauseImage('pause'));
  for (const [name, text] of Object.entries(crioConfig(layout, programs, { registry: registry.host, pause })))
    writeFileSync(join(layout.dir, name), text, { mode: 0o755 });
  const bed = new CrioBed(layout, programs, registry, image);
  try {
    await bed.start();
  } catch (error) {
    const { logs } = bed;
    await bed.stop();
    throw new Error(`CRI-O did not come up; its log:\n${logs}`, { cause: error });
  }
  return bed;
}

export class CrioBed {
  readonly dir: string;
  readonly endpoint: string;
  readonly launcher = THIS_MACHINE;
  readonly cgroupRoot: string;
  readonly image: string;
  readonly registry: Registry;
  readonly #programs: CrioPrograms;
  readonly #logFile: string;
  readonly #janitor: ChildProcess;
  #child: ChildProcess | undefined;

  constructor({ dir, cgroupRoot }: Layout, programs: CrioPrograms, registry: Registry, image: string) {
    this.dir = dir;
    this.endpoint = `unix://${join(dir, 'crio.sock')}`;
    this.cgroupRoot = cgroupRoot;
    this.image = image;
    this.registry = registry;
    this.#programs = programs;
    this.#logFile = join(dir, 'crio.log');
    this.#janitor = startJanitor(dir);
  }

  get logs(): string {
    return existsSync(this.#logFile) ? readFileSync(this.#logFile, 'utf8') : '';
  }

  async start(): Promise<void> {
    const log = openSync(this.#logFile, 'a');
    const file = (name: string) => join(this.dir, name);
    const own = ['--config', file('crio.conf'), '--config-dir', file('crio.conf.d')];
    const files = [...own, '--registries-conf', file('registries.conf')];
    this.#child = spawn(this.#programs.crio, files, {
      stdio: ['ignore', log, log],
      detached: true,
      env: withoutProxies(),
    });
    closeSync(log);
    const ended = once(this.#child, 'exit').then(([code]) => {
      throw new Error(`CRI-O ended with ${String(code)}`);
    });
    ended.catch(() => undefined);
    await Promise.race([waitFor(() => criServes(this.endpoint), { what: `CRI on ${this.endpoint}` }), ended]);
  }

  /** Kills CRI-O, as in a crash: monitors and containers stay. */
  async kill(): Promise<void> {
    const child = this.#child;
    if (child?.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }

  /** Names of the containers in CRI-O's storage: `k8s_<container>_<pod>_<namespace>_…`. */
  leftovers(): readonly string[] {
    const file = join(this.dir, 'root/overlay-containers/containers.json');
    const all = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as { names: string[] }[]) : [];
    return all.flatMap(({ names }) => names);
  }

  /** Fails if something is left in the runtime; removes everything in any case. */
  async stop(): Promise<void> {
    const left = this.leftovers();
    await this.kill();
    await wipe(this.dir);
    await this.registry.stop();
    this.#janitor.stdin?.end('nothing to do\n');
    if (left.length > 0) throw new Error(`left in the runtime: ${left.join('; ')}`);
  }
}
