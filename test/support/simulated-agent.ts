import { stateName } from '../../src/agent/actors/transitions.ts';
import type { KillPodOptions } from '../../src/agent/policies/termination/pod-termination.ts';
import type { CallName } from '../../src/simulation/runtime/chance.ts';
import type { Fault } from '../../src/simulation/plan/fault-kinds.ts';
import { History, type Violation } from '../../src/simulation/history.ts';
import { Host } from '../../src/simulation/node/host.ts';
import type { AgentRun } from '../../src/simulation/node/agent-run.ts';
import type { Change } from '../../src/simulation/plan/plan.ts';
import { findLeftover, findUnsettled, type Finding } from '../../src/simulation/judges/final-check.ts';
import { ROOMY_NODE } from '../../src/simulation/node/simulated-node-facts.ts';
import { keyedRandom } from '../../src/simulation/plan/seeded-random.ts';
import type { SourceName } from '../../src/simulation/node/simulated-sources.ts';
import { newTally } from '../../src/simulation/tally.ts';
import { VirtualClock } from '../../src/simulation/node/virtual-clock.ts';
import type { Container as RuntimeContainer } from '../../src/types/cri.ts';
import type { Container, PodSpec, PodStatus } from '../../src/types/kubernetes.ts';

/** Virtual time, longer than all back-offs and deadlines. */
const PATIENCE_MS = 30 * 60_000;

/** A line of the history. */
export interface Happening {
  /** Since the start of the simulation. */
  readonly atMs: number;
  /** The node, the pod's name and its UID. */
  readonly who: string;
  readonly what: string;
}

/** The outcome of the final checks. */
export interface Verdict {
  readonly violations: readonly Violation[];
  /** Why the node has not settled, if so. */
  readonly unsettled: Finding | undefined;
  /** The pods and containers that remained after all pods had been removed, if any. */
  readonly leftover: Finding | undefined;
}

/** No invariant was violated, all pods settled, and nothing is left. */
export const ALL_WELL: Verdict = { violations: [], unsettled: undefined, leftover: undefined };

export interface Kill {
  /** The events, each with the state of the pod at that time. */
  readonly answers: { readonly atMs: number; readonly state: string }[];
}

interface Watch {
  readonly matches: (happening: Happening) => boolean;
  readonly act: () => void;
}

/** The seed of random values such as the duration of calls. `SEED=2` tries other values. */
export const CHANCE = keyedRandom(Number(process.env.SEED ?? 1));

/** The production agent on a simulated node under a virtual clock, with the judges. The test controls what happens, and when. */
export class SimulatedAgent {
  readonly clock = new VirtualClock();
  readonly violations: Violation[] = [];
  readonly history: Happening[] = [];
  readonly host: Host;
  /** How much the node has for its pods. The test may change it. */
  nodeFacts = ROOMY_NODE;
  readonly #began = this.clock.now();
  readonly #watches = new Set<Watch>();
  #operations = 0;

  /** `random`: a value in [0, 1) for a key. `faults`: the random faults. */
  constructor(random = CHANCE, faults: readonly Fault[] = []) {
    this.host = new Host({
      nodeFacts: () => this.nodeFacts,
      node: 1,
      clock: this.clock,
      tally: newTally(),
      // The API server is reachable when an agent starts, and agents watch what their pods refer to.
      random: (key) => (/^(?:life\/\d+\/api|strategy)$/.test(key) ? 0 : random(key)),
      // Only the test causes these.
      faults: new Set<Fault>(['agent', 'exit', 'runtime', ...faults]),
      hearsAtOnce: true,
      history: new History(
        () => this.nowMs,
        (line) => this.#happens(line),
      ),
      onViolation: (violation) => this.violations.push(violation),
    });
  }

  /** Since the start of the simulation. */
  get nowMs(): number {
    return this.clock.now() - this.#began;
  }

  get runtime(): Host['runtime'] {
    return this.host.runtime;
  }

