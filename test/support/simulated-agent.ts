import type { KillPodOptions } from '../../src/policies/sync/pod-termination.ts';
import type { CallName } from '../../src/runtime/simulated/latencies.ts';
import type { Fault } from '../../src/simulation/plan/fault-kinds.ts';
import { History, type Violation } from '../../src/simulation/history.ts';
import { Host } from '../../src/simulation/node/host.ts';
import type { Life } from '../../src/simulation/node/life.ts';
import type { Change } from '../../src/simulation/plan/plan.ts';
import { stateName } from '../../src/simulation/judges/pod-states.ts';
import { type Complaint, leftovers, unrest } from '../../src/simulation/judges/rest.ts';
import { ROOMY_NODE } from '../../src/simulation/node/simulated-node-facts.ts';
import { keyedRandom } from '../../src/simulation/plan/seeded-random.ts';
import type { SourceName } from '../../src/simulation/node/simulated-sources.ts';
import { newTally } from '../../src/simulation/tally.ts';
import { VirtualClock } from '../../src/simulation/node/virtual-clock.ts';
import type { Container as RuntimeContainer } from '../../src/types/cri.ts';
import type { Container, PodSpec, PodStatus } from '../../src/types/kubernetes.ts';

/** Of virtual time: longer than all back-offs and deadlines. */
const PATIENCE_MS = 30 * 60_000;

/** One thing that happened. */
export interface Happening {
  /** Since the beginning. */
  readonly atMs: number;
  /** The node, the pod's name and its UID. */
  readonly who: string;
  readonly what: string;
}

/** What is to be said of an agent once everything has been taken from it. */
export interface Verdict {
  readonly violations: readonly Violation[];
  /** Why it did not come to rest. */
  readonly unrest: Complaint | undefined;
  readonly left: Complaint | undefined;
}

/** Nothing was violated, everybody came to rest, nothing is left. */
export const ALL_WELL: Verdict = { violations: [], unrest: undefined, left: undefined };

export interface Kill {
  /** Each with the state of the pod when it came. */
  readonly answers: { readonly atMs: number; readonly state: string }[];
}

interface Watch {
  readonly isMet: (happening: Happening) => boolean;
  readonly act: () => void;
}

/** What is left to chance, such as how long calls take. Others can be tried: `SEED=2`. */
export const CHANCE = keyedRandom(Number(process.env.SEED ?? 1));

/** The production agent on a simulated node under a virtual clock, with the judge: the test says what happens, and when. */
export class SimulatedAgent {
  readonly clock = new VirtualClock();
  readonly violations: Violation[] = [];
  readonly history: Happening[] = [];
  readonly host: Host;
  /** What the node has room for: the test may change it. */
  nodeFacts = ROOMY_NODE;
  readonly #began = this.clock.now();
  readonly #watches = new Set<Watch>();
  #operations = 0;

  /** `random`: in [0, 1), by the key. `faults`: what else goes wrong by chance. */
  constructor(random = CHANCE, faults: readonly Fault[] = []) {
    this.host = new Host({
      nodeFacts: () => this.nodeFacts,
      ...{ node: 1, clock: this.clock, tally: newTally() },
      // The API server is there when an agent starts.
      random: (key) => (/^life\/\d+\/api$/.test(key) ? 0 : random(key)),
      // These happen only where they are asked for.
      faults: new Set<Fault>(['agent', 'exit', 'runtime', ...faults]),
      history: new History(
        () => this.nowMs,
        (line) => this.#happens(line),
      ),
      onViolation: (violation) => this.violations.push(violation),
    });
  }

  /** Since the beginning. */
  get nowMs(): number {
    return this.clock.now() - this.#began;
  }

  get runtime(): Host['runtime'] {
    return this.host.runtime;
  }

  get life(): Life {
    const { life } = this.host;
    if (life === undefined) throw new Error('there is no agent');
    return life;
  }

  /** A new pod; returns its UID. */
  create(name: string, spec: PodSpec = podSpec(), source: SourceName = 'api'): string {
    this.apply(name, { kind: 'create', source, spec });
    return `uid-${String(this.#operations)}`;
  }

