/** The CSI and DRA drivers of a simulated node: their processes come and go, and register with the agent that looks for them. */
import type { PluginHandlers } from '../../agent/plugins/registration/plugin-handler.ts';
import type { GrpcLink } from '../../system/grpc/grpc-client.ts';
import type { Clock } from '../../types/clock.ts';
import { drawnMs } from '../plugins/plugins-plan.ts';
import { DriverProcess, type DriverService, type DriverWorld, linkTo } from './driver-process.ts';

export interface DriverFolderOptions {
  readonly services: readonly DriverService[];
  readonly world: DriverWorld;
  readonly clock: Clock;
  readonly tell?: (what: string) => void;
}

/** One agent, as the folder knows it. `clock`: fires no timer once the agent is dead. */
interface Watcher {
  readonly handlers: PluginHandlers;
  readonly clock: Clock;
}

const THERE_MS = [20_000, 120_000, 1_200_000];
const AWAY_MS = [1, 500, 10_000, 120_000];
const NOTICED_MS = 2_000;

export class DriverFolder {
  readonly #options: DriverFolderOptions;
  /** The last process of each driver, which may have ended. */
  readonly #processes = new Map<DriverService, DriverProcess>();
  /** By the socket. */
  readonly #sockets = new Map<string, DriverProcess>();
  readonly #underWay = new Map<DriverService, Set<string>>();
  /** The calls that the present agent awaits. */
  readonly #awaited = new Set<Promise<unknown>>();
  readonly #ordinals = new Map<string, number>();
  /** Since when the agent has registered them, Unix ms. */
  readonly #registered = new Map<DriverProcess, number>();
  #watcher: Watcher | undefined;

  constructor(options: DriverFolderOptions) {
    this.#options = options;
    for (const service of options.services) this.#appears(service);
  }

  /** Whether the agent awaits a driver, or a driver works on a call of an earlier agent. A removal that waits for it may last as long. */
  get isBusy(): boolean {
    return this.#awaited.size > 0 || [...this.#underWay.values()].some((subjects) => subjects.size > 0);
  }

  isThere(service: DriverService): boolean {
    return this.#processes.get(service)?.isAlive === true;
  }

  /** Since when the agent has registered it, Unix ms; undefined where it has not. */
  registeredAt(service: DriverService): number | undefined {
    const process = this.#processes.get(service);
    return process?.isAlive === true ? this.#registered.get(process) : undefined;
  }

  /** When its last process has ended, Unix ms; 0 while it runs. */
  goneAt(service: DriverService): number {
    return this.#processes.get(service)?.endedAt ?? 0;
  }

  /** Whether the agent has registered its last process. */
  wasRegistered(service: DriverService): boolean {
    const process = this.#processes.get(service);
    return process !== undefined && this.#registered.has(process);
  }

  /** The processes of all drivers end, and others appear. */
  restart(): void {
    for (const service of this.#options.services) {
      this.#processes.get(service)?.die();
      this.#appears(service);
    }
  }

  /** An agent has begun to look for sockets. */
  watchedBy(watcher: Watcher): void {
    this.#watcher = watcher;
    this.#registered.clear();
    this.#awaited.clear();
    for (const process of this.#processes.values()) if (process.isAlive) this.#registers(process);
  }

  connect(socket: string, clock: Clock): GrpcLink {
    return linkTo(this.#sockets.get(socket), clock, this.#awaited);
  }

  #appears(service: DriverService): void {
    const { clock, world, tell } = this.#options;
    const underWay = this.#underWay.get(service) ?? new Set<string>();
    this.#underWay.set(service, underWay);
    const key = this.#key(service.name);
    const process = new DriverProcess({ service, key, world, clock, underWay });
    this.#processes.set(service, process);
    tell?.(`the driver ${service.name} appears: ${process.character}`);
    this.#registers(process);
    if (world.misbehaves())
      clock.setTimeout(
        () => this.#vanishes(process),
        drawnMs(THERE_MS, process.draw('there'), process.draw('share')),
      );
  }

  /** A driver that exists when drivers do not misbehave any more stays. */
  #vanishes(process: DriverProcess): void {
    const { world, clock, tell } = this.#options;
    const { service } = process;
    if (!world.misbehaves() || !process.isAlive) return;
    process.die();
    tell?.(`the driver ${service.name} dies`);
    const awayMs = drawnMs(AWAY_MS, process.draw('away'), process.draw('share'));
    clock.setTimeout(() => {
      if (world.misbehaves()) this.#appears(service);
    }, awayMs);
  }

  /** Does what the agent's watcher does with a socket, until the driver is accepted. */
  #registers(process: DriverProcess): void {
    const watcher = this.#watcher;
    if (watcher === undefined) return;
    const { name, type, versions } = process.service;
    const { clock } = watcher;
    clock.setTimeout(
      () => {
        if (this.#watcher !== watcher || !process.isAlive) return;
        const handler = watcher.handlers.get(type);
        const endpoint = `${this.#key(`${name}/socket`)}.sock`;
        const offer = { name, endpoint, supportedVersions: versions };
        if (handler === undefined || handler.problemOf({ type, ...offer }) !== undefined) {
          this.#registers(process);
          return;
        }
        this.#sockets.set(endpoint, process);
        const served = handler.register(offer);
        this.#registered.set(process, clock.now());
        process.onDeath.add(() =>
          clock.setTimeout(() => served.close(), 1 + NOTICED_MS * process.draw('noticed')),
        );
        void served.verify?.(new AbortController().signal).then((problem) => {
          if (problem === undefined) return;
          served.close();
          this.#registers(process);
        });
      },
      1 + Math.floor(NOTICED_MS * process.draw('register')),
    );
  }

  #key(what: string): string {
    const ordinal = (this.#ordinals.get(what) ?? 0) + 1;
    this.#ordinals.set(what, ordinal);
    return `drivers/${what}/${String(ordinal)}`;
  }
}
