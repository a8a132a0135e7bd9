/** One simulated node: a runtime, a disk and sources that outlive its agents, and the agent that runs now. */
import { SimulatedRuntime } from '../runtime/simulated-runtime.ts';
import type { Clock } from '../../types/clock.ts';
import type { NodeFacts } from '../../types/node-facts.ts';
import type { TransitionListener } from '../../types/transition.ts';
import { apiFaults, type Fault, runtimeFaults } from '../plan/fault-kinds.ts';
import type { History, Violation } from '../history.ts';
import type { Operation } from '../plan/plan.ts';
import type { NodeResources } from '../resources/node-resources.ts';
import { SimulatedApiServer } from '../api/simulated-api-server.ts';
import type { ApiJudge } from '../judges/api/api-judge.ts';
import { SimulatedResources } from '../resources/simulated-resources.ts';
import { drawnImageBytes } from '../resources/simulated-storage.ts';
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
import type { HostContext } from './host-context.ts';
import { NodeChanges } from './node-changes.ts';
import { RuntimeObserver } from './runtime-observer.ts';
import type { SimulatedDisk } from './simulated-disk.ts';
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
  readonly #context: HostContext;
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
    this.#context = this.#buildContext();
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
    this.runtime = new SimulatedRuntime({
      clock,
      random,
      faults,
      images,
      imageBytes: drawnImageBytes(random),
      witness: this.#observer(),
    });
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
    return uid === undefined ? undefined : this.#context.pods.nameOf(uid);
  }

  #buildContext(): HostContext {
    const { node, clock, random, tally, onViolation } = this.#options;
    return {
      node,
      clock,
      random,
      faults: () => this.#faults,
      pods: new CreatedPods(),
      disk: this.disk,
      tally,
      tell: (...line) => this.tell(...line),
      violated: (violation) => {
        const name = violation.name ?? this.nameOf(violation.uid);
        onViolation({ ...violation, node, ...(name !== undefined && { name }) });
      },
    };
  }

  #observer(): RuntimeObserver {
    const { pods, disk, violated } = this.#context;
    return new RuntimeObserver(this.#context, {
      runtime: () => this.runtime,
      agentRun: () => this.#agents.run,
      contents: new ContentJudge({
        versions: this.versions,
        disk,
        specOf: (uid) => pods.specOf(uid),
        isStatic: (uid) => pods.isStatic(uid),
        violated: (uid, what) => violated({ invariant: 'contents', uid, what }),
      }),
      hooks: this.#hooks,
      equipment: this.equipment,
      onCall: (call) => {
        this.#changes.callBegan(call);
        this.#remains.asked(call.uid);
      },
      onChange: () => this.#resources?.changed(),
    });
  }

  #buildChanges(): NodeChanges {
    const { random } = this.#context;
    return new NodeChanges(this.#context, {
      runtime: this.runtime,
      sources: this.sources,
      api: this.api,
      agent: this.#agents,
      marks: this.#options.plugins && ((uid) => podMarks(uid, random)),
      equipped: (...pod) => this.equipment.equipped(...pod),
    });
  }

  #buildEquipment(): NodeEquipment {
    return new NodeEquipment(this.#context, {
      plan: this.#options,
      api: this.api,
      runtime: () => this.runtime,
      killAgent: (subject) => this.#agents.crashWriting(subject),
    });
  }

  #buildRemainsJudge(): RemainsJudge {
    const { runtime, sources } = this;
    const { disk, violated } = this.#context;
    const supervisor = () => this.#agents.run?.agent.supervisor;
    return new RemainsJudge(
      {
        onDisk: () => disk.keys(),
        isWanted: (uid) => sources.pods.some(({ metadata }) => metadata.uid === uid),
        isInRuntime: (uid) => runtime.uids().includes(uid),
        isAskedAbout: (uid) =>
          runtime.inFlight(uid).length > 0 || this.equipment.drivers?.folder.isBusy === true,
        isAtWork: () => this.#agents.isAtWork,
        snapshot: (uid) => supervisor()?.registry.get(uid)?.actor.getSnapshot(),
        hasStarted: (uid) => this.#agents.run?.judges.lifecycle.hasStarted(uid) === true,
        isDesired: (uid) => supervisor()?.desired.has(uid) === true,
      },
      (uid, what) => violated({ invariant: 'remains', uid, what }),
    );
  }

  #buildHookJudge(): HookJudge {
    const { clock, pods, violated } = this.#context;
    return new HookJudge({
      now: () => clock.now(),
      truth: () => this.runtime,
      specOf: (uid) => pods.specOf(uid),
      violated: (uid, what) => violated({ invariant: 'rule 15', uid, what }),
    });
  }

  #judgeRemains(): void {
    this.#remains.housekeeping();
    this.equipment.housekeeping(this.#agents.isAtWork, () => this.#agents.settledStatuses());
    this.#context.clock.setTimeout(() => this.#judgeRemains(), HOUSEKEEPING_MS);
  }

  #buildApi(witness: ApiObserver): SimulatedApiServer {
    const { clock, random, faults } = this.#context;
    const api = new SimulatedApiServer({
      nodeName: this.#options.nodeFacts(1).name,
      clock,
      random,
      faults: () => apiFaults(faults()),
      isGuarded: ({ metadata }) => faults().has('api') && isGuarded(metadata.uid, clock.now(), random),
      witness,
    });
    api.store.changes.subscribe((change) => this.apiJudge.changed(change));
    api.operations.create({ resource: 'services', namespace: 'default' }, API_SERVICE);
    return api;
  }

  #buildApiObserver(): ApiObserver {
    return new ApiObserver(this.#context, {
      runtime: () => this.runtime,
      sources: () => this.sources,
      agentRun: () => this.#agents.run,
      slices: () => this.equipment.drivers?.dra?.slices,
      wasChosen: (uid) => this.#chosen.has(uid),
    });
  }

  #buildResources(): SimulatedResources | undefined {
    const { resources } = this.#options;
    const { clock, random, disk, pods } = this.#context;
    return (
      resources &&
      new SimulatedResources({
        resources,
        now: () => clock.now(),
        random,
        runtime: this.runtime,
        disk,
        specOf: (uid) => pods.specOf(uid),
      })
    );
  }

  #buildPlugins(): HostPlugins | undefined {
    const { plugins: plan, nodeFacts } = this.#options;
    const { random, faults, tally } = this.#context;
    if (plan === undefined) return undefined;
    const world: PluginWorld = {
      random,
      nodeName: nodeFacts(1).name,
      pods: () => [...this.sources.pods, ...this.sources.objects],
      misbehaves: () => faults().has('plugins'),
      isQuiet: () => this.#isQuiet,
    };
    return openHostPlugins(this.#context, {
      plan,
      world,
      api: this.api,
      onChosen: (uid) => {
        this.#chosen.add(uid);
        this.#agents.noteReasonToEnd(uid);
        tally.chosenByPlugins += 1;
      },
    });
  }

  #buildAgents(): NodeAgents {
    return new NodeAgents(this.#context, {
      api: this.api,
      lease: this.apiJudge.lease,
      sources: () => this.sources,
      start: (life) => this.#startAgent(life),
    });
  }

  #startAgent(life: AgentLife): AgentRun {
    const { nodeFacts, hearsAtOnce, listen, resources: { rules } = {} } = this.#options;
    const resources = this.#resources;
    return new AgentRun(this.#context, {
      ...life,
      runtime: this.runtime,
      sources: this.sources,
      api: this.api,
      hearsAtOnce,
      listen,
      nodeFacts: () => nodeFacts(life.ordinal),
      eviction: resources && rules && { resources, rules },
      plugins: this.#plugins,
      equipment: this.equipment,
      remains: this.#remains,
      hooks: this.#hooks,
    });
  }
}
