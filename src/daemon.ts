/** The composition root, the only file that knows every part. Builds the agent, starts it and stops it. */
import { map, type Observable } from 'rxjs';
import type { ActorOptions } from 'xstate';
import type { AgentCore } from './actors/cluster/cluster-parts.ts';
import { eventFanOut } from './actors/cluster/event-fan-out.ts';
import { NodeAgent } from './actors/node-agent.ts';
import type { EndedPodsStore } from './actors/pods/ended-pods.ts';
import { servedPods } from './actors/pods/served-pods.ts';
import type { StateLog } from './actors/pods/state-log.ts';
import { Endpoints } from './server/endpoints.ts';
import type { AgentMetrics } from './server/metrics/agent-metrics.ts';
import { RecentEvents } from './server/recent-events.ts';
import { eventLog } from './server/event-log.ts';
import type { FlightRecorder } from './server/record/flight-recorder.ts';
import { openFlightRecorder } from './server/record/open-flight-recorder.ts';
import type { Route } from './server/routes/route.ts';
import { welcome } from './server/welcome.ts';
import { EMBEDDED, type StateletConfig } from './config/config.ts';
import { evictionThresholds } from './config/load-eviction-settings.ts';
import { opensPorts } from './config/node-ports.ts';
import type { EvictionParts } from './actors/eviction/eviction-figures.ts';
import type { supervisorMachine, SupervisorEvent } from './machines/supervisor-machine.ts';
import { DaemonPage } from './daemon-page.ts';
import type { Cluster } from './join-cluster.ts';
import type { openEvictionPlugins } from './open-eviction-plugins.ts';
import type { OpenNodePorts } from './open-node-ports.ts';
import { leavePodsRunning, nodeAgentOptions, type NodeServices, openNode } from './open-node.ts';
import { podSources } from './pod-sources.ts';
import { shownURL } from './policies/formats/shown-url.ts';
import { openEndedPodsFile } from './runtime/node/ended-pods-file.ts';
import type { NodeParts } from './runtime/node/pod-node.ts';
import { runtimeLayout } from './runtime/process/layout.ts';
import { lockRootDir, type RootLock } from './runtime/node/root-lock.ts';
import { shutdownPeriods, shutdownSeconds } from './policies/shutdown/shutdown-periods.ts';
import type { ShutdownWatch } from './runtime/shutdown/shutdown-watch.ts';
import type { StatsProvider, SummaryOptions } from './runtime/stats/stats-provider.ts';
import { systemClock } from './system/system-clock.ts';
import { inBatches } from './sources/config-batches.ts';
import { channelEvent, podConfig, type PodSources } from './sources/pod-config.ts';
import { problemText } from './sources/source.ts';
import type { EventRecorder, NodeEventRecorder } from './types/event-recorder.ts';
import type { Pod } from './types/kubernetes.ts';
import type { Logger } from './types/logger.ts';
import type { Measurements } from './types/measurements.ts';
import type { LivePod } from './types/served-pod.ts';
import type { OwnNodeFacts } from './types/node-facts.ts';
import type { RuntimePodStatus } from './types/runtime-pod.ts';
import { NODE_PORT } from './types/server-settings.ts';

const NO_CERTIFICATES = { client: undefined, serving: undefined };

type Inspect = NonNullable<ActorOptions<typeof supervisorMachine>['inspect']>;

export interface DaemonDeps {
  readonly logger: Logger;
  readonly inspect?: Inspect;
  readonly stateLog?: StateLog;
  /** Changes how much is logged, in the levels of klog. Without it the log stays as it is. */
  readonly setVerbosity?: (level: number) => void;
  /** A person reads the log in a terminal: it begins with instructions. */
  readonly forPeople?: boolean;
  /** Shows these instructions elsewhere than in the log. */
  readonly welcome?: (text: string) => void;
}

