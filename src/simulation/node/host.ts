/** One simulated node: a runtime, a disk and sources that outlive its agents, and the agent that runs now. */
import type { SimulatedDisk } from './simulated-disk.ts';
import { SimulatedRuntime } from '../runtime/simulated-runtime.ts';
import type { Clock } from '../../types/clock.ts';
import type { NodeFacts } from '../../types/node-facts.ts';
import type { TransitionListener } from '../../types/transition.ts';
import { apiFaults, type Fault, nodeFaults, runtimeFaults, statsFaults } from '../plan/fault-kinds.ts';
import type { History, Violation } from '../history.ts';
import type { Operation } from '../plan/plan.ts';
import type { NodeResources } from '../resources/node-resources.ts';
import { SimulatedApiServer } from '../api/simulated-api-server.ts';
import type { ApiJudge } from '../judges/api/api-judge.ts';
import { SimulatedResources } from '../resources/simulated-resources.ts';
import type { Tally } from '../tally.ts';
import { ContentJudge } from '../judges/contents/content-judge.ts';
import { HookJudge } from '../judges/hook-judge.ts';
import { RemainsJudge } from '../judges/remains-judge.ts';
import { ObjectVersions } from '../judges/contents/object-versions.ts';
import { type HostPlugins, openHostPlugins } from '../plugins/agent-plugins.ts';
import { isGuarded, podMarks } from '../plugins/pod-marks.ts';
import type { PluginsPlan } from '../plugins/plugins-plan.ts';
import type { PluginWorld } from '../plugins/simulated-plugin.ts';
import { AgentRun } from './agent-run.ts';
import { CreatedPods } from './created-pods.ts';
import { NodeChanges } from './node-changes.ts';
import { RuntimeObserver } from './runtime-observer.ts';
import { SimulatedSources } from './simulated-sources.ts';
import { ApiObserver } from './api-observer.ts';
import { type AgentLife, NodeAgents } from './node-agents.ts';
import { type EquipmentPlan, NodeEquipment } from './node-equipment.ts';

const HOUSEKEEPING_MS = 2_000;

/** Containers find the API server by this Service. */
const API_SERVICE = {
  metadata: { name: 'kubernetes', namespace: 'default' },
  spec: { clusterIP: '10.96.0.1', ports: [{ name: 'https', port: 443, protocol: 'TCP' }] },
};

export interface HostOptions extends EquipmentPlan {
  readonly node: number;
  readonly clock: Clock;
  /** In [0, 1), by the key. */
  readonly random: (key: string) => number;
  readonly faults: ReadonlySet<Fault>;
  /** `ordinal`: 1 for the first agent of the node. An agent may be started with other settings than the one before it. */
  readonly nodeFacts: (ordinal: number) => NodeFacts;
  /** Undefined for a node that is never short of resources, and does not evict. */
  readonly resources?: NodeResources | undefined;
  /** Undefined for a node without eviction plugins. */
  readonly plugins?: PluginsPlan | undefined;
  /** Agents get changes of their pods at the API server at once: for tests that fix the order of events. */
  readonly hearsAtOnce?: boolean;
  /** Gets the transitions of the agent with that ordinal. */
  readonly listen?: (ordinal: number) => TransitionListener;
  readonly history: History;
  readonly tally: Tally;
  readonly onViolation: (violation: Violation) => void;
}

export class Host {
  readonly runtime: SimulatedRuntime;
  readonly api: SimulatedApiServer;
  readonly apiJudge: ApiJudge;
  readonly sources: SimulatedSources;
  readonly disk: SimulatedDisk = new Map();
  readonly versions: ObjectVersions;
  readonly #options: HostOptions;
  readonly #pods = new CreatedPods();
  readonly #resources: SimulatedResources | undefined;
  readonly #plugins: HostPlugins | undefined;
  readonly equipment: NodeEquipment;
  readonly #agents: NodeAgents;
  readonly #changes: NodeChanges;
  readonly #remains: RemainsJudge;
  readonly #hooks: HookJudge;
  #faults: ReadonlySet<Fault>;
  /** Eviction plugins want nothing any more. */
  #isQuiet = false;
  /** UIDs of the pods that plugins have chosen. */
  readonly #chosen = new Set<string>();

