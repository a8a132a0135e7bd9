/** One simulated node: a runtime, a disk and sources that outlive every agent, and the agent that lives there now. */
import { rfc3339 } from '../../policies/formats/time.ts';
import type { SimulatedDisk } from './simulated-node.ts';
import { SimulatedRuntime } from '../../runtime/simulated/simulated-runtime.ts';
import type { CallUnderWay, RuntimeWitness } from '../../runtime/simulated/witness.ts';
import type { Clock } from '../../types/clock.ts';
import type { Pod, PodSpec } from '../../types/kubernetes.ts';
import type { NodeFacts } from '../../types/node-facts.ts';
import { type Fault, nodeFaults, runtimeFaults, statsFaults } from '../plan/fault-kinds.ts';
import type { History, Violation } from '../history.ts';
import { isRead, secondInstance } from '../judges/runtime-truth.ts';
import { Life } from './life.ts';
import type { Change, Operation } from '../plan/plan.ts';
import type { NodeResources } from '../resources/node-resources.ts';
import { SimulatedResources } from '../resources/simulated-resources.ts';
import { SimulatedSources } from './simulated-sources.ts';
import { countEviction, type Tally } from '../tally.ts';

/** How long the API server takes to hear of a pod's end. */
const API_SERVER_MS = 50;

export interface HostOptions {
  readonly node: number;
  readonly clock: Clock;
  /** In [0, 1), by the key. */
  readonly random: (key: string) => number;
  readonly faults: ReadonlySet<Fault>;
  /** What it has room for, in that life of its agent. */
  readonly nodeFacts: (life: number) => NodeFacts;
  /** Where it is left out, nothing ever gets short, and nobody is evicted. */
  readonly resources?: NodeResources | undefined;
  readonly history: History;
  readonly tally: Tally;
  readonly onViolation: (violation: Violation) => void;
}

type ChangeOf<Kind extends Change['kind']> = Extract<Change, { readonly kind: Kind }>;

export class Host {
  readonly runtime: SimulatedRuntime;
  readonly sources = new SimulatedSources();
  readonly disk: SimulatedDisk = new Map();
  readonly #options: HostOptions;
  readonly #names = new Map<string, string>();
  readonly #resources: SimulatedResources | undefined;
  /** By UID. */
  readonly #specs = new Map<string, PodSpec>();
  /** By name of the pod, what waits for a call. */
  readonly #ambushes = new Map<string, { readonly number: number } & ChangeOf<'ambush'>>();
  /** UIDs of static pods: of one name one at a time. */
  readonly #statics = new Set<string>();
  #faults: ReadonlySet<Fault>;
  #life: Life | undefined;
  #lives = 0;

