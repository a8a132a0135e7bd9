/** The composition root: the only file that knows every part. Builds the agent, starts it, and takes it down again. */
import { mkdir } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { interval, type Observable, Subscription } from 'rxjs';
import type { ActorOptions } from 'xstate';
import { podEffects } from './actors/pod-effects.ts';
import { ProbeManager } from './actors/probe-manager.ts';
import { servedPods } from './actors/served-pods.ts';
import { StatusManager } from './actors/status-manager.ts';
import { Supervisor } from './actors/supervisor.ts';
import { removeAddress, writeAddress } from './api/address-file.ts';
import { eventLog } from './api/event-log.ts';
import { type ApiServer, startApiServer } from './api/server.ts';
import { EMBEDDED, type StateletConfig } from './config/config.ts';
import type { supervisorMachine } from './machines/supervisor-machine.ts';
import { crashLoopBackOff } from './policies/crash-loop-backoff.ts';
import { Pleg } from './runtime/pleg.ts';
import { PodRuntime } from './runtime/pod-runtime.ts';
import { nodeAddresses, startsAtOnce } from './runtime/node-facts.ts';
import type { NodeParts } from './runtime/pod-node.ts';
import { lockRootDir, type RootLock } from './runtime/root-lock.ts';
import { RuntimeState } from './runtime/runtime-state.ts';
import { StartGate } from './runtime/start-gate.ts';
import { systemClock } from './runtime/system-clock.ts';
import { fileSource } from './sources/file-source.ts';
import { httpSource } from './sources/http-source.ts';
import { podConfig, type PodConfigEvent, type PodSources } from './sources/pod-config.ts';
import { problemText } from './sources/source.ts';
import type { EventRecorder } from './types/event-recorder.ts';
import type { Logger } from './types/logger.ts';

const HOUSEKEEPING_PERIOD_MS = 2_000;
/** The safety net under the runtime's events. */
const RELIST_PERIOD_MS = 10_000;
/** The loop counts as stuck when it has not moved for twice the sync frequency, but not before this (the kubelet's). */
const LOOP_STUCK_MIN_MS = 5 * 60_000;
/** How long the effects in flight get to come to rest when the agent leaves its pods running. */
const REST_MS = 2_000;

export interface DaemonDeps {
  readonly logger: Logger;
  readonly inspect?: ActorOptions<typeof supervisorMachine>['inspect'];
}

export interface Daemon {
  /** Where `/healthz` and `/pods` are served, as `host:port`; undefined when they are not. */
  readonly address: string | undefined;
  /** Ends the pods first when configured so; resolves when nothing of the agent is left. */
  stop(): Promise<void>;
}

/** Rejects, with everything taken down again, when the agent cannot run as configured. */
export async function startDaemon(config: StateletConfig, deps: DaemonDeps): Promise<Daemon> {
  const lock = await lockRootDir(config.rootDir);
  const recorder = eventLog(deps.logger, () => systemClock.now());
  const agent = new Agent(config, { ...deps, recorder }, lock, await openNode(config, recorder, deps.logger));
  try {
    await agent.start();
    return agent;
  } catch (error) {
    await agent.takeDown();
    throw error;
  }
}

/** Only the runtime that is used is loaded. */
async function openNode(config: StateletConfig, recorder: EventRecorder, logger: Logger): Promise<NodeParts> {
  const { containerRuntimeEndpoint: endpoint, node, rootDir, podLogsDir, nodeName } = config;
  const hostIPs = nodeAddresses(node.nodeIP);
  if (endpoint === EMBEDDED) {
    const { openProcessNode } = await import('./runtime/process/process-node.ts');
    return openProcessNode({ rootDir, podLogsDir, hostIPs, logger });
  }
  const { openCriNode } = await import('./runtime/open-cri-node.ts');
  return openCriNode({ endpoint, rootDir, podLogsDir, nodeName, hostIPs, settings: node, recorder, logger });
}

interface AgentDeps extends DaemonDeps {
  readonly recorder: EventRecorder;
}