  constructor(options: HostOptions) {
    this.#options = options;
    this.#faults = options.faults;
    const { clock, random, resources } = options;
    const faults = runtimeFaults(options.faults, random);
    const images = resources?.oldImages ?? [];
    const observer = this.#buildApiObserver();
    this.apiJudge = observer.judge;
    this.api = this.#buildApi(observer);
    this.#agents = this.#buildAgents();
    this.#hooks = this.#buildHookJudge();
    this.versions = new ObjectVersions(this.api.store.changes);
    this.equipment = this.#buildEquipment();
    this.runtime = new SimulatedRuntime({ clock, random, faults, images, witness: this.#observer() });
    this.sources = new SimulatedSources(this.api);
    this.#resources = this.#buildResources();
    this.#plugins = this.#buildPlugins();
    this.#changes = this.#buildChanges();
    this.#remains = this.#buildRemainsJudge();
    this.#agents.start();
    this.#judgeRemains();
  }

  get node(): number {
    return this.#options.node;
  }

  /** The agent that runs now; undefined while none runs. */
  get agentRun(): AgentRun | undefined {
    return this.#agents.run;
  }

  apply({ number, name, change }: Operation): void {
    if (!this.#changes.isOn(change)) return;
    this.#options.tally.operations += 1;
    this.tell(`#${String(number)} ${JSON.stringify(change)}`, { name });
    this.#changes.apply(number, name, change);
  }

  /** From now on no fault happens. */
  stopFaults(): void {
    this.tell('no more faults');
    this.#faults = new Set();
    this.#isQuiet = true;
    this.#changes.dropAmbushes();
    this.runtime.faults = runtimeFaults(this.#faults, this.#options.random);
    // A hanging call without a deadline, such as a pull, ends only when the runtime goes down.
    this.runtime.goDown();
    this.runtime.comeUp();
    this.api.comeUp();
    this.equipment.calm();
  }

  /** Adds a line to the history: about the node, or about the pod of that name or UID. */
  tell(what: string, { name, uid }: { name?: string; uid?: string } = {}, isMinor = false): void {
    const { history, node } = this.#options;
    const known = name ?? this.nameOf(uid);
    if (known !== undefined) history.add({ node, name: known, uid }, what, isMinor);
    else history.add({ node, name: uid }, what, isMinor);
  }

  /** Whether an earlier agent was told to end the ordinary pod of a manifest, or had a reason to: it stays ended. */
  hadReasonToEnd(uid: string): boolean {
    return this.#agents.hadReasonToEnd(uid);
  }

  nameOf(uid: string | undefined): string | undefined {
    return uid === undefined ? undefined : this.#pods.nameOf(uid);
  }

  #observer(): RuntimeObserver {
    const { node, tally } = this.#options;
    return new RuntimeObserver({
      node,
      tally,
      runtime: () => this.runtime,
      agentRun: () => this.#agents.run,
      pods: this.#pods,
      contents: new ContentJudge({
        versions: this.versions,
        disk: this.disk,
        specOf: (uid) => this.#pods.specOf(uid),
        isStatic: (uid) => this.#pods.isStatic(uid),
        violated: (uid, what) => this.#violated({ invariant: 'contents', node, uid, what }),
      }),
      hooks: this.#hooks,
      equipment: this.equipment,
      tell: (uid, what, isMinor) => this.tell(what, { uid }, isMinor),
      onCall: (call) => {
        this.#changes.callBegan(call);
        this.#remains.asked(call.uid);
      },
      onChange: () => this.#resources?.changed(),
      onViolation: (violation) => this.#violated(violation),
    });
  }

  #buildChanges(): NodeChanges {
    const { clock, random, plugins } = this.#options;
    return new NodeChanges({
      clock,
      runtime: this.runtime,
      sources: this.sources,
      api: this.api,
      pods: this.#pods,
      disk: this.disk,
      agent: this.#agents,
      faults: () => this.#faults,
      marks: plugins && ((uid) => podMarks(uid, random)),
      equipped: (...pod) => this.equipment.equipped(...pod),
      tell: (what, name) => this.tell(what, { name }),
    });
  }

  #buildEquipment(): NodeEquipment {
    const { clock, random, node, tally } = this.#options;
    return new NodeEquipment({
      plan: this.#options,
      clock,
      random,
      faults: () => this.#faults,
      api: this.api,
      pods: this.#pods,
      runtime: () => this.runtime,
      tally,
      killAgent: (subject) => this.#agents.crashWriting(subject),
      tell: (what) => this.tell(what),
      violated: (invariant, uid, what) => this.#violated({ invariant, node, uid, what }),
    });
  }

  #buildRemainsJudge(): RemainsJudge {
    const { runtime, sources, disk } = this;
    const supervisor = () => this.#agents.run?.agent.supervisor;
    return new RemainsJudge(
      {
        onDisk: () => disk.keys(),
        isInUse: (uid) =>
          runtime.uids().includes(uid) || sources.pods.some(({ metadata }) => metadata.uid === uid),
        isAskedAbout: (uid) =>
          runtime.inFlight(uid).length > 0 || this.equipment.drivers?.folder.isBusy === true,
        isAtWork: () => this.#agents.isAtWork,
        snapshot: (uid) => supervisor()?.registry.get(uid)?.actor.getSnapshot(),
        isDesired: (uid) => supervisor()?.desired.has(uid) === true,
      },
      (uid, what) => this.#violated({ invariant: 'remains', node: this.node, uid, what }),
    );
  }