  /** The agent that runs now. */
  get run(): AgentRun {
    const { agentRun } = this.host;
    if (agentRun === undefined) throw new Error('there is no agent');
    return agentRun;
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

  /** Kills the pod, as eviction and preemption do. */
  kill(uid: string, options: Omit<KillPodOptions, 'waiter'> = {}): Kill {
    const kill: Kill = { answers: [] };
    // The judges know that the end of this pod was asked for.
    this.run.judges.killed.add(uid);
    void this.run.agent.supervisor.killPod(uid, options).then(() => {
      kill.answers.push({ atMs: this.nowMs, state: this.state(uid) });
    });
    return kill;
  }

  /** The status that the agent would send to the API server. */
  status(uid: string): PodStatus | undefined {
    return this.run.agent.statusManager.get(uid);
  }

  /** The agent is killed, and another one starts. */
  crash(downMs = 0): void {
    this.apply('', { kind: 'crash agent', downMs });
  }

  /** `Syncing.Settled`; empty if the agent has no such pod. */
  state(uid: string): string {
    const entry = this.host.agentRun?.agent.supervisor.registry.get(uid);
    return entry === undefined ? '' : stateName(entry.actor.getSnapshot().value);
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

  /** `wanted`: '' for a pod that the agent has forgotten. */
  async untilState(uid: string, wanted: string): Promise<void> {
    await this.until(() => this.state(uid) === wanted, `${uid} to be in "${wanted}"`);
  }

  /** Waits until the checks of a settled node find nothing. */
  async untilSettled(): Promise<void> {
    await this.until(() => findUnsettled(this.host) === undefined, 'the node to settle');
  }

  async untilCalled(uid: string, call: CallName): Promise<void> {
    const isInFlight = () => this.runtime.inFlight(uid).some(({ name }) => name === call);
    await this.until(isInFlight, `${call} to be called for ${uid}`);
  }

  /** Acts right after the next line of the history that matches, while the agent still reacts to it. */
  atNext(pattern: RegExp, act: () => void): void {
    this.#watches.add({ matches: ({ who, what }) => pattern.test(`${who}: ${what}`), act });
  }

  /** Acts right after the history has got that many lines. */
  atMoment(ordinal: number, act: () => void): void {
    this.#watches.add({ matches: () => this.history.length === ordinal, act });
  }

  /** The lines that match, about the node, pod name or UID `who`, from index `from` on. */
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

  /** Waits until the node has settled, then removes all pods and waits until nothing is left. */
  async verdict(): Promise<Verdict> {
    this.runtime.podFaults.clear();
    const unsettled = await this.#check(findUnsettled);
    this.host.sources.clear();
    return { violations: this.violations, unsettled, leftover: await this.#check(findLeftover) };
  }

  /** Waits until the check finds nothing. */
  async #check(find: (host: Host) => Finding | undefined): Promise<Finding | undefined> {
    const deadline = this.nowMs + PATIENCE_MS;
    while (find(this.host) !== undefined && this.nowMs < deadline) await this.clock.advance(1000);
    return find(this.host);
  }

  #happens(line: string): void {
    const [, time = '', who = '', what = ''] = /^(\S+) (.*?): (.*)$/.exec(line) ?? [];
    const [hours = 0, minutes = 0, seconds = 0] = time.split(':').map(Number);
    const atMs = Math.round(((hours * 60 + minutes) * 60 + seconds) * 1000);
    const happening = { atMs, who, what };
    this.history.push(happening);
    for (const watch of this.#watches) {
      if (watch.matches(happening) && this.#watches.delete(watch)) queueMicrotask(watch.act);
    }
  }
}

/** A container whose command says what it does (src/simulation/runtime/simulated-program.ts). */
export function container(name: string, words = 'run', more: Partial<Container> = {}): Container {
  return { name, image: 'registry.example/app:1', command: words.split(' '), ...more };
}

export function podSpec(more: Partial<PodSpec> = {}): PodSpec {
  return {
    containers: [container('main')],
    restartPolicy: 'Always',
    terminationGracePeriodSeconds: 30,
    enableServiceLinks: true,
    ...more,
  };
}