export interface Daemon {
  /** Where `/healthz`, `/pods`, `/stats/summary` and `/eviction` are served, as `host:port`; undefined when they are not. */
  readonly address: string | undefined;
  /** Resolves with what gives the pods as a person sees them who watches the node. */
  livePods(): Promise<() => readonly LivePod[]>;
  /** Resolves when the agent cannot go on, with the reason. It still has to be stopped. */
  readonly failure: Promise<string>;
  /** Ends the pods first when configured so; resolves when nothing of the agent is left. */
  stop(): Promise<void>;
  /** Stops in any case without ending pods. */
  leave(): Promise<void>;
}

/** Rejects when the agent cannot run as configured; everything is closed again then. */
export async function startDaemon(given: StateletConfig, deps: DaemonDeps): Promise<Daemon> {
  const lock = await lockRootDir(given.rootDir);
  const config = await withReportedAddresses(given);
  const { logger } = deps;
  const now = () => systemClock.now();
  const log = eventLog(logger, now);
  const running: { agent?: Agent } = {};
  const podOf = (uid: string) => running.agent?.pod(uid);
  const events = new RecentEvents({ nodeName: config.nodeName, now, podOf });
  let cluster: Cluster | undefined;
  const counted = await countedMetrics(given);
  const measurements = counted && { measurements: counted };
  const failure = Promise.withResolvers<string>();
  const opened = await (async () => {
    cluster = await openCluster(given, { ...deps, ...measurements }, failure.resolve);
    const recorder = eventFanOut(log, events, ...(cluster ? [cluster.sender] : []));
    const endedPods = await openEndedPodsFile(given.rootDir, logger);
    const parts = await openNode(config, recorder, logger, servicesOf(cluster, counted));
    return { recorder, endedPods, askPlugins: await evictionPlugins(config), ...parts };
  })().catch(async (error: unknown) => {
    await cluster?.close();
    lock.release();
    throw error;
  });
  const page = await DaemonPage.prepare(config, logger);
  const inspect = page.inspectedBy(await withStateLog(deps));
  const { recorder, facts, parts, endedPods, askPlugins } = opened;
  const own = {
    lock,
    askPlugins,
    parts,
    endedPods,
    events,
    flightRecorder: await openFlightRecorder(config, logger),
    failure: failure.promise,
    counted,
    page,
    ...(cluster && { cluster }),
  };
  const agent = new Agent(config, { ...deps, ...(inspect && { inspect }), recorder, facts }, own);
  running.agent = agent;
  try {
    await agent.start();
    return agent;
  } catch (error) {
    await agent.takeDown();
    throw error;
  }
}

/** Everything for a cluster is loaded only with a kubeconfig. */
async function openCluster(
  config: StateletConfig,
  { logger, inspect, measurements }: DaemonDeps & { readonly measurements?: Measurements },
  onFailure: (problem: string) => void,
): Promise<Cluster | undefined> {
  if (config.cluster.kubeconfig === '') return undefined;
  const { Cluster } = await import('./join-cluster.ts');
  const onGiveUp = () => onFailure('there is no valid client certificate, and the API server gives none');
  return Cluster.open(config, {
    logger,
    onGiveUp,
    ...(inspect && { inspect }),
    ...(measurements && { measurements }),
  });
}

/** The code for eviction plugins is loaded only where they are enabled. */
async function evictionPlugins(config: StateletConfig): Promise<typeof openEvictionPlugins | undefined> {
  if (!config.evictionPlugins.enabled) return undefined;
  return (await import('./open-eviction-plugins.ts')).openEvictionPlugins;
}

/** Nothing is counted, and the code for it is not loaded, unless a port of the agent serves metrics. */
async function countedMetrics(config: StateletConfig): Promise<AgentMetrics | undefined> {
  if (!opensPorts(config)) return undefined;
  const { AgentMetrics } = await import('./server/metrics/agent-metrics.ts');
  return new AgentMetrics();
}

