/** The built Statelet as a child process. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Pod } from '../../src/types/kubernetes.ts';
import { Daemon, type Ending } from '../../test/support/daemon.ts';
import {
  type Agent,
  type AgentEvent,
  type AgentFolders,
  type AgentOptions,
  fetchPods,
  makeFolders,
  writeConfig,
} from './agent.ts';

/** Resolves when it serves `/pods`. */
export async function startStatelet(options: AgentOptions): Promise<Statelet> {
  const folders = makeFolders(options);
  const config = writeConfig(options, {});
  const statelet = new Statelet(folders, ['--config', config]);
  await statelet.serves();
  return statelet;
}

export class Statelet implements Agent {
  readonly name = 'statelet';
  readonly folders: AgentFolders;
  readonly #daemon: Daemon;

  constructor(folders: AgentFolders, flags: readonly string[]) {
    this.folders = folders;
    this.#daemon = new Daemon(folders.rootDir, flags, {});
  }

  get pid(): number {
    return this.#daemon.pid;
  }

  get ending(): string | undefined {
    return this.#daemon.ending === undefined ? undefined : String(this.#daemon.ending satisfies Ending);
  }

  serves(): Promise<void> {
    return this.#daemon.serves();
  }

  async pods(): Promise<readonly Pod[] | undefined> {
    // Over TCP, values are hidden; over the socket they are not.
    const socket = join(this.folders.rootDir, 'statelet.sock');
    return fetchPods(`http://${this.#daemon.address}/pods`, existsSync(socket) ? socket : undefined);
  }

  events(): readonly AgentEvent[] {
    return this.#daemon.log.flatMap(({ level, msg, pod, reason, container }) => {
      if (reason === undefined || pod === undefined) return [];
      const type = level === 'warn' ? 'Warning' : 'Normal';
      // Statelet's log combines similar events; the kubelet's does not.
      const message = msg.replace(/^\(combined from similar events\): /, '');
      return [{ pod, type, reason, message, ...(container !== undefined && { container }) }];
    });
  }

  log(): string {
    return `${this.#daemon.log.map((line) => JSON.stringify(line)).join('\n')}\n${this.#daemon.stderr}`;
  }

  async stop(): Promise<void> {
    if (this.#daemon.ending === undefined) await this.#daemon.end('SIGKILL');
  }
}
