/** Sees to it that the effects of a pod end as a path says, by what becomes of the calls that they make. */
import type { PodEffects } from '../../../src/actors/pods/pod-actor.ts';
import type { PodEvent } from '../../../src/machines/pod-machine.ts';
import type { HeldCall, Method, SteeredNode, Which } from '../../support/steered-runtime.ts';
import type { PathNode } from '../path-node.ts';
import { type Outcome, UID } from './pod-environment.ts';

/** How an effect ends, as the rest of a path tells. */
export interface Fate {
  /** Undefined: the path ends before it does. */
  readonly outcome: Outcome | undefined;
  /** It has been asked to come to rest by then. */
  readonly aborted: boolean;
}

type EffectKind = 'sync' | 'stop' | 'cleanUp';

const STARTS: readonly Method[] = ['runPodSandbox', 'createContainer', 'startContainer'];
const STOPS: readonly Method[] = ['stopContainer', 'stopPodSandbox'];
/** Where a sync may find out that it is to come to rest. */
const RESTING_POINTS: readonly Method[] = ['createContainer', 'startContainer'];

const isOneOf =
  (...methods: readonly Method[]): Which =>
  ({ method }) =>
    methods.includes(method);

/** Longer than a container waits to be restarted here; so short that in a whole path nothing else comes to be due. */
export const MOMENT_MS = 10;

export class PodSteering {
  /** Of the effect that begins next. */
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

  /** Effects take their time on a real runtime: what comes next is to find the one in flight where it is held. */
  async untilHeld(): Promise<void> {
    const held = this.#held;
    if (held) await this.#pathNode.until('the effect to get to where it is held', () => held.hasArrived);
  }

  /** The effect in flight ends. */
  async end(outcome: Outcome): Promise<void> {
    await this.untilHeld();
    const held = this.#held;
    if (outcome === 'syncedMoreToDo' || outcome === 'syncFailedMoreToDo') await this.#exitOne();
    if (outcome === 'syncedToTheEnd') await this.#exitAll();
    await this.#pathNode.clock.advance(MOMENT_MS);
    if (outcome === 'stopFailed' || outcome === 'cleanupFailed') held?.fail();
    else held?.proceed();
  }

  /** Everything takes its own course. */
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

  /** An answer that is on its way already cannot be called off. */
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
    // What has been asked of the runtime by then is carried out, whatever the pod is told meanwhile.
    return isOneOf(RESTING_POINTS[this.#effects % RESTING_POINTS.length]);
  }

  /** With which an effect ends, after what it has done. */
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
