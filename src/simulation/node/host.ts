/** One simulated node: a runtime, a disk and sources that outlive its agents, and the agent that runs now. */
import type { SimulatedDisk } from './simulated-disk.ts';
import type { EndedPod } from '../../agent/policies/termination/ended-pod.ts';
import { SimulatedRuntime } from '../runtime/simulated-runtime.ts';
import type { Clock } from '../../types/clock.ts';
import type { PluginCondition } from '../../types/eviction-plugin.ts';
import type { PodSpec, PodStatus } from '../../types/kubernetes.ts';
import type { NodeFacts } from '../../types/node-facts.ts';
import type { TransitionListener } from '../../types/transition.ts';
import { apiFaults, type Fault, nodeFaults, runtimeFaults, statsFaults } from '../plan/fault-kinds.ts';
import type { History, Violation } from '../history.ts';
import type { Kill, Operation } from '../plan/plan.ts';
import type { NodeResources } from '../resources/node-resources.ts';
import { SimulatedApiServer } from '../api/simulated-api-server.ts';
import type { RequestUnderWay } from '../api/api-witness.ts';
import { ApiJudge } from '../judges/api/api-judge.ts';
import { SimulatedResources } from '../resources/simulated-resources.ts';
import { countEviction, type Tally } from '../tally.ts';
import { ContentJudge } from '../judges/contents/content-judge.ts';
import { HookJudge } from '../judges/hook-judge.ts';
import { RemainsJudge } from '../judges/remains-judge.ts';
import { TaintJudge } from '../judges/plugins/taint-judge.ts';
import { ObjectVersions } from '../judges/contents/object-versions.ts';
import { DevicePluginFolder } from '../devices/device-plugin-folder.ts';
import { type DevicesPlan, withDevices } from '../devices/devices-plan.ts';
import { withCsiVolume } from '../drivers/csi-plan.ts';
import { withClaim } from '../drivers/dra-plan.ts';
import type { HostDrivers } from '../drivers/host-drivers.ts';
import { type DriversPlan, openHostDrivers } from '../drivers/open-host-drivers.ts';
import type { HostDevices } from '../devices/host-devices.ts';
import { DevicesJudge } from '../judges/devices-judge.ts';
import { PlacementJudge } from '../judges/placement-judge.ts';
import type { HostPlacement } from '../placement/host-placement.ts';
import { type PlacementPlan, withOwnCpus } from '../placement/placement-plan.ts';
import { StateFiles } from '../placement/state-files.ts';
import type { HostPlugins } from '../plugins/agent-plugins.ts';
import { isGuarded, podMarks, TaintedBySomebody } from '../plugins/pod-marks.ts';
import { PluginFolder } from '../plugins/plugin-folder.ts';
import type { PluginsPlan } from '../plugins/plugins-plan.ts';
import type { PluginWorld } from '../plugins/simulated-plugin.ts';
import { AgentRun } from './agent-run.ts';
import { CreatedPods } from './created-pods.ts';
import { NodeChanges } from './node-changes.ts';
import { RuntimeObserver } from './runtime-observer.ts';
import { SimulatedSources, type SourceName } from './simulated-sources.ts';

/** The API server may become reachable up to this much later than an agent starts. */
const MAX_API_DELAY_MS = 30_000;

const HOUSEKEEPING_MS = 2_000;

/** After an agent was killed while it wrote a file. */
const MAX_DOWN_MS = 20_000;

/** Containers find the API server by it. */
const API_SERVICE = {
  metadata: { name: 'kubernetes', namespace: 'default' },
  spec: { clusterIP: '10.96.0.1', ports: [{ name: 'https', port: 443, protocol: 'TCP' }] },
};

