/** Adds, changes and removes manifests while daemons start and are killed, all by a seed. */
import { seededRandom, type SeededRandom } from '../../../src/simulation/plan/seeded-random.ts';
import { CHANGES } from '../runtime-tap.ts';
import { type DeathPoint, WHENS } from './death.ts';
import { KIND_NAMES } from './pods.ts';
import type { Stage } from './stage.ts';
import { LANDINGS, Succession } from './succession.ts';

const NAMES = ['a', 'b', 'c', 'd', 'e', 'f'];

export class Storm {
  readonly #daemons: Succession;
  readonly #random: SeededRandom;

  constructor(stage: Stage, seed: number) {
    this.#daemons = new Succession(stage);
    this.#random = seededRandom(seed);
  }

  /** Resolves to the violations after that many daemons were killed and all pods are removed. */
  async rage(deaths: number): Promise<readonly string[]> {
    const daemons = this.#daemons;
    for (const name of NAMES) daemons.world.add(name, this.#random.pick(KIND_NAMES));
    await daemons.start();
    for (let death = 0; death < deaths; death++) {
      await daemons.dieAt(this.#point(), () => this.#change(this.#random.integer(1, 4)));
      this.#change(this.#random.pick([0, 0, 1, 2]));
      await this.#succeed();
    }
    await daemons.end();
    return daemons.violations;
  }

  async #succeed(): Promise<void> {
    const random = this.#random;
    if (random.next() < 0.3) await this.#daemons.startToDie(this.#point());
    else await this.#daemons.start(random.pick(LANDINGS));
  }

  /** A death at one kind of call, at any call that changes something, or at any call. */
  #point(): DeathPoint {
    const random = this.#random;
    const when = random.pick(WHENS);
    const points: (() => DeathPoint)[] = [
      () => ({ when, calls: [random.pick(CHANGES)], nth: random.integer(1, 2) }),
      () => ({ when, calls: CHANGES, nth: random.integer(1, 10) }),
      () => ({ when, nth: random.integer(1, 30) }),
    ];
    return random.pick(points)();
  }

  #change(times: number): void {
    for (let time = 0; time < times; time++) this.#changeOne(this.#random.pick(NAMES));
  }

  #changeOne(name: string): void {
    const { world, story } = this.#daemons;
    const add = () => world.add(name, this.#random.pick(KIND_NAMES));
    const isWanted = world.get(name) !== undefined;
    const changes: Readonly<Record<string, () => void>> = isWanted
      ? {
          removes: () => world.remove(name),
          replaces: add,
          edits: () => world.edit(name),
          'removes and puts back': () => {
            world.remove(name);
            world.addAgain(name);
          },
        }
      : { adds: add, 'puts back': () => world.addAgain(name) };
    const what = this.#random.pick(Object.keys(changes));
    changes[what]?.();
    const now = world.get(name);
    story.push(`a user ${what} ${now ? `${now.kind} ${now.uid}` : name}`);
  }
}