  apply(name: string, change: Change): void {
    this.#operations += 1;
    this.host.apply({ number: this.#operations, atMs: this.nowMs, node: 1, name, change });
  }

  delete(name: string, graceSeconds = 30): void {
    this.apply(name, { kind: 'delete', graceSeconds });
  }

  /** Asks for the pod's end, as eviction and preemption do. */
  kill(uid: string, options: Omit<KillPodOptions, 'waiter'> = {}): Kill {
    const kill: Kill = { answers: [] };
    // This agent is not expected to run it any more.
    this.life.killed.add(uid);
    void this.life.agent.supervisor.killPod(uid, options).then(() => {
      kill.answers.push({ atMs: this.nowMs, state: this.state(uid) });
    });
    return kill;
  }

  /** As the agent would tell the API server. */
  status(uid: string): PodStatus | undefined {
    return this.life.agent.statusManager.get(uid);
  }

  /** The agent dies now, and another one comes. */
  crash(downMs = 0): void {
    this.apply('', { kind: 'crash agent', downMs });
  }

  /** `Syncing.Settled`; empty where there is no such pod. */
  state(uid: string): string {
    const entry = this.host.life?.agent.supervisor.registry.get(uid);
    return entry === undefined ? '' : stateName(entry.actor.getSnapshot());
  }

  /** Lets time pass from one deadline to the next. */
  async until(condition: () => boolean, what: string): Promise<void> {
    const deadline = this.nowMs + PATIENCE_MS;
    await this.clock.advance(0);
    while (!condition()) {
      if (this.nowMs > deadline) throw new Error(`waited in vain for ${what}`);
      await this.clock.advance(this.clock.nextInMs ?? 1);
    }
  }

  /** '' means that the pod is not known any more. */
  async untilState(uid: string, wanted: string): Promise<void> {
    await this.until(() => this.state(uid) === wanted, `${uid} to be in "${wanted}"`);
  }

  async untilCalled(uid: string, call: CallName): Promise<void> {
    const isInFlight = () => this.runtime.inFlight(uid).some(({ name }) => name === call);
    await this.until(isInFlight, `${call} to be called for ${uid}`);
  }

  /** Does something right after such a thing has next happened, in the midst of what the agent does about it. */
  atNext(pattern: RegExp, act: () => void): void {
    this.#watches.add({ isMet: ({ who, what }) => pattern.test(`${who}: ${what}`), act });
  }

  /** As `atNext`, after so many things have happened. */
  atMoment(ordinal: number, act: () => void): void {
    this.#watches.add({ isMet: () => this.history.length === ordinal, act });
  }

  /** What was told of somebody, by one of the names in `who`, and matches, from so many happenings on. */
  told(who: string, pattern: RegExp, from = 0): readonly Happening[] {
    return this.history
      .slice(from)
      .filter((happening) => pattern.test(happening.what) && happening.who.split(' ').includes(who));
  }

  /** The containers that run, as the runtime itself lists them. */
  async running(): Promise<readonly RuntimeContainer[]> {
    const listed = this.runtime.connect().listContainers({ state: 'CONTAINER_RUNNING' });
    await this.clock.advance(100);
    return listed;
  }

  /** Waits until all is at rest, then takes everything away and waits until it is gone. */
  async verdict(): Promise<Verdict> {
    this.runtime.podFaults.clear();
    await this.#untilNobodyComplains(unrest);
    const restless = unrest(this.host);
    this.host.sources.clear();
    await this.#untilNobodyComplains(leftovers);
    return { violations: this.violations, unrest: restless, left: leftovers(this.host) };
  }

  async #untilNobodyComplains(complain: (host: Host) => Complaint | undefined): Promise<void> {
    const deadline = this.nowMs + PATIENCE_MS;
    while (complain(this.host) !== undefined && this.nowMs < deadline) await this.clock.advance(1000);
  }

  #happens(line: string): void {
    const [, time = '', who = '', what = ''] = /^(\S+) (.*?): (.*)$/.exec(line) ?? [];
    const [hours = 0, minutes = 0, seconds = 0] = time.split(':').map(Number);
    const atMs = Math.round(((hours * 60 + minutes) * 60 + seconds) * 1000);
    const happening = { atMs, who, what };
    this.history.push(happening);
    for (const watch of this.#watches) {
      if (watch.isMet(happening) && this.#watches.delete(watch)) queueMicrotask(watch.act);
    }
  }
}

/** A container whose command says what it does (src/runtime/simulated/simulated-program.ts). */
export function container(name: string, words = 'run', more: Partial<Container> = {}): Container {
  return { name, image: 'registry.example/app:1', command: words.split(' '), ...more };
}

export function podSpec(more: Partial<PodSpec> = {}): PodSpec {
  return {
    containers: [container('main')],
    restartPolicy: 'Always',
    terminationGracePeriodSeconds: 30,
    ...more,
  };
}