  constructor(options: HostOptions) {
    this.#options = options;
    this.#faults = options.faults;
    const { clock, random, resources } = options;
    const faults = runtimeFaults(options.faults, random);
    const images = resources?.oldImages ?? [];
    this.runtime = new SimulatedRuntime({ clock, random, faults, images, witness: this.#witness() });
    this.#resources = this.#buildResources();
    this.#begin();
  }

  get node(): number {
    return this.#options.node;
  }

  /** The agent that lives now; undefined while there is none. */
  get life(): Life | undefined {
    return this.#life;
  }

  apply({ number, name, change }: Operation): void {
    if (!this.#isOn(change)) return;
    this.#options.tally.operations += 1;
    this.tell(`#${String(number)} ${JSON.stringify(change)}`, name);
    this.#do(number, name, change);
  }

  /** From now on nothing goes wrong any more. */
  calm(): void {
    this.tell('no more faults');
    this.#faults = new Set();
    this.#ambushes.clear();
    this.runtime.faults = runtimeFaults(this.#faults, this.#options.random);
    // A call that hangs and has no deadline, a pull, ends with the runtime that it hangs in.
    this.runtime.goDown();
    this.runtime.comeUp();
  }

  /** Where the pod's name is not given, it follows from the UID, if that is a pod's. */
  tell(what: string, name?: string, uid?: string, isMinor = false): void {
    const { history, node } = this.#options;
    const known = name ?? this.nameOf(uid);
    if (known !== undefined)
      history.add({ node, name: known, ...(uid !== undefined && { uid }) }, what, isMinor);
    else history.add({ node, ...(uid !== undefined && { name: uid }) }, what, isMinor);
  }

  nameOf(uid: string | undefined): string | undefined {
    return uid === undefined ? undefined : this.#names.get(uid);
  }

  #isOn({ kind }: Change): boolean {
    if (kind === 'end container') return this.#faults.has('exit');
    if (kind === 'end sandbox') return this.#faults.has('sandbox-death');
    if (kind === 'crash agent' || kind === 'restart agent') return this.#faults.has('agent');
    return kind !== 'stop runtime' || this.#faults.has('runtime');
  }

  #do(number: number, name: string, change: Change): void {
    const { sources } = this;
    const version = String(number);
    switch (change.kind) {
      case 'create':
        this.#create(name, `uid-${version}`, change);
        break;
      case 'create again':
        sources.createAgain(name);
        break;
      case 'flap':
        for (let time = 0; time < change.times; time++) {
          sources.remove(name);
          sources.createAgain(name);
        }
        break;
      case 'relabel':
        for (let time = 0; time < change.times; time++) {
          sources.change(name, (pod) => withLabel(pod, `${version}.${String(time)}`));
        }
        break;
      case 'change image':
        sources.change(name, (pod) => withImage(pod, `registry.example/app:${version}`));
        break;
      case 'delete':
        sources.delete(name, change.graceSeconds, this.#now());
        break;
      case 'remove':
        sources.remove(name);
        break;
      case 'ambush':
        this.#ambushes.set(name, { number, ...change });
        break;
      default:
        this.#befall(name, change);
    }
  }

  /** What happens to a pod or a node, rather than is asked of the sources. */
  #befall(name: string, change: Change): void {
    switch (change.kind) {
      case 'kill':
        this.#kill(name, change);
        break;
      case 'end container':
        this.#endContainer(name, change.code);
        break;
      case 'end sandbox':
        for (const { id, ready } of this.#sandboxesOf(name)) if (ready) this.runtime.killSandbox(id);
        break;
      case 'crash agent':
        this.#crash(change.downMs);
        break;
      case 'restart agent':
        this.#restart(change.downMs);
        break;
      case 'stop runtime':
        this.runtime.goDown();
        this.#options.clock.setTimeout(() => this.runtime.comeUp(), change.downMs);
        break;
      default:
    }
  }

  /** What was to happen at this call happens now, while it is in flight. */
  #spring({ uid, name: callName }: CallUnderWay): void {
    const name = this.nameOf(uid) ?? '';
    const { number, call, change } = this.#ambushes.get(name) ?? {};
    if (call !== callName || change === undefined || number === undefined || !this.#isOn(change)) return;
    this.#ambushes.delete(name);
    this.#options.clock.setTimeout(() => {
      this.tell(`#${String(number)} comes at ${call}`, name);
      this.#do(number, name, change);
    }, 0);
  }

  #create(name: string, uid: string, { source, spec }: ChangeOf<'create'>): void {
    this.#names.set(uid, name);
    this.#specs.set(uid, spec);
    if (source === 'file') this.#statics.add(uid);
    const metadata = { name, namespace: 'default', uid, creationTimestamp: this.#now() };
    this.sources.create(source, { metadata, spec });
  }

  #kill(name: string, { kills, everyMs }: ChangeOf<'kill'>): void {
    const uid = this.sources.get(name)?.metadata.uid;
    if (uid === undefined) return;
    kills.forEach((kill, index) => {
      const send = () => {
        if (this.#life?.kill(uid, kill) === true) this.#options.tally.kills += 1;
      };
      if (everyMs === 0) send();
      else this.#options.clock.setTimeout(send, index * everyMs);
    });
  }

  #endContainer(name: string, code: number): void {
    const containers = this.#sandboxesOf(name).flatMap((sandbox) => sandbox.containers);
    const running = containers.find(({ state }) => state === 'CONTAINER_RUNNING');
    if (running !== undefined) this.runtime.killContainer(running.id, code);
  }