function servicesOf(cluster: Cluster | undefined, measurements: Measurements | undefined): NodeServices {
  return {
    ...(cluster && { runtimeClasses: cluster.runtimeClasses, objects: cluster.objects }),
    ...(measurements && { measurements }),
  };
}

/** In a cluster, pods have the addresses that their node reports. */
async function withReportedAddresses(config: StateletConfig): Promise<StateletConfig> {
  if (config.cluster.kubeconfig === '') return config;
  const { reportedNodeIPs } = await import('./runtime/node/own-addresses.ts');
  const nodeIP = await reportedNodeIPs(config.nodeName, config.node.nodeIP);
  return nodeIP.length === 0 ? config : { ...config, node: { ...config.node, nodeIP } };
}

/** The state log is loaded only when it is wanted: actors are cheaper without inspection. */
async function withStateLog({ logger, inspect, stateLog }: DaemonDeps): Promise<Inspect | undefined> {
  if (stateLog === undefined) return inspect;
  const { loggedBefore } = await import('./actors/pods/state-log.ts');
  return loggedBefore(stateLog, logger, inspect);
}

interface AgentDeps extends DaemonDeps {
  readonly recorder: EventRecorder & NodeEventRecorder;
  readonly facts: OwnNodeFacts;
}

/** What belongs to the daemon, and is closed with it. */
interface Own {
  readonly lock: RootLock;
  readonly parts: NodeParts;
  readonly endedPods: EndedPodsStore;
  readonly events: RecentEvents;
  readonly cluster?: Cluster;
  readonly failure: Promise<string>;
  readonly counted: AgentMetrics | undefined;
  readonly askPlugins: typeof openEvictionPlugins | undefined;
  readonly flightRecorder: FlightRecorder | undefined;
  readonly page: DaemonPage;
}

class Agent implements Daemon {
  readonly #config: StateletConfig;
  readonly #deps: AgentDeps;
  readonly #own: Own;
  readonly #agent: NodeAgent;
  #endpoints: Endpoints | undefined;
  #ports: OpenNodePorts | undefined;
  #routes: Promise<readonly Route[]> | undefined;
  #stats: Promise<StatsProvider> | undefined;
  #shutdownWatch: ShutdownWatch | undefined;

