/** The composition root: opens what belongs to the daemon, builds the agent, starts it and stops it. */
import type { NodeAgent } from './actors/node-agent.ts';
import type { StateletConfig } from './config/config.ts';
import { announce } from './daemon/announce.ts';
import { daemonAgent } from './daemon/daemon-agent.ts';
import { DaemonServer } from './daemon/daemon-server.ts';
import { DaemonStats } from './daemon/daemon-stats.ts';
import { openShutdownWatch } from './daemon/open-shutdown-watch.ts';
import { closeOwnParts, openOwnParts, type OwnParts, type OwnPartsDeps } from './daemon/own-parts.ts';
import { leavePodsRunning } from './open-node.ts';
import type { ShutdownWatch } from './runtime/shutdown/shutdown-watch.ts';
import { systemClock } from './system/timer.ts';
import type { LivePods } from './types/served-pod.ts';

export interface DaemonDeps extends OwnPartsDeps {
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
  const own = await openOwnParts(given, deps, (uid) => running.agent?.supervisor.desired.get(uid));
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
  readonly #own: OwnParts;
  readonly #stats: DaemonStats;
  readonly #server: DaemonServer;
  #shutdownWatch: ShutdownWatch | undefined;

  constructor(own: OwnParts, deps: DaemonDeps) {
    this.#own = own;
    this.#deps = deps;
    const { config, parts, counted } = own;
    const { logger, stateLog } = deps;
    const stats = new DaemonStats({
      config,
      runtime: parts.runtime,
      cgroupDriver: parts.cgroupDriver,
      agent: () => this.agent,
      logger,
      ...(counted && { measurements: counted }),
    });
    this.#stats = stats;
    this.agent = daemonAgent({ own, stats, logger });
    this.#server = new DaemonServer({
      own,
      agent: this.agent,
      stats,
      logger,
      setVerbosity: (level) => deps.setVerbosity?.(level),
      logsTransitions: stateLog === 'transitions',
    });
  }

  get address(): string | undefined {
    return this.#server.address;
  }

  /** Loaded only where people watch. */
  async livePods(): Promise<LivePods> {
    const { livePods } = await import('./actors/live-pods.ts');
    return livePods({ agent: this.agent, clock: systemClock, events: () => this.#own.events.list() });
  }

  get failure(): Promise<string> {
    return this.#own.failure;
  }

  async start(): Promise<void> {
    const { config, cluster, parts, facts, page } = this.#own;
    const { logger, forPeople = false, welcome } = this.#deps;
    const { agent } = this;
    await this.#server.openEndpoints();
    const { address } = this;
    announce({
      config,
      isInCluster: cluster !== undefined,
      address,
      page: page.url,
      logger,
      forPeople,
      ...(welcome && { welcome }),
    });
    const port = await this.#server.openPorts();
    await cluster?.prepare({
      runtime: parts.runtime,
      facts,
      conditions: () => agent.nodeFacts().conditions,
      nodeHealth: () => agent.nodeHealth(),
      port,
    });
    agent.start();
    this.#shutdownWatch = await openShutdownWatch(agent, config, logger);
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

  /** What works for the agent ends before what it works with. */
  async takeDown(): Promise<void> {
    await leavePodsRunning(this.agent);
    await this.#own.flightRecorder?.close();
    await this.#shutdownWatch?.close();
    await this.#stats.close();
    await this.#server.close();
    await closeOwnParts(this.#own);
  }
}