  #sandboxesOf(name: string) {
    const uid = this.sources.get(name)?.metadata.uid;
    return uid === undefined ? [] : [...this.runtime.sandboxesOf(uid)];
  }

  #buildResources(): SimulatedResources | undefined {
    const { resources, clock, random } = this.#options;
    return (
      resources &&
      new SimulatedResources({
        ...{ resources, now: () => clock.now(), random, runtime: this.runtime, disk: this.disk },
        specOf: (uid) => this.#specs.get(uid),
      })
    );
  }

  #begin(): void {
    const { node, clock, random, resources: { rules } = {} } = this.#options;
    const resources = this.#resources;
    const ordinal = ++this.#lives;
    this.tell(`agent ${String(ordinal)} starts`);
    this.#life = new Life({
      ...{ node, clock, random, ordinal },
      ...{ runtime: this.runtime, disk: this.disk, sources: this.sources },
      nodeFacts: () => this.#options.nodeFacts(ordinal),
      faults: () => ({ ...nodeFaults(this.#faults), ...statsFaults(this.#faults) }),
      eviction: resources && rules && { resources, rules },
      nameOf: (uid) => this.nameOf(uid),
      tell: (uid, name, what) => this.tell(what, name, uid),
      onFinished: (uid) => this.#onFinished(uid),
      onViolation: (violation) => this.#violated(violation),
    });
  }

  #crash(downMs: number): void {
    if (this.#life === undefined) return;
    this.#options.tally.deaths += 1;
    this.tell('the agent is killed');
    this.#life.die();
    this.#life = undefined;
    this.#options.clock.setTimeout(() => this.#begin(), downMs);
  }

  #restart(downMs: number): void {
    const life = this.#life;
    if (life === undefined) return;
    this.tell('the agent is stopped');
    this.#life = undefined;
    void life.stop().then(() => this.#options.clock.setTimeout(() => this.#begin(), downMs));
  }

  #onFinished(uid: string): void {
    const { tally } = this.#options;
    const life = this.#life;
    const { isPreempted = false, evictedFor, rejection } = life?.admission.record(uid) ?? {};
    tally.lives += 1;
    if (isPreempted) tally.preempted += 1;
    if (evictedFor !== undefined) countEviction(tally, evictedFor);
    if (rejection !== undefined) tally.rejected += 1;
    const name = this.nameOf(uid);
    if (name === undefined || life === undefined) return;
    const status = life.agent.statusManager.get(uid);
    this.#options.clock.setTimeout(() => {
      // What an agent did not live to say, nobody has heard.
      if (life.alive && life.agent.supervisor.registry.isPodKnownTerminated(uid)) {
        this.sources.ended({ name, uid }, status);
      }
    }, API_SERVER_MS);
  }

  #witness(): RuntimeWitness {
    const { node, tally } = this.#options;
    return {
      callBegan: (call) => {
        this.#life?.callBegan(call);
        this.#spring(call);
      },
      callEnded: (call, told) => {
        tally.calls += 1;
        const { uid, name, target, landed } = call;
        const outcome = told === 'done' && !landed ? 'not done, though the runtime says so' : told;
        if (outcome !== 'done') {
          tally.failures += 1;
          this.#life?.lifecycle.disturbed(uid);
        }
        if (uid === '') return;
        const isMinor = outcome === 'done' && isRead(name);
        this.tell(`${name}${target && ` ${target}`}: ${outcome}`, undefined, uid, isMinor);
      },
      callLanded: ({ uid, name, target }) => {
        this.#life?.landedLate(uid);
        this.tell(`${name} ${target}: carried out late`, undefined, uid);
      },
      containerStarted: (container) => {
        tally.starts += 1;
        this.#resources?.changed();
        const { uid, id, metadata } = container;
        this.tell(`container ${metadata.name} ${id} runs`, undefined, uid);
        const twin = secondInstance(this.runtime, container);
        const what = twin && `${metadata.name} runs twice: ${twin.id} and ${id}`;
        if (what !== undefined) this.#violated({ invariant: 'I10', node, uid, what });
        if (!this.#isLeftBehind(id, uid)) this.#checkName(uid);
      },
      containerEnded: ({ uid, id, metadata, exitCode }) => {
        this.#resources?.changed();
        this.tell(`container ${metadata.name} ${id} has ended with ${String(exitCode)}`, undefined, uid);
      },
      sandboxStarted: ({ uid, id }) => {
        this.#resources?.changed();
        this.tell(`sandbox ${id} is ready`, undefined, uid);
      },
      sandboxEnded: ({ uid, id }) => {
        this.#resources?.changed();
        this.tell(`sandbox ${id} is not ready any more`, undefined, uid);
      },
    };
  }

  /** I6, by what really runs: also of pods that an agent before this one has left behind. */
  #checkName(uid: string): void {
    const life = this.#life;
    const name = this.nameOf(uid);
    if (life === undefined || name === undefined || !this.#statics.has(uid)) return;
    for (const other of this.runtime.uids()) {
      if (other === uid || this.nameOf(other) !== name || !this.#statics.has(other)) continue;
      if (!this.#runsSince(other, life.beganAt) || life.lifecycle.hasEnded(other)) continue;
      const what = `starts while ${other} of the same name runs`;
      this.#violated({ invariant: 'I6', node: this.#options.node, uid, what });
    }
  }

  /** It was asked for by an agent before this one, which is no more: it is carried out late, and nobody's doing. */
  #isLeftBehind(id: string, uid: string): boolean {
    const { connection } = this.#life ?? {};
    return this.runtime
      .inFlight(uid)
      .some((call) => call.target === id && call.abandoned && call.connection !== connection?.id);
  }

  /** Whether something of the pod has run before that time, and still does. What calls start that were given up is not foreseen. */
  #runsSince(uid: string, time: number): boolean {
    return this.runtime
      .sandboxesOf(uid)
      .some(
        ({ ready, createdAt, containers }) =>
          (ready && createdAt < time) ||
          containers.some(({ state, startedAt }) => state === 'CONTAINER_RUNNING' && startedAt < time),
      );
  }

  #violated(violation: Violation): void {
    const name = violation.name ?? this.nameOf(violation.uid);
    this.#options.onViolation({ ...violation, ...(name !== undefined && { name }) });
  }

  #now(): string {
    return rfc3339(this.#options.clock.now());
  }
}

function withLabel(pod: Pod, version: string): Pod {
  return { ...pod, metadata: { ...pod.metadata, labels: { version } } };
}

function withImage(pod: Pod, image: string): Pod {
  const containers = pod.spec.containers.map((container) => ({ ...container, image }));
  return { ...pod, spec: { ...pod.spec, containers } };
}