  constructor(config: StateletConfig, deps: AgentDeps, own: Own) {
    this.#config = config;
    this.#deps = deps;
    this.#own = own;
    const { parts, cluster, counted, endedPods, askPlugins } = own;
    const sources = {
      ...podSources(config, { keepsLastGood: true }),
      ...(cluster && { api: cluster.pods }),
    };
    const { inspect, recorder, logger, facts } = deps;
    this.#agent = new NodeAgent({
      ...nodeAgentOptions(config, { parts, facts, recorder, logger }),
      sources: Object.keys(sources),
      configuration: configuration(sources, deps),
      endedPods,
      ...(inspect && { inspect }),
      ...(counted && { measurements: counted }),
      ...(cluster && {
        cluster: (core: AgentCore) => cluster.join(core, facts),
        objectChanges: cluster.objects.changes,
      }),
      ...(askPlugins && {
        plugins: (core: AgentCore) =>
          askPlugins(core, {
            config,
            nodeFacts: () => this.#agent.nodeFacts(),
            stats: () => this.#statsProvider(),
            ...(cluster && { cluster }),
            ...(counted && { measurements: counted }),
          }),
      }),
      eviction: {
        configuration: evictionConfiguration(config),
        stats: () => this.#statsProvider(),
      },
    });
    if (own.flightRecorder) this.#agent.transitions.subscribe(own.flightRecorder.record);
  }

  get address(): string | undefined {
    return this.#endpoints?.address;
  }

  /** Loaded only where people watch. */
  async livePods(): Promise<() => readonly LivePod[]> {
    const { livePods } = await import('./actors/live-pods.ts');
    const sources = { agent: this.#agent, clock: systemClock, events: () => this.#own.events.list() };
    return () => livePods(sources);
  }

  get failure(): Promise<string> {
    return this.#own.failure;
  }

  async start(): Promise<void> {
    const { healthz, rootDir, nodeName } = this.#config;
    const { logger } = this.#deps;
    const { supervisor, statusManager } = this.#agent;
    const sources = {
      health: () => this.#agent.health(),
      pods: () => servedPods(supervisor.registry, statusManager),
      eviction: () => this.#agent.explainEviction(),
      summary: async (options: SummaryOptions) => (await this.#statsProvider()).summary(options),
    };
    this.#endpoints = await Endpoints.open({
      rootDir,
      nodeName,
      address: healthz,
      sources,
      nodeRoutes: async () => [...(await this.#ownerRoutes()), ...(await this.#nodeRoutes())],
      logger,
    });
    await this.#own.page.open(this.#agent, this.#own.events);
    this.#announce();
    const port = await this.#openPorts();
    await this.#own.cluster?.prepare({
      runtime: this.#own.parts.runtime,
      facts: this.#deps.facts,
      conditions: () => this.#agent.nodeFacts().conditions,
      nodeHealth: () => this.#agent.nodeHealth(),
      port,
    });
    this.#agent.start();
    await this.#watchShutdown();
  }

  async stop(): Promise<void> {
    await this.#agent.shutDown(this.#config.exitWithPods);
    await this.takeDown();
  }

  async leave(): Promise<void> {
    await this.#agent.shutDown(false);
    await this.takeDown();
  }

  async takeDown(): Promise<void> {
    await leavePodsRunning(this.#agent);
    await this.#own.flightRecorder?.close();
    await this.#shutdownWatch?.close();
    await (await this.#stats)?.close();
    await Promise.all([this.#endpoints?.close(), this.#ports?.close(), this.#own.page.close()]);
    await this.#own.cluster?.close();
    await this.#own.parts.stop();
    this.#own.lock.release();
  }

  /** Loaded only where a shutdown of the machine waits for pods. */
  async #watchShutdown(): Promise<void> {
    const { shutdown } = this.#agent;
    const seconds = shutdownSeconds(shutdownPeriods(this.#config.shutdown));
    if (shutdown === undefined || seconds === 0) return;
    const { ShutdownWatch } = await import('./runtime/shutdown/shutdown-watch.ts');
    const watch = new ShutdownWatch({
      seconds,
      onShutdown: () => void this.#agent.endGroups().then(() => watch.release()),
      onCancelled: () => shutdown.cancel(),
      clock: systemClock,
      logger: this.#deps.logger,
    });
    this.#shutdownWatch = watch;
    await watch.start();
  }

  /** Returns the port that the node object tells. The server is loaded only where it is opened. */
  async #openPorts(): Promise<number> {
    const { port = NODE_PORT } = this.#config.server;
    if (!opensPorts(this.#config)) return port;
    const { openNodePorts } = await import('./open-node-ports.ts');
    this.#ports = await openNodePorts({
      config: this.#config,
      cluster: this.#own.cluster,
      routes: await this.#nodeRoutes(),
      logger: this.#deps.logger,
    });
    return this.#ports.port ?? port;
  }

  /** By UID, as its source has it. */
  pod(uid: string): Pod | undefined {
    return this.#agent.supervisor.desired.get(uid);
  }

  async #ownerRoutes(): Promise<readonly Route[]> {
    const { routesOfOwner } = await import('./serve-owner.ts');
    const own = routesOfOwner(this.#agent, this.#own.events, systemClock);
    return [...own, ...(await this.#own.page.routes(this.#agent, this.#own.events))];
  }

  /** Loaded when a client first asks for a path of the node's server. */
  #nodeRoutes(): Promise<readonly Route[]> {
    const { parts, cluster } = this.#own;
    return (this.#routes ??= import('./serve-node.ts').then(({ nodeApi, nodeRoutes }) =>
      nodeRoutes(
        nodeApi({
          agent: this.#agent,
          runtime: parts.runtime,
          config: this.#config,
          logger: this.#deps.logger,
          setVerbosity: (level) => this.#deps.setVerbosity?.(level),
          logsTransitions: this.#deps.stateLog === 'transitions',
          stats: () => this.#statsProvider(),
          counted: this.#own.counted,
          certificateEnds: () => cluster?.certificateEnds() ?? NO_CERTIFICATES,
        }),
      ),
    ));
  }

  /** Loaded when eviction starts, or for the first request. */
  #statsProvider(): Promise<StatsProvider> {
    const { rootDir, podLogsDir, nodeName, node, containerRuntimeEndpoint } = this.#config;
    const { pleg, supervisor } = this.#agent;
    const { podScratch } = runtimeLayout(rootDir);
    const isEmbedded = containerRuntimeEndpoint === EMBEDDED;
    const cgroupRoot = isEmbedded || !node.cgroupsPerQOS ? undefined : node.cgroupRoot;
    return (this.#stats ??= import('./runtime/stats/stats-provider.ts').then(({ openStatsProvider }) =>
      openStatsProvider({
        rootDir,
        podLogsDir,
        nodeName,
        cgroupRoot,
        clock: systemClock,
        runtime: this.#own.parts.runtime,
        pods: () => pleg.pods(),
        podOf: (uid) => supervisor.registry.get(uid)?.actor.getSnapshot().context.pod,
        logger: this.#deps.logger,
        ...(isEmbedded && {
          scratchOf: ({ sandboxes }: RuntimePodStatus) => sandboxes.map(({ id }) => podScratch(id)),
        }),
      }),
    ));
  }

  #announce(): void {
    const {
      staticPodPath,
      staticPodURL,
      localPods,
      nodeName,
      rootDir,
      containerRuntimeEndpoint: runtime,
    } = this.#config;
    const url = staticPodURL === undefined ? undefined : shownURL(staticPodURL);
    const server = this.#own.cluster && 'the API server';
    const local = localPods.map((pods) => ('url' in pods ? shownURL(pods.url) : pods.path));
    const sources = [...local, staticPodPath, url, server].filter((source) => source !== undefined);
    const fields = { node: nodeName, rootDir, runtime, ...(this.address && { address: this.address }) };
    const { logger, forPeople } = this.#deps;
    const message = `Running the pods of ${sources.join(' and ') || 'no source'}`;
    if (forPeople !== true) {
      logger.info(fields, message);
      return;
    }
    const shell = { cwd: process.cwd(), isNpm: process.env.npm_command !== undefined };
    const tell = this.#deps.welcome ?? ((text: string) => logger.info({}, text));
    tell(welcome({ ...this.#config, sources, page: this.#own.page.url }, shell));
    logger.debug(fields, message);
  }
}

function configuration(
  sources: PodSources,
  { recorder, logger }: Pick<AgentDeps, 'recorder' | 'logger'>,
): Observable<SupervisorEvent> {
  return podConfig(sources, {
    now: () => systemClock.now(),
    recorder,
    onProblem: (problem) => logger.warn({ source: problem.source }, problemText(problem)),
  }).pipe(inBatches(), map(channelEvent));
}

/** The settings of eviction. Where pods have cgroups, these are limited to allocatable, and pods are evicted before that is used up. */
function evictionConfiguration(config: StateletConfig): EvictionParts['configuration'] {
  const hasCgroups = config.containerRuntimeEndpoint !== EMBEDDED && config.node.cgroupsPerQOS;
  return {
    thresholds: evictionThresholds(config, hasCgroups ? ['pods'] : []),
    pressureTransitionPeriodMs: config.evictionPressureTransitionPeriodMs,
    maxPodGracePeriodSeconds: config.evictionMaxPodGracePeriod,
    localStorageCapacityIsolation: config.localStorageCapacityIsolation,
  };
}
