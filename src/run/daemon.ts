/** The composition root: opens what belongs to the daemon, builds the agent, starts it and stops it. */
import type { NodeAgent } from '../agent/actors/node-agent.ts';
import type { StateletConfig } from '../agent/config/config.ts';
import { ROOT_DIR_VARIABLE, rootFolder, thisHost } from '../agent/config/root-folder.ts';
import { daemonAgent } from './daemon/daemon-agent.ts';
import { DaemonServer } from './daemon/daemon-server.ts';
import { DaemonStats } from './daemon/daemon-stats.ts';
import {
  closeDaemonParts,
  openDaemonParts,
  type DaemonParts,
  type DaemonSettings,
} from './daemon/daemon-parts.ts';
import { leavePodsRunning } from './open-node.ts';
import { placeOf } from './pod-sources.ts';
import { shownURL } from '../agent/policies/formats/secret-fields.ts';
import { shutdownPeriods, shutdownSeconds } from '../agent/policies/termination/shutdown-periods.ts';
import type { ShutdownWatch } from '../agent/runtime/shutdown/shutdown-watch.ts';
import { welcome } from '../agent/server/welcome.ts';
import { systemClock } from '../system/timer.ts';
import type { AgentContext } from '../types/agent-context.ts';
import type { LivePods } from '../types/served-pod.ts';

export interface DaemonDeps extends DaemonSettings {
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
  /** Resolves with the pods as a person sees them who watches the node. */
  livePods(): Promise<LivePods>;
  /** Resolves when the agent cannot go on, with the reason. It still has to be stopped. */
  readonly failure: Promise<string>;
  /** Ends the pods first when configured so; resolves when nothing of the agent is left. */
  stop(): Promise<void>;
  /** Stops in any case without ending pods. */
  leave(): Promise<void>;
}

/** Rejects when the agent cannot run as configured; everything is closed again then. */
export async function startDaemon(given: StateletConfig, deps: DaemonDeps): Promise<Daemon> {
  const running: { agent?: NodeAgent } = {};
  const own = await openDaemonParts(given, deps, (uid) => running.agent?.supervisor.desired.get(uid));
  const daemon = new RunningDaemon(own, deps);
  running.agent = daemon.agent;
  try {
    await daemon.start();
    return daemon;
  } catch (error) {
    await daemon.takeDown();
    throw error;
  }
}

class RunningDaemon implements Daemon {
  readonly agent: NodeAgent;
  readonly #deps: DaemonDeps;
  readonly #own: DaemonParts;
  readonly #stats: DaemonStats;
  readonly #server: DaemonServer;
  #shutdownWatch: ShutdownWatch | undefined;

  constructor(own: DaemonParts, deps: DaemonDeps) {
    this.#own = own;
    this.#deps = deps;
    const { context, config, parts } = own;
    const stats = new DaemonStats(context, { config, parts, agent: () => this.agent });
    this.#stats = stats;
    this.agent = daemonAgent(own, stats);
    this.#server = new DaemonServer({
      own,
      agent: this.agent,
      stats,
      setVerbosity: (level) => deps.setVerbosity?.(level),
      logsTransitions: deps.stateLog === 'transitions',
    });
  }

  get address(): string | undefined {
    return this.#server.address;
  }

  /** Loaded only where people watch. */
  async livePods(): Promise<LivePods> {
    const { livePods } = await import('../agent/actors/live-pods.ts');
    return livePods({ agent: this.agent, clock: systemClock, events: () => this.#own.events.list() });
  }

  get failure(): Promise<string> {
    return this.#own.failure;
  }

  async start(): Promise<void> {
    const { context, config, cluster } = this.#own;
    const { agent } = this;
    await this.#server.openEndpoints();
    announce(this.#own, this.#deps, this.address);
    await this.#server.openPorts();
    await cluster?.prepare(this.#server.agentFacts());
    agent.start();
    await this.#server.openPodResources();
    this.#shutdownWatch = await openShutdownWatch(context, agent, config);
    await this.#shutdownWatch?.start();
  }

  async stop(): Promise<void> {
    await this.agent.shutDown(this.#own.config.exitWithPods);
    await this.takeDown();
  }

  async leave(): Promise<void> {
    await this.agent.shutDown(false);
    await this.takeDown();
  }

  /** Parts that act for the agent are closed before the parts that they use. */
  async takeDown(): Promise<void> {
    await leavePodsRunning(this.agent);
    await this.#own.flightRecorder?.close();
    await this.#shutdownWatch?.close();
    await this.#stats.close();
    await this.#server.close();
    await closeDaemonParts(this.#own);
  }
}

/** Says which pods the daemon runs, and from where; to people, with what they can do now. `address`: of the endpoints. */
function announce(
  { config, cluster, page }: DaemonParts,
  { logger, forPeople = false, welcome: show }: DaemonDeps,
  address: string | undefined,
): void {
  const { staticPodPath, staticPodURL, localPods, nodeName, rootDir } = config;
  const url = staticPodURL === undefined ? undefined : shownURL(staticPodURL);
  const server = cluster && 'the API server';
  const local = localPods.map(placeOf);
  const sources = [...local, staticPodPath, url, server].filter((source) => source !== undefined);
  const runtime = config.containerRuntimeEndpoint;
  const fields = { node: nodeName, rootDir, runtime, ...(address && { address }) };
  const message = `Running the pods of ${sources.join(' and ') || 'no source'}`;
  if (!forPeople) {
    logger.info(fields, message);
    return;
  }
  const shell = { cwd: process.cwd(), isNpm: process.env.npm_command !== undefined };
  const tell = show ?? ((text: string) => logger.info({}, text));
  // Another terminal need not have the variable of this one.
  const elsewhere = { ...thisHost(), env: { ...process.env, [ROOT_DIR_VARIABLE]: undefined } };
  const isFound = rootFolder(undefined, elsewhere).path === rootDir;
  tell(welcome({ ...config, sources, page: page.url, isFound }, shell));
  logger.debug(fields, message);
}

/** Not started yet. Undefined where a shutdown of the machine does not wait for pods: the code for it is not loaded then. */
async function openShutdownWatch(
  context: AgentContext,
  agent: NodeAgent,
  config: Pick<StateletConfig, 'shutdown'>,
): Promise<ShutdownWatch | undefined> {
  const { shutdown } = agent;
  const seconds = shutdownSeconds(shutdownPeriods(config.shutdown));
  if (shutdown === undefined || seconds === 0) return undefined;
  const { ShutdownWatch: Watch } = await import('../agent/runtime/shutdown/shutdown-watch.ts');
  const watch = new Watch(context, {
    seconds,
    onShutdown: () => void agent.endGroups().then(() => watch.release()),
    onCancelled: () => shutdown.cancel(),
  });
  return watch;
}