class Agent implements Daemon {
  readonly #config: StateletConfig;
  readonly #deps: AgentDeps;
  readonly #lock: RootLock;
  readonly #subscriptions = new Subscription();
  readonly #statusManager = new StatusManager();
  readonly #parts: NodeParts;
  readonly #runtimeState: RuntimeState;
  readonly #pleg: Pleg;
  readonly #probes: ProbeManager;
  readonly #supervisor: Supervisor;
  readonly #sources: PodSources;
  readonly #stopped = Promise.withResolvers<undefined>();
  #api: ApiServer | undefined;
  #runtimeName = '';
  #looping = false;
  #lastLoopAt = systemClock.now();

  constructor(config: StateletConfig, deps: AgentDeps, lock: RootLock, parts: NodeParts) {
    this.#config = config;
    this.#deps = deps;
    this.#lock = lock;
    this.#parts = parts;
    this.#sources = podSources(config);
    const { runtime } = parts;
    this.#pleg = new Pleg({
      runtime,
      clock: systemClock,
      relistPeriodMs: RELIST_PERIOD_MS,
      onRelist: () => void this.#runtimeState.check(),
    });
    this.#runtimeState = new RuntimeState({
      runtime,
      clock: systemClock,
      prepare: () => this.#prepare(),
      onReady: () => this.#onRuntimeReady(),
      onNotReady: (problem) => this.#supervisor.send({ type: 'RUNTIME_NOT_READY', problem }),
    });
    this.#probes = this.#buildProbes();
    this.#supervisor = this.#buildSupervisor();
  }

  get address(): string | undefined {
    return this.#api?.address;
  }

  async start(): Promise<void> {
    const { healthz, podLogsDir } = this.#config;
    await mkdir(podLogsDir, { recursive: true });
    this.#supervisor.start();
    if (healthz) {
      const view = {
        health: () => this.#health(),
        pods: () => servedPods(this.#supervisor.registry, this.#statusManager),
      };
      this.#api = await startApiServer(healthz.host, healthz.port, view);
    }
    if (this.address !== undefined) await writeAddress(this.#config.rootDir, this.address);
    this.#announce();
    // A runtime that does not answer must not keep anybody from ending the agent.
    void this.#runtimeState.check();
  }

  async stop(): Promise<void> {
    const { exitWithPods } = this.#config;
    this.#supervisor.send({ type: 'SHUTDOWN', exitWithPods });
    await this.#stopped.promise;
    await this.takeDown();
  }

  async takeDown(): Promise<void> {
    this.#subscriptions.unsubscribe();
    this.#runtimeState.stop();
    this.#probes.stop();
    this.#pleg.stop();
    await Promise.race([this.#supervisor.stop(), delay(REST_MS, undefined, { ref: false })]);
    if (this.#api) await removeAddress(this.#config.rootDir);
    await this.#api?.close();
    await this.#parts.stop();
    this.#lock.release();
  }

  #announce(): void {
    const {
      staticPodPath,
      staticPodURL,
      nodeName,
      rootDir,
      containerRuntimeEndpoint: runtime,
    } = this.#config;
    const sources = [staticPodPath, staticPodURL].filter((source) => source !== undefined);
    const fields = { node: nodeName, rootDir, runtime, ...(this.address && { address: this.address }) };
    this.#deps.logger.info(fields, `Running the pods of ${sources.join(' and ') || 'no source'}`);
  }

  #buildProbes(): ProbeManager {
    const { runtime, node } = this.#parts;
    return new ProbeManager({
      ...{ runtime, clock: systemClock, recorder: this.#deps.recorder, logger: this.#deps.logger },
      random: Math.random,
      podStatus: (uid) => this.#statusManager.get(uid),
      podIP: (pod) => {
        const seen = this.#pleg.lastSeen(pod.metadata.uid);
        return seen && node.podIP(pod, seen);
      },
      send: (event) => this.#supervisor.send(event),
      parent: () => this.#supervisor.actor,
    });
  }

  #buildSupervisor(): Supervisor {
    const { logger, inspect } = this.#deps;
    const { syncFrequencyMs, maxPods, maxContainerRestartPeriodMs, podLogsDir } = this.#config;
    const { runtime, node } = this.#parts;
    const recorder = this.#deps.recorder;
    const common = {
      node,
      probes: this.#probes,
      pleg: this.#pleg,
      statusManager: this.#statusManager,
      clock: systemClock,
    };
    const podRuntime = new PodRuntime({
      ...{ runtime, node, recorder, podLogsDir, clock: systemClock },
      backOff: crashLoopBackOff(maxContainerRestartPeriodMs),
      gate: new StartGate({ clock: systemClock, atOnce: startsAtOnce() }),
      deadInstancesKept: this.#config.node.maximumDeadContainersPerContainer,
    });
    const effects = podEffects({
      ...common,
      podRuntime,
      recorder,
      logger,
      hostIPs: nodeAddresses(this.#config.node.nodeIP),
      runtimeName: () => this.#runtimeName,
      runtimeProblem: () => this.#runtimeState.runtimeProblem(),
      networkProblem: () => this.#runtimeState.networkProblem(),
      onRuntimeDoubtful: () => void this.#runtimeState.check(),
    });
    return new Supervisor({
      ...common,
      sources: Object.keys(this.#sources),
      effects,
      podRuntime,
      random: Math.random,
      syncFrequencyMs,
      maxPods,
      recorder,
      logger,
      ...(inspect && { inspect }),
      onStopped: () => this.#stopped.resolve(undefined),
    });
  }

  /** Before the runtime counts as ready: which one it is, and what it holds. */
  async #prepare(): Promise<void> {
    this.#runtimeName = (await this.#parts.runtime.version()).runtimeName;
    await this.#pleg.relist();
  }

  /** The first time, everything that depends on knowing what already runs is started. */
  #onRuntimeReady(): void {
    if (!this.#looping) this.#startLoop();
    this.#supervisor.send({ type: 'RUNTIME_READY' });
  }

  #startLoop(): void {
    const { logger } = this.#deps;
    this.#looping = true;
    this.#supervisor.adopt();
    this.#pleg.start();
    this.#parts.start({
      pods: () => this.#pleg.pods(),
      isPodRemovable: (uid) => this.#supervisor.registry.shouldPodContentBeRemoved(uid),
    });
    this.#subscribe(this.#pleg.changes, (change) => this.#supervisor.send({ type: 'PLEG', ...change }));
    this.#subscribe(interval(HOUSEKEEPING_PERIOD_MS), () => {
      this.#lastLoopAt = systemClock.now();
      this.#supervisor.send({ type: 'HOUSEKEEPING' });
    });
    const config = podConfig(this.#sources, {
      now: () => systemClock.now(),
      onProblem: (problem) => logger.warn({ source: problem.source }, problemText(problem)),
    });
    this.#subscribe(config, (event) => this.#supervisor.send(configEvent(event)));
  }

  #subscribe<T>(stream: Observable<T>, next: (value: T) => void): void {
    this.#subscriptions.add(stream.subscribe(next));
  }

  #health(): string | undefined {
    const stuckMs = Math.max(2 * this.#config.syncFrequencyMs, LOOP_STUCK_MIN_MS);
    if (systemClock.now() - this.#lastLoopAt > stuckMs) return 'the sync loop has not moved for too long';
    return this.#supervisor.runtimeProblem ?? this.#pleg.health();
  }
}

function configEvent(event: PodConfigEvent) {
  if ('type' in event) return { type: event.type, source: event.source } as const;
  return { type: `CONFIG.${event.op}`, source: event.source, pods: event.pods } as const;
}

function podSources(config: StateletConfig): PodSources {
  const { staticPodPath: path, staticPodURL: url, staticPodURLHeader: headers, nodeName } = config;
  const { fileCheckFrequencyMs, httpCheckFrequencyMs } = config;
  return {
    ...(path !== undefined && {
      file: fileSource({ path, nodeName, checkFrequencyMs: fileCheckFrequencyMs }),
    }),
    ...(url !== undefined && {
      http: httpSource({ url, headers, nodeName, checkFrequencyMs: httpCheckFrequencyMs }),
    }),
  };
}