  #buildHookJudge(): HookJudge {
    const { node, clock } = this.#options;
    return new HookJudge({
      now: () => clock.now(),
      truth: () => this.runtime,
      specOf: (uid) => this.#pods.specOf(uid),
      violated: (uid, what) => this.#violated({ invariant: 'rule 15', node, uid, what }),
    });
  }

  #judgeRemains(): void {
    this.#remains.housekeeping();
    this.equipment.housekeeping(this.#agents.isAtWork, () => this.#agents.settledStatuses());
    this.#options.clock.setTimeout(() => this.#judgeRemains(), HOUSEKEEPING_MS);
  }

  #buildApi(witness: ApiObserver): SimulatedApiServer {
    const { clock, random, nodeFacts } = this.#options;
    const api = new SimulatedApiServer({
      nodeName: nodeFacts(1).name,
      clock,
      random,
      faults: () => apiFaults(this.#faults),
      isGuarded: ({ metadata }) => this.#faults.has('api') && isGuarded(metadata.uid, clock.now(), random),
      witness,
    });
    api.store.changes.subscribe((change) => this.apiJudge.changed(change));
    api.operations.create({ resource: 'services', namespace: 'default' }, API_SERVICE);
    return api;
  }

  #buildApiObserver(): ApiObserver {
    const { node, clock, tally } = this.#options;
    return new ApiObserver({
      node,
      clock,
      tally,
      pods: this.#pods,
      disk: this.disk,
      runtime: () => this.runtime,
      sources: () => this.sources,
      agentRun: () => this.#agents.run,
      slices: () => this.equipment.drivers?.dra?.slices,
      wasChosen: (uid) => this.#chosen.has(uid),
      tell: (what, about, isMinor) => this.tell(what, about, isMinor),
      onViolation: (violation) => this.#violated(violation),
    });
  }

  #buildResources(): SimulatedResources | undefined {
    const { resources, clock, random } = this.#options;
    return (
      resources &&
      new SimulatedResources({
        resources,
        now: () => clock.now(),
        random,
        runtime: this.runtime,
        disk: this.disk,
        specOf: (uid) => this.#pods.specOf(uid),
      })
    );
  }

  #buildPlugins(): HostPlugins | undefined {
    const { plugins: plan, clock, random, nodeFacts, tally } = this.#options;
    if (plan === undefined) return undefined;
    const world: PluginWorld = {
      random,
      nodeName: nodeFacts(1).name,
      pods: () => [...this.sources.pods, ...this.sources.objects],
      misbehaves: () => this.#faults.has('plugins'),
      isQuiet: () => this.#isQuiet,
    };
    return openHostPlugins({
      plan,
      world,
      clock,
      api: this.api,
      onChosen: (uid) => {
        this.#chosen.add(uid);
        this.#agents.noteReasonToEnd(uid);
        tally.chosenByPlugins += 1;
      },
      tell: (what) => this.tell(what),
      violated: (what) => this.#violated({ invariant: 'plugins', node: this.node, what }),
    });
  }

  #buildAgents(): NodeAgents {
    const { clock, random, tally } = this.#options;
    return new NodeAgents({
      clock,
      random,
      api: this.api,
      lease: this.apiJudge.lease,
      sources: () => this.sources,
      pods: this.#pods,
      tally,
      start: (life) => this.#startAgent(life),
      tell: (what) => this.tell(what),
    });
  }

  #startAgent(life: AgentLife): AgentRun {
    const { node, clock, random, nodeFacts, hearsAtOnce, listen, resources: { rules } = {} } = this.#options;
    const resources = this.#resources;
    return new AgentRun({
      ...life,
      node,
      clock,
      random,
      runtime: this.runtime,
      disk: this.disk,
      sources: this.sources,
      api: this.api,
      hearsAtOnce,
      listen,
      nodeFacts: () => nodeFacts(life.ordinal),
      faults: () => ({ ...nodeFaults(this.#faults), ...statsFaults(this.#faults) }),
      eviction: resources && rules && { resources, rules },
      plugins: this.#plugins,
      equipment: this.equipment,
      nameOf: (uid) => this.nameOf(uid),
      tell: (uid, name, what) => this.tell(what, { name, uid }),
      remains: this.#remains,
      hooks: this.#hooks,
      onViolation: (violation) => this.#violated(violation),
    });
  }

  #violated(violation: Violation): void {
    const name = violation.name ?? this.nameOf(violation.uid);
    this.#options.onViolation({ ...violation, ...(name !== undefined && { name }) });
  }
}
