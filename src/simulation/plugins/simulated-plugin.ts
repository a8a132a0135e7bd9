/** One eviction plugin as one agent asks it, under the virtual clock. */
import type { Clock } from '../../types/clock.ts';
import { StateletError } from '../../types/errors.ts';
import type {
  EvictionPlugin,
  GetEvictPodsAnswer,
  NamedPod,
  PluginQuestion,
  ThresholdMetAnswer,
  TopEvictionPodsAnswer,
  TopEvictionPodsQuestion,
} from '../../types/eviction-plugin.ts';
import type { Pod } from '../../types/kubernetes.ts';
import type { KeyedRandom } from '../resources/growth.ts';
import { falseEvictPods, falseThreshold, falseTopPods, otherForm } from './false-answers.ts';
import { honestEvictPods, honestThreshold, honestTopPods, type Occasion, QUIET } from './honest-answers.ts';
import { drawnBehaviour, honestBehaviour, type Behaviour } from './plugin-behaviour.ts';

export type AskedCall = 'GetEvictPods' | 'ThresholdMet' | 'GetTopEvictionPods';

/** A plugin is asked. Returns a function to be called with its answer; undefined: it fails. */
export interface PluginWitness {
  asked(plugin: string, call: AskedCall, question: PluginQuestion): (answer: unknown) => void;
  /** A plugin is asked whose connection was closed. */
  askedClosed(plugin: string): void;
}

/** What plugins know of the simulation, and whether they may misbehave. */
export interface PluginWorld {
  readonly random: KeyedRandom;
  readonly nodeName: string;
  /** All pods that are wanted on the node, and the mirror pods. */
  readonly pods: () => readonly Pod[];
  /** Whether plugins misbehave now. */
  readonly misbehaves: () => boolean;
  /** Plugins want no pod to end any more. */
  readonly isQuiet: () => boolean;
}

export interface SimulatedPluginOptions {
  readonly name: string;
  /** Of the plugin, as long as its socket is there. */
  readonly life: string;
  readonly world: PluginWorld;
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly witness: PluginWitness;
}

const MAX_FORMER_PODS = 20;

interface Answers<T> {
  readonly honest: (occasion: Occasion) => T;
  readonly false_: (occasion: Parameters<typeof falseEvictPods>[0]) => T;
  readonly quiet: () => T;
}

export class SimulatedPlugin implements EvictionPlugin {
  readonly name: string;
  readonly #options: SimulatedPluginOptions;
  /** Functions that let the questions under way fail. A plugin is asked thousands of times, so each is removed when its question ends. */
  readonly #underWay = new Set<(why: string) => void>();
  #isClosed = false;
  /** By the call. */
  readonly #asked = new Map<AskedCall, number>();
  readonly #shown = new Map<string, Pod>();

  constructor(options: SimulatedPluginOptions) {
    this.name = options.name;
    this.#options = options;
  }

  /** Questions under way fail. */
  close(): void {
    this.#isClosed = true;
    for (const fail of this.#underWay) fail('the connection is closed');
  }

  getEvictPods(question: PluginQuestion): Promise<GetEvictPodsAnswer<NamedPod>> {
    const answers = { honest: honestEvictPods, false_: falseEvictPods, quiet: QUIET.evictPods };
    return this.#answer('GetEvictPods', question, answers);
  }

  thresholdMet(question: PluginQuestion): Promise<ThresholdMetAnswer<NamedPod>> {
    const answers = { honest: honestThreshold, false_: falseThreshold, quiet: QUIET.thresholdMet };
    return this.#answer('ThresholdMet', question, answers);
  }

  getTopEvictionPods(question: TopEvictionPodsQuestion): Promise<TopEvictionPodsAnswer<NamedPod>> {
    const answers = { honest: honestTopPods, false_: falseTopPods, quiet: QUIET.topPods };
    return this.#answer('GetTopEvictionPods', question, answers);
  }

  #answer<T>(call: AskedCall, question: PluginQuestion, answers: Answers<T>): Promise<T> {
    const { witness, world, clock } = this.#options;
    if (this.#isClosed) witness.askedClosed(this.name);
    const answered = witness.asked(this.name, call, question);
    const ordinal = this.#count(call);
    const { manner, delayMs } = this.#behaviour(call, ordinal);
    const failed = (why: string): Error => {
      answered(undefined);
      return new StateletError('Unavailable', why);
    };
    if (manner === 'throws') throw failed('the plugin throws');
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const fail = (why: string) => {
      this.#underWay.delete(fail);
      reject(failed(why));
    };
    this.#underWay.add(fail);
    if (manner === 'hangs') question.signal.addEventListener('abort', () => fail('is aborted'));
    if (manner === 'hangs' || manner === 'deaf') return promise;
    clock.setTimeout(() => {
      if (this.#isClosed) return;
      this.#underWay.delete(fail);
      if (manner === 'rejects') {
        reject(failed('the plugin fails'));
        return;
      }
      const occasion = this.#occasion(question, ordinal);
      const isOther = manner === 'nonsense';
      const answer = isOther
        ? (otherForm(world.random(this.#key(call, ordinal))) as T)
        : this.#said(manner, occasion, answers);
      answered(isOther ? undefined : answer);
      resolve(answer);
    }, delayMs);
    return promise;
  }

  #said<T>(manner: Behaviour['manner'], occasion: Occasion, { honest, false_, quiet }: Answers<T>): T {
    const { world } = this.#options;
    if (world.isQuiet()) return quiet();
    if (manner !== 'lying') return honest(occasion);
    const formerPods = [...this.#shown.values()].slice(-MAX_FORMER_PODS);
    return false_({ ...occasion, all: world.pods(), formerPods });
  }

  #occasion(question: PluginQuestion & Partial<TopEvictionPodsQuestion>, ordinal: number): Occasion {
    const { topN, activePods } = question;
    const { pods } = activePods;
    const { world, clock } = this.#options;
    for (const pod of pods) this.#shown.set(pod.metadata.uid, pod);
    const { random, nodeName } = world;
    return {
      plugin: this.name,
      now: clock.now(),
      ordinal,
      pods,
      nodeName,
      random,
      ...(topN !== undefined && { topN }),
    };
  }

  #behaviour(call: AskedCall, ordinal: number): Behaviour {
    const { world, life, timeoutMs } = this.#options;
    const draw = { random: world.random, life, question: this.#key(call, ordinal), timeoutMs };
    return world.misbehaves() ? drawnBehaviour(draw) : honestBehaviour(draw);
  }

  #key(call: AskedCall, ordinal: number): string {
    return `${this.#options.life}/${call}/${String(ordinal)}`;
  }

  #count(call: AskedCall): number {
    const ordinal = (this.#asked.get(call) ?? 0) + 1;
    this.#asked.set(call, ordinal);
    return ordinal;
  }
}
