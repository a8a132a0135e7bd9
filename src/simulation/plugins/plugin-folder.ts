/** The folder of a simulated node in which sockets of plugins come and go. It outlives the agents. */
import type { SocketSource } from '../../agent/actors/plugins/plugin-directory.ts';
import type { RegistrationClient } from '../../agent/plugins/protocol/registration-client.ts';
import type { PluginInfo } from '../../agent/plugins/protocol/service-methods.ts';
import type { SocketListener } from '../../agent/plugins/registration/plugin-sockets.ts';
import { whenAborted } from '../../system/promises.ts';
import type { Clock } from '../../types/clock.ts';
import { StateletError } from '../../types/errors.ts';
import { drawnMs, type PluginsPlan, pick, type SocketPlan } from './plugins-plan.ts';
import type { PluginWorld } from './simulated-plugin.ts';

/** A socket, from when it appears until it vanishes. */
interface Appearance extends SocketPlan {
  /** The key by which the plugin's behaviour in that time is drawn. */
  readonly life: string;
}

export interface PluginFolderOptions {
  readonly plan: PluginsPlan;
  readonly world: PluginWorld;
  readonly clock: Clock;
  /** A socket has appeared or vanished. */
  readonly tell: (what: string) => void;
}

const NOTICED_AFTER_MS = 20;
const THERE_MS = [20_000, 120_000, 600_000];
const AWAY_MS = [1, 500, 10_000, 120_000];
const OFFERS: readonly Partial<PluginInfo>[] = [
  ...Array.from({ length: 7 }, () => ({})),
  { type: 'DevicePlugin' },
  { supportedVersions: ['v7'] },
  { name: '' },
];

export class PluginFolder {
  readonly #options: PluginFolderOptions;
  readonly #there = new Map<string, Appearance>();
  readonly #listeners = new Set<(path: string, isThere: boolean) => void>();
  readonly #ordinals = new Map<string, number>();

  constructor(options: PluginFolderOptions) {
    this.#options = options;
    for (const socket of options.plan.sockets) this.#comesAndGoes(socket);
  }

  /** The key by which the behaviour of the plugin at that socket is drawn now. */
  lifeAt(path: string): string {
    return this.#there.get(path)?.life ?? path;
  }

  /** For the agent with that clock. */
  watch({ onFound, onGone }: SocketListener, clock: Clock): SocketSource {
    const listener = (path: string, isThere: boolean) => {
      clock.setTimeout(() => (isThere ? onFound(path) : onGone(path)), NOTICED_AFTER_MS);
    };
    return {
      start: () => {
        for (const path of this.#there.keys()) listener(path, true);
        this.#listeners.add(listener);
      },
      stop: () => {
        this.#listeners.delete(listener);
        return Promise.resolve();
      },
    };
  }

  /** Each call asks anew whatever plugin listens there. */
  openRegistration(path: string, clock: Clock): RegistrationClient {
    const { random, misbehaves } = this.#options.world;
    const life = this.#there.get(path)?.life;
    let asked = 0;
    const answered = <T>(what: string, answer: () => T, signal: AbortSignal): Promise<T> => {
      const { promise, resolve, reject } = Promise.withResolvers<T>();
      const value = misbehaves()
        ? random(`${String(life)}/${what}/${String(clock.now())}/${String(++asked)}`)
        : 1;
      const forget = whenAborted([signal], reject);
      if (value < 0.1) return promise;
      clock.setTimeout(
        () => {
          forget();
          if (value < 0.25 || life === undefined || this.#there.get(path)?.life !== life)
            reject(new StateletError('Unavailable', 'nothing answers at the socket'));
          else resolve(answer());
        },
        1 + Math.floor(10 * value),
      );
      return promise;
    };
    return {
      getInfo: (signal) => answered('info', () => this.#offer(path), signal),
      notifyRegistrationStatus: (_, signal) => answered('told', () => undefined, signal),
      close: () => undefined,
    };
  }

  #offer(path: string): PluginInfo {
    const { plan, world } = this.#options;
    const plugin = plan.sockets.find((socket) => socket.path === path)?.plugin ?? '';
    const offer = { type: 'EvictionPlugin', name: plugin, endpoint: '', supportedVersions: ['v1alpha1'] };
    if (!world.misbehaves()) return offer;
    return { ...offer, ...pick(OFFERS, world.random(`${this.lifeAt(path)}/offer`)) };
  }

  #comesAndGoes(socket: SocketPlan): void {
    const { world } = this.#options;
    const isThere = world.random(`${socket.path}/first`) < 0.7;
    if (isThere || !world.misbehaves()) this.#appears(socket);
    else this.#away(socket);
  }

  #appears(socket: SocketPlan): void {
    const { clock, world } = this.#options;
    const life = `${socket.path}/${String(this.#count(socket.path))}`;
    this.#there.set(socket.path, { ...socket, life });
    this.#notify(socket.path, true);
    if (!world.misbehaves()) return;
    clock.setTimeout(() => this.#vanishes(socket), keyedMs(THERE_MS, world, `${life}/there`));
  }

  /** A socket that exists when plugins do not misbehave any more stays. */
  #vanishes(socket: SocketPlan): void {
    if (!this.#options.world.misbehaves()) return;
    this.#there.delete(socket.path);
    this.#notify(socket.path, false);
    this.#away(socket);
  }

  #away(socket: SocketPlan): void {
    const { clock, world } = this.#options;
    const key = `${socket.path}/${String(this.#count(socket.path))}`;
    clock.setTimeout(() => this.#appears(socket), keyedMs(AWAY_MS, world, `${key}/away`));
  }

  #notify(path: string, isThere: boolean): void {
    this.#options.tell(`the socket ${path} ${isThere ? 'appears' : 'vanishes'}`);
    for (const listener of this.#listeners) listener(path, isThere);
  }

  #count(path: string): number {
    const ordinal = (this.#ordinals.get(path) ?? 0) + 1;
    this.#ordinals.set(path, ordinal);
    return ordinal;
  }
}

function keyedMs(most: readonly number[], { random }: PluginWorld, key: string): number {
  return drawnMs(most, random(key), random(`${key}/share`));
}
