/** Daemons on one folder of manifests, one after another. Each is killed. */
import type { Daemon, LogLine } from '../daemon.ts';
import { CHANGES } from '../runtime-tap.ts';
import { PATIENCE_MS, waitFor } from '../wait-for.ts';
import { Death, type DeathPoint } from './death.ts';
import { Judge, problems, type Sight } from './judge.ts';
import type { Stage } from './stage.ts';
import { World } from './world.ts';

/**
 * When held calls of the last daemon reach the runtime: when the next daemon knows the running containers, just before the first
 * call by which it changes something, or when all pods match their manifests.
 */
export const LANDINGS = ['early', 'in between', 'at rest'] as const;
type Landing = (typeof LANDINGS)[number];

export class Succession {
  readonly world: World;
  /** The violations. */
  readonly violations: string[] = [];
  /** The history, step by step. */
  readonly story: string[] = [];
  readonly #stage: Stage;
  readonly #judge: Judge;
  readonly #daemons: Daemon[] = [];
  readonly #found = new Set<string>();

  constructor(stage: Stage) {
    this.#stage = stage;
    this.world = new World(stage.bed.manifestDir, stage.surroundings);
    this.#judge = new Judge(this.world, stage.witness, stage.tap);
  }

  /** Resolves when all pods match their manifests, also after the held calls have reached the runtime. */
  async start(landing: Landing = 'in between'): Promise<void> {
    const { tap } = this.#stage;
    if (landing === 'in between') {
      tap.decide = (call) => {
        if (!CHANGES.includes(call)) return 'passes';
        tap.decide = undefined;
        return { waitsFor: tap.release() };
      };
    }
    await this.#launch().ready();
    if (landing === 'early') await tap.release();
    await this.settle();
    tap.decide = undefined;
    await tap.release();
    await this.settle();
  }

  /** Kills the next daemon at that point of its adoption of the pods, and starts another; does neither if it never reaches the point. */
  async startToDie(point: DeathPoint): Promise<void> {
    const isDead = await this.#dies(point, this.#launch(), async (death) => {
      await this.#daemon.ready().catch((error: unknown) => {
        if (death.call === undefined) throw error;
      });
      await this.#stage.tap.release();
    });
    if (isDead !== undefined) await this.start();
  }

  /**
   * Kills the daemon at that point after the change, or when it is idle if it never reaches the point. Resolves to the call at which it
   * was killed.
   */
  async dieAt(point: DeathPoint, change: () => void): Promise<string | undefined> {
    const call = await this.#dies(point, this.#daemon, change);
    if (call === undefined) await this.#bury('at rest');
    return call;
  }

  /** Removes all manifests; resolves when nothing remains of the pods. */
  async end(): Promise<void> {
    this.world.removeAll();
    await this.settle();
    let left: readonly string[] = [];
    const isEmpty = async () => (left = await this.#stage.leftovers()).length === 0;
    await waitFor(isEmpty, { what: 'nothing to be left' }).catch((error: unknown) => {
      throw this.#explained(`left behind: ${left.join('; ')}`, error);
    });
  }

  /** Resolves when all pods match their manifests, or the daemon was killed. */
  async settle(isDead: () => boolean = () => false): Promise<void> {
    let wrong: readonly string[] = [];
    const settled = async () => {
      const sight = await this.#look().catch((error: unknown) => {
        if (!isDead()) throw error;
      });
      if (sight === undefined || isDead()) return 'died';
      wrong = problems(this.world.wanted, sight);
      return wrong.length === 0 && sight;
    };
    const waits = { what: 'everything to be as wanted', timeoutMs: PATIENCE_MS };
    const sight = await this.#daemon.waitFor(settled, waits).catch((error: unknown) => {
      throw this.#explained(`not as wanted: ${wrong.join('; ')}`, error);
    });
    if (sight === 'died') return;
    const found = this.#judge.violations(sight).filter((violation) => !this.#found.has(violation));
    if (found.length > 0) this.violations.push(this.#explained(found.join('; ')).message);
    for (const violation of found) this.#found.add(violation);
    this.#judge.settled(sight);
  }

  get #daemon(): Daemon {
    const daemon = this.#daemons.at(-1);
    if (daemon === undefined) throw new Error('there has been no daemon yet');
    return daemon;
  }

  #launch(): Daemon {
    this.story.push(`daemon ${String(this.#daemons.length)} starts`);
    const daemon = this.#stage.launch();
    this.#daemons.push(daemon);
    return daemon;
  }

  /** Resolves to the call at which the daemon was killed; to undefined if all pods match their manifests and it still runs. */
  async #dies(
    point: DeathPoint,
    daemon: Daemon,
    meanwhile: (death: Death) => void | Promise<void>,
  ): Promise<string | undefined> {
    const death = new Death(daemon, this.#stage.tap, point);
    await meanwhile(death);
    await Promise.race([death.done, this.settle(() => death.call !== undefined)]);
    death.callOff();
    if (death.call !== undefined) await this.#bury(`${point.when} ${death.call}`);
    return death.call;
  }

  /** While no daemon runs, records the containers that must keep running. */
  async #bury(where: string): Promise<void> {
    await this.#daemon.end('SIGKILL');
    this.story.push(`dies ${where}`);
    this.#judge.keep({ containers: await this.#stage.runtime.listContainers() });
  }

  async #look(): Promise<Sight> {
    const { runtime } = this.#stage;
    const [sandboxes, containers, served] = await Promise.all([
      runtime.listPodSandbox(),
      runtime.listContainers(),
      this.#daemon.pods(),
    ]);
    return { sandboxes, containers, served, notes: this.world.notes() };
  }

  /** The violation with the history, and with the lines of the daemons' logs about its pods. */
  #explained(problem: string, cause?: unknown): Error {
    const concerned = ({ uid, level }: LogLine) =>
      uid === undefined ? level !== 'info' : problem.includes(`${uid} `);
    const logs = this.#daemons.flatMap(({ log, stderr }, index) => {
      const lines = [...log.filter(concerned).map((line) => JSON.stringify(line)), stderr].filter(Boolean);
      return lines.length > 0 ? [`daemon ${String(index)}:`, ...lines] : [];
    });
    return new Error([problem, this.story.join(', '), ...logs].join('\n'), { cause });
  }
}
