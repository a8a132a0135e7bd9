/** Makes the effects of a pod end as a path says: it decides how their calls end. */
import type { PodEffects } from '../../../src/agent/actors/pods/pod-actor.ts';
import type { PodEvent } from '../../../src/agent/machines/pod-machine.ts';
import type { HeldCall, Method, SteeredNode, Which } from '../../support/steered-runtime.ts';
import type { PathNode } from '../path-node.ts';
import { type Outcome, UID } from './pod-environment.ts';

/** How an effect ends, according to the later steps of a path. */
export interface Fate {
  /** Undefined if the path ends before the effect. */
  readonly outcome: Outcome | undefined;
  /** Whether the effect is aborted before its end. */
  readonly aborted: boolean;
}

type EffectKind = 'sync' | 'stop' | 'cleanUp';

const STARTS: readonly Method[] = ['runPodSandbox', 'createContainer', 'startContainer'];
const STOPS: readonly Method[] = ['stopContainer', 'stopPodSandbox'];
/** The calls at which a sync may find out that it was aborted. */
const RESTING_POINTS: readonly Method[] = ['createContainer', 'startContainer'];

const isOneOf =
  (...methods: readonly Method[]): Which =>
  ({ method }) =>
    methods.includes(method);

/** Longer than the wait before the restart of a container here. Shorter than every other wait, even if it is added for all steps. */
export const MOMENT_MS = 10;

export class PodSteering {
  /** How the next effect ends. */
  fate: Fate = { outcome: undefined, aborted: false };
  readonly #pathNode: PathNode;
  readonly #node: SteeredNode;
  #held: HeldCall | undefined;
  #effects = 0;
  #isOver = false;

  constructor(pathNode: PathNode, node: SteeredNode) {
    this.#pathNode = pathNode;
    this.#node = node;
  }

  steered(effects: PodEffects): PodEffects {
    return {
      ...effects,
      syncPod: (context, signal) => this.#led('sync', () => effects.syncPod(context, signal)),
      stopPod: (context, signal) => this.#led('stop', () => effects.stopPod(context, signal)),
      cleanUpPod: (context, signal) => this.#led('cleanUp', () => effects.cleanUpPod(context, signal)),
    };
  }

  /** On a real runtime, an effect needs time: the next event must come when the effect has reached its held call. */
  async untilHeld(): Promise<void> {
    const held = this.#held;
    if (held) await this.#pathNode.until('the effect to get to where it is held', () => held.hasArrived);
  }

  /** Ends the effect in flight. */
  async end(outcome: Outcome): Promise<void> {
    await this.untilHeld();
    const held = this.#held;
    if (outcome === 'syncedMoreToDo' || outcome === 'syncFailedMoreToDo') await this.#exitOne();
    if (outcome === 'syncedToTheEnd') await this.#exitAll();
    await this.#pathNode.clock.advance(MOMENT_MS);
    if (outcome === 'stopFailed' || outcome === 'cleanupFailed') held?.fail();
    else held?.proceed();
  }

  /** Holds no call any more. */
  proceedAll(): void {
    this.#isOver = true;
    this.#node.proceedAll();
  }

  async #led(kind: EffectKind, effect: () => Promise<PodEvent>): Promise<PodEvent> {
    if (!this.#isOver) this.#lead(kind);
    try {
      return await effect();
    } finally {
      this.#held = undefined;
    }
  }

  #lead(kind: EffectKind): void {
    const { outcome } = this.fate;
    const isDeaf = this.#isDeaf();
    this.#effects += 1;
    this.#node.deaf = () => isDeaf;
    this.#held = this.#node.hold(this.#holdingPoint(kind));
    if (outcome === 'syncFailed') this.#node.fail(isOneOf('runPodSandbox', 'createContainer'));
    if (outcome === 'syncFailedMoreToDo') this.#node.fail(isOneOf('createContainer'));
  }

  /** Whether the runtime ignores the abort, because its answer is under way already. */
  #isDeaf(): boolean {
    return this.fate.aborted && this.fate.outcome !== 'atRest';
  }

  #holdingPoint(kind: EffectKind): Which {
    const { outcome } = this.fate;
    if (kind === 'cleanUp') return isOneOf('release');
    if (kind === 'stop') {
      const stopsSomething = this.#node.hasSeen(UID);
      return stopsSomething && !this.#isDeaf() ? isOneOf(...STOPS) : this.#lastRead(stopsSomething);
    }
    if (outcome === undefined) return isOneOf('prepare');
    if (outcome !== 'atRest') return this.#lastRead(true);
    // Calls that the runtime already has are carried out, even after an abort.
    return isOneOf(RESTING_POINTS[this.#effects % RESTING_POINTS.length]);
  }

  /** The read at the end of an effect, after its other calls. */
  #lastRead(doesSomething: boolean): Which {
    const before = this.#node.calls.length;
    const isAct = isOneOf(...STARTS, ...STOPS);
    const isRead: Which = ({ method, signal }) => method === 'listContainers' && signal !== undefined;
    return (call) => isRead(call) && (!doesSomething || this.#node.calls.slice(before).some(isAct));
  }

  async #exitOne(): Promise<void> {
    const id = (await this.#running()).at(-1);
    if (id !== undefined) await this.#pathNode.exit(id, 1);
  }

  async #exitAll(): Promise<void> {
    for (const id of await this.#running()) await this.#pathNode.exit(id, 0);
  }

  async #running(): Promise<readonly string[]> {
    const running = await this.#pathNode.runtime.listContainers({ state: 'CONTAINER_RUNNING' });
    return running.map(({ id }) => id);
  }
}