export interface HostOptions {
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
  /** Undefined for a node without devices. */
  readonly devices?: DevicesPlan | undefined;
  /** Undefined for a node that keeps no CPUs for containers. */
  readonly placement?: PlacementPlan | undefined;
  /** Undefined for a node without CSI and DRA drivers. */
  readonly drivers?: DriversPlan | undefined;
  /** Agents hear at once of their pods at the API server: for tests that say what happens when. */
  readonly hearsAtOnce?: boolean;
  /** Hears of the transitions of the agent with that ordinal. */
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
  /** The pods that must not start again, as the disk has them. */
  #endedPods: readonly EndedPod[] = [];
  readonly #options: HostOptions;
  readonly #pods = new CreatedPods();
  readonly #resources: SimulatedResources | undefined;
  readonly #plugins: HostPlugins | undefined;
  readonly devices: HostDevices | undefined;
  readonly placement: HostPlacement | undefined;
  readonly drivers: HostDrivers | undefined;
  readonly #changes: NodeChanges;
  readonly #remains: RemainsJudge;
  readonly #hooks: HookJudge;
  #faults: ReadonlySet<Fault>;
  /** Eviction plugins want nothing any more. */
  #isQuiet = false;
  #agentRun: AgentRun | undefined;
  #agentRuns = 0;
  /** UIDs of ordinary pods of manifests that an agent was told to end, or had a reason to end. */
  readonly #hadReasonToEnd = new Set<string>();
  /** UIDs of the pods that plugins have chosen. */
  readonly #chosen = new Set<string>();

  constructor(options: HostOptions) {
    this.#options = options;
    this.#faults = options.faults;
    const { clock, random, resources } = options;
    const faults = runtimeFaults(options.faults, random);
    const images = resources?.oldImages ?? [];
    this.apiJudge = this.#buildApiJudge();
    this.api = this.#buildApi();
    this.#hooks = this.#buildHookJudge();
    this.versions = new ObjectVersions(this.api.store.changes);
    this.devices = this.#buildDevices();
    this.placement = this.#buildPlacement();
    this.drivers = this.#buildDrivers();
    this.runtime = new SimulatedRuntime({ clock, random, faults, images, witness: this.#observer() });
    this.sources = new SimulatedSources(this.api);
    this.#resources = this.#buildResources();
    this.#plugins = this.#buildPlugins();
    this.#changes = this.#buildChanges();
    this.#remains = this.#buildRemainsJudge();
    this.#startAgent();
    this.#judgeRemains();
  }

  get node(): number {
    return this.#options.node;
  }

  /** The agent that runs now; undefined while none runs. */
  get agentRun(): AgentRun | undefined {
    return this.#agentRun;
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
    this.devices?.folder.calm();
    this.drivers?.folder.calm();
  }

  /** Adds a line to the history: about the node, or about the pod of that name or UID. */
  tell(what: string, { name, uid }: { name?: string; uid?: string } = {}, isMinor = false): void {
    const { history, node } = this.#options;
    const known = name ?? this.nameOf(uid);
    if (known !== undefined) history.add({ node, name: known, uid }, what, isMinor);
    else history.add({ node, name: uid }, what, isMinor);
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
      agentRun: () => this.#agentRun,
      pods: this.#pods,
      contents: new ContentJudge({
        versions: this.versions,
        disk: this.disk,
        specOf: (uid) => this.#pods.specOf(uid),
        isStatic: (uid) => this.#pods.isStatic(uid),
        violated: (uid, what) => this.#violated({ invariant: 'contents', node, uid, what }),
      }),
      hooks: this.#hooks,
      devices: this.devices?.judge,
      placement: this.placement?.judge,
      drivers: [this.drivers?.csi?.judge, this.drivers?.dra?.judge].filter((judge) => judge !== undefined),
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
      agent: {
        kill: (uid, kill) => this.#kill(uid, kill),
        delete: (uid, graceSeconds) => void this.#agentRun?.delete(uid, graceSeconds),
        knows: (uid) => this.#agentRun?.agent.supervisor.registry.get(uid) !== undefined,
        crash: (downMs) => this.#crashAgent(downMs),
        restart: (downMs) => this.#restartAgent(downMs),
      },
      faults: () => this.#faults,
      marks: plugins && ((uid) => podMarks(uid, random)),
      equipped: (...pod) => this.#equipped(...pod),
      tell: (what, name) => this.tell(what, { name }),
    });
  }

