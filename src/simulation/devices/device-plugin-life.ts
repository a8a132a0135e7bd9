/** One process of a simulated device plugin, from when it listens until it dies. It outlives agents. */
import type { ListedDevice } from '../../agent/policies/devices/device-list.ts';
import type { Clock } from '../../types/clock.ts';
import type { CallHabits } from '../drivers/driver-process.ts';
import { pick } from '../plugins/plugins-plan.ts';
import type { KeyedRandom } from '../resources/growth.ts';
import type { DevicesOfNode } from './devices-plan.ts';

/** What device plugins know of the simulation, and whether they may misbehave. */
export interface DeviceWorld {
  readonly random: KeyedRandom;
  readonly misbehaves: () => boolean;
  /** How calls of `Allocate` go where plugins do not misbehave. Default: up to 50 ms; none fails. */
  readonly habits?: (resource: string) => CallHabits | undefined;
}

/** As long as the process lives. */
export type Character = 'honest' | 'slow' | 'failing' | 'hanging' | 'lying' | 'flooding';

const CHARACTERS: readonly Character[] = [
  'honest',
  'honest',
  'honest',
  'slow',
  'failing',
  'hanging',
  'lying',
  'lying',
  'flooding',
];
const CHANGES_AFTER_MS = [500, 10_000, 60_000];
const FLOOD = 30;
const FOUND = 0.3;
const TOO_LONG = 'x'.repeat(1_025);

export interface DevicePluginLifeOptions {
  readonly devices: DevicesOfNode;
  /** Of this life alone. */
  readonly key: string;
  readonly world: DeviceWorld;
  readonly clock: Clock;
}

export class DevicePluginLife {
  readonly resource: string;
  readonly key: string;
  readonly character: Character;
  readonly preStartRequired: boolean;
  readonly getPreferredAllocationAvailable: boolean;
  /** It registers by a socket in the folder that agents watch, not by a call. */
  readonly isFound: boolean;
  /** Called with each list. */
  readonly onList = new Set<(devices: readonly ListedDevice[]) => void>();
  readonly onDeath = new Set<() => void>();
  readonly #options: DevicePluginLifeOptions;
  #devices: readonly ListedDevice[];
  #isAlive = true;
  #count = 0;

  constructor(options: DevicePluginLifeOptions) {
    this.#options = options;
    const { devices, key, world } = options;
    this.resource = devices.resource;
    this.key = key;
    this.character = world.misbehaves() ? pick(CHARACTERS, world.random(`${key}/character`)) : 'honest';
    this.preStartRequired = world.random(`${key}/pre-start`) < 0.5;
    this.getPreferredAllocationAvailable = world.random(`${key}/preferred`) < 0.5;
    this.isFound = world.random(`${key}/found`) < FOUND;
    this.#devices = devices.ids.map((ID) => this.#device(ID, 'Healthy'));
    this.#changeLater();
  }

  get isAlive(): boolean {
    return this.#isAlive;
  }

  /** The list that it would send now. */
  get list(): readonly ListedDevice[] {
    if (this.character !== 'lying') return this.#devices;
    const [first] = this.#devices;
    const twice = first ? [{ ...first, health: 'Unhealthy' }] : [];
    return [...twice, { ID: '', health: 'Healthy' }, ...this.#devices, { ID: TOO_LONG, health: 'Healthy' }];
  }

  get habits(): CallHabits | undefined {
    return this.#options.world.habits?.(this.resource);
  }

  /** A device that is not listed stays out. */
  setHealth(id: string, health: 'Healthy' | 'Unhealthy'): void {
    this.#devices = this.#devices.map((device) => (device.ID === id ? this.#device(id, health) : device));
    for (const listener of this.onList) listener(this.list);
  }

  die(): void {
    this.#isAlive = false;
    for (const listener of this.onDeath) listener();
    this.onDeath.clear();
    this.onList.clear();
  }

  /** In [0, 1): the next number of this life. */
  draw(what: string): number {
    return this.#options.world.random(`${this.key}/${what}/${String(++this.#count)}`);
  }

  #device(ID: string, health: 'Healthy' | 'Unhealthy'): ListedDevice {
    const node = this.#options.devices.nodeOf?.(ID);
    return { ID, health, ...(node !== undefined && { topology: { nodes: [{ ID: node }] } }) };
  }

  #changeLater(): void {
    const { clock, world } = this.#options;
    if (!world.misbehaves()) return;
    const delayMs = 1 + Math.floor(pick(CHANGES_AFTER_MS, this.draw('change')) * this.draw('share'));
    clock.setTimeout(() => {
      if (!this.#isAlive || !world.misbehaves()) return;
      const times = this.character === 'flooding' ? FLOOD : 1;
      for (let time = 0; time < times; time++) this.#change();
      this.#changeLater();
    }, delayMs);
  }

  /** A device becomes unhealthy or healthy; now and then one is removed, or added again. */
  #change(): void {
    const { ids } = this.#options.devices;
    const changed = pick(ids, this.draw('which'));
    const isIn = this.#devices.some(({ ID }) => ID === changed);
    const others = this.#devices.filter(({ ID }) => ID !== changed);
    const health = this.draw('health') < 0.6 ? 'Healthy' : 'Unhealthy';
    const isOut = isIn && this.draw('out') < 0.2;
    this.#devices = isOut ? others : [...others, this.#device(changed, health)];
    for (const listener of this.onList) listener(this.list);
  }
}