  /** What the node has of its own, new pods ask for; what comes by way of its cluster, those of the API server. */
  #equipped(planned: PodSpec, uid: string, source: SourceName): PodSpec {
    const { random, devices, placement, drivers } = this.#options;
    const pinned = placement ? withOwnCpus(planned, uid, random) : planned;
    const spec = devices ? withDevices(pinned, uid, devices, random) : pinned;
    if (source !== 'api') return spec;
    const mounting = drivers?.csi ? withCsiVolume(spec, uid, drivers.csi, random) : spec;
    return drivers?.dra ? withClaim(mounting, uid, drivers.dra, random) : mounting;
  }

  #buildDrivers(): HostDrivers | undefined {
    const { drivers: plan, clock, random, node, tally } = this.#options;
    if (plan?.csi === undefined && plan?.dra === undefined) return undefined;
    return openHostDrivers({
      plan,
      clock,
      world: { random, misbehaves: () => this.#faults.has('drivers') },
      api: this.api,
      tally,
      mayDie: () => this.#faults.has('drivers') && this.#faults.has('agent'),
      killAgent: () =>
        this.#crashAgent(Math.ceil(MAX_DOWN_MS * random(`drivers/down/${String(this.#agentRuns)}`))),
      specOf: (uid) => this.#pods.specOf(uid),
      runtime: () => this.runtime,
      tell: (what) => this.tell(what),
      violated: (invariant, uid, what) => this.#violated({ invariant, node, uid, what }),
    });
  }

  #buildRemainsJudge(): RemainsJudge {
    const { runtime, sources, disk } = this;
    const supervisor = () => this.#agentRun?.agent.supervisor;
    return new RemainsJudge(
      {
        onDisk: () => disk.keys(),
        isInUse: (uid) =>
          runtime.uids().includes(uid) || sources.pods.some(({ metadata }) => metadata.uid === uid),
        isAskedAbout: (uid) => runtime.inFlight(uid).length > 0 || this.drivers?.folder.isBusy === true,
        isAtWork: () => this.#isAtWork(),
        snapshot: (uid) => supervisor()?.registry.get(uid)?.actor.getSnapshot(),
        isDesired: (uid) => supervisor()?.desired.has(uid) === true,
      },
      (uid, what) => this.#violated({ invariant: 'remains', node: this.node, uid, what }),
    );
  }

  /** The agent knows its pods, and the runtime answers. */
  #isAtWork(): boolean {
    const { supervisor } = this.#agentRun?.agent ?? {};
    return supervisor?.synced === true && supervisor.runtimeProblem === undefined;
  }

  /** Of the pods for which the agent does nothing now. */
  #settledStatuses(): readonly (readonly [string, PodStatus | undefined])[] {
    const { supervisor, statusManager } = this.#agentRun?.agent ?? {};
    const entries = [...(supervisor?.registry.entries() ?? [])];
    return entries
      .filter(({ actor }) => actor.getSnapshot().matches({ Syncing: 'Settled' }))
      .map(({ pod: { uid } }) => [uid, statusManager?.get(uid)]);
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
    this.placement?.judge.housekeeping(this.#isAtWork());
    this.drivers?.dra?.slices.housekeeping(this.#isAtWork());
    this.devices?.judge.housekeeping(this.#isAtWork() ? this.#settledStatuses() : []);
    this.#options.clock.setTimeout(() => this.#judgeRemains(), HOUSEKEEPING_MS);
  }

  #buildApi(): SimulatedApiServer {
    const { clock, random, nodeFacts } = this.#options;
    const api = new SimulatedApiServer({
      nodeName: nodeFacts(1).name,
      clock,
      random,
      faults: () => apiFaults(this.#faults),
      isGuarded: ({ metadata }) => this.#faults.has('api') && isGuarded(metadata.uid, clock.now(), random),
      witness: {
        requestBegan: (request) => this.#requestBegan(request),
        requestLands: (request) => this.apiJudge.requestLands(request),
        requestEnded: (request, answer) => this.#requestEnded(request, answer),
      },
    });
    api.store.changes.subscribe((change) => this.apiJudge.changed(change));
    api.operations.create({ resource: 'services', namespace: 'default' }, API_SERVICE);
    return api;
  }

  #requestBegan(request: RequestUnderWay): void {
    this.apiJudge.requestBegan(request);
    if (request.target.resource === 'resourceslices') this.drivers?.dra?.slices.asked(request.connection);
  }

  #requestEnded(request: RequestUnderWay, answer: string): void {
    this.apiJudge.requestEnded(request, answer);
    const { verb, target, connection } = request;
    const isRead = verb === 'get' || verb === 'list';
    if (target.resource === 'resourceslices')
      this.drivers?.dra?.slices.answered(connection, answer === 'done' && !request.abandoned);
    const { name, subresource = 'pod' } = 'name' in target ? target : { name: undefined };
    this.#options.tally.requests += 1;
    if (target.resource === 'pods' && name !== undefined)
      this.tell(`${verb} ${subresource}: ${answer}`, { name }, isRead);
    else if (answer !== 'done') this.tell(`${verb} ${target.resource}: ${answer}`, {}, true);
  }

  #buildApiJudge(): ApiJudge {
    const { node, clock } = this.#options;
    const run = () => this.#agentRun;
    return new ApiJudge({
      node,
      now: () => clock.now(),
      truth: {
        runtime: () => this.runtime,
        isMounted: (uid) => this.disk.get(uid)?.mounted === true,
        mayRunUnknown: (uid) => run()?.lifecycle.hasLateCall(uid) ?? true,
        wasMadeAgain: (uid) => this.sources.wasMadeAgain(uid),
        wasChosen: (uid) => this.#chosen.has(uid),
        isForeign: ({ connection, abandoned }) => abandoned || connection !== run()?.connection.id,
      },
      podAt: (name) => this.sources.object(name),
      staticNameOf: (uid) => (this.#pods.isStatic(uid) ? this.#pods.nameOf(uid) : undefined),
      wantedUID: (name) => this.sources.staticPods.find((pod) => pod.metadata.name === name)?.metadata.uid,
      wasDeletedByHand: (uid) => this.sources.wasDeletedByHand(uid),
      wasWantedAgain: (uid) => this.sources.wasMadeAgain(uid),
      isEnding: (uid) => run()?.lifecycle.isEnding(uid) ?? false,
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
    const folder = new PluginFolder({ plan, world, clock, tell: (what) => this.tell(what) });
    const taints = new TaintJudge((what) => this.#violated({ invariant: 'plugins', node: this.node, what }));
    const somebody = new TaintedBySomebody(this.api, world, clock);
    this.api.store.changes.subscribe(({ resource, before, after }) => {
      if (resource === 'nodes' && before !== undefined && after !== undefined)
        taints.changed(before, after, !somebody.isAtWork);
    });
    const onCondition = (condition: PluginCondition) => taints.observed(condition);
    const onChosen = (uid: string) => {
      this.#chosen.add(uid);
      this.#hadReasonToEnd.add(uid);
      tally.chosenByPlugins += 1;
    };
    return { plan, world, folder, onChosen, onCondition, hadNoExecute: () => taints.hadNoExecute };
  }

  #buildDevices(): HostDevices | undefined {
    const { devices: plan, clock, random, node, tally } = this.#options;
    if (plan === undefined) return undefined;
    const folder = new DevicePluginFolder({
      plan,
      world: { random, misbehaves: () => this.#faults.has('devices') },
      clock,
      mayDie: () => this.#faults.has('devices') && this.#faults.has('agent'),
      killAgent: () =>
        this.#crashAgent(Math.ceil(MAX_DOWN_MS * random(`devices/down/${String(this.#agentRuns)}`))),
      tell: (what) => this.tell(what),
    });
    const judge = new DevicesJudge({
      resources: plan.resources.map(({ resource }) => resource),
      now: () => clock.now(),
      checkpoint: () => folder.checkpoint,
      runtime: () => this.runtime,
      onAsked: () => (tally.devicesAsked += 1),
      violated: (uid, what) => this.#violated({ invariant: 'devices', node, uid, what }),
    });
    return { plan, folder, judge };
  }

  #buildPlacement(): HostPlacement | undefined {
    const { placement: plan, clock, random, node, tally } = this.#options;
    if (plan === undefined) return undefined;
    const files = new StateFiles({
      random,
      mayDie: () => this.#faults.has('agent'),
      killAgent: () =>
        this.#crashAgent(Math.ceil(MAX_DOWN_MS * random(`placement/down/${String(this.#agentRuns)}`))),
    });
    const judge = new PlacementJudge({
      plan,
      now: () => clock.now(),
      specsOf: (uid) => this.#pods.specsOf(uid),
      runtime: () => this.runtime,
      textOf: (file) => files.text(file),
      onPinned: () => (tally.pinned += 1),
      violated: (uid, what) => this.#violated({ invariant: 'placement', node, uid, what }),
    });
    return { plan, files, judge };
  }

  #startAgent(): void {
    const { node, clock, random, nodeFacts, resources: { rules } = {} } = this.#options;
    const resources = this.#resources;
    const ordinal = ++this.#agentRuns;
    this.tell(`agent ${String(ordinal)} starts`);
    const apiDelayMs = (2 * random(`life/${String(ordinal)}/api`) - 1) * MAX_API_DELAY_MS;
    if (apiDelayMs > 0) this.api.goDownFor(apiDelayMs);
    this.#agentRun = new AgentRun({
      node,
      ordinal,
      clock,
      random,
      runtime: this.runtime,
      disk: this.disk,
      sources: this.sources,
      api: this.api,
      hearsAtOnce: this.#options.hearsAtOnce,
      listen: this.#options.listen,
      endedPods: {
        stored: this.#endedPods,
        write: (pods) => {
          this.#endedPods = pods;
        },
      },
      nodeFacts: () => nodeFacts(ordinal),
      faults: () => ({ ...nodeFaults(this.#faults), ...statsFaults(this.#faults) }),
      eviction: resources && rules && { resources, rules },
      plugins: this.#plugins,
      devices: this.devices,
      placement: this.placement,
      drivers: this.drivers,
      nameOf: (uid) => this.nameOf(uid),
      tell: (uid, name, what) => this.tell(what, { name, uid }),
      onFinished: (uid) => this.#onFinished(uid),
      remains: this.#remains,
      hooks: this.#hooks,
      hadReasonToEnd: (uid) => this.hadReasonToEnd(uid),
      onViolation: (violation) => this.#violated(violation),
    });
  }

  #kill(uid: string, kill: Kill): void {
    if (this.#agentRun?.kill(uid, kill) === true) this.#options.tally.kills += 1;
  }

  #crashAgent(downMs: number): void {
    if (this.#agentRun === undefined) return;
    this.#options.tally.agentsKilled += 1;
    this.tell('the agent is killed');
    this.#keepReasons(this.#agentRun);
    this.#agentRun.crash();
    this.#agentRun = undefined;
    this.apiJudge.lease.abandoned();
    this.#options.clock.setTimeout(() => this.#startAgent(), downMs);
  }

  #restartAgent(downMs: number): void {
    const run = this.#agentRun;
    if (run === undefined) return;
    this.tell('the agent is stopped');
    this.#keepReasons(run);
    this.#agentRun = undefined;
    this.apiJudge.lease.abandoned();
    void run.stop().then(() => {
      // A renewal that was under way may have been carried out meanwhile.
      this.apiJudge.lease.abandoned();
      this.#options.clock.setTimeout(() => this.#startAgent(), downMs);
    });
  }

  /** Whether an earlier agent was told to end the ordinary pod of a manifest, or had a reason to: it stays ended. */
  hadReasonToEnd(uid: string): boolean {
    return this.#hadReasonToEnd.has(uid);
  }

  /** To be called before an agent is gone: the next one does not know the reasons for which this one ends pods. */
  #keepReasons({ killed, admission }: AgentRun): void {
    for (const { metadata } of this.sources.pods) {
      const { uid } = metadata;
      if (this.#pods.isLocal(uid) && (killed.has(uid) || admission.hasReasonToEnd(uid)))
        this.#hadReasonToEnd.add(uid);
    }
  }

  #onFinished(uid: string): void {
    const { tally } = this.#options;
    const run = this.#agentRun;
    // One that was asked for again while it ended starts again.
    if (this.#pods.isLocal(uid) && run?.lifecycle.ordersOf(uid)?.again !== true) this.sources.ended(uid);
    const { isPreempted = false, evictedFor, rejection } = run?.admission.record(uid) ?? {};
    tally.podsEnded += 1;
    if (isPreempted) tally.preempted += 1;
    if (evictedFor !== undefined) countEviction(tally, evictedFor);
    if (rejection !== undefined) tally.rejected += 1;
  }

  #violated(violation: Violation): void {
    const name = violation.name ?? this.nameOf(violation.uid);
    this.#options.onViolation({ ...violation, ...(name !== undefined && { name }) });
  }
}
