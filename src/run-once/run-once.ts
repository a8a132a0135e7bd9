/** Runs the pods of the sources once: reads, admits, starts them, tells what came of each, and leaves them running. */
import { defer, from } from 'rxjs';
import { NodeAgent } from '../actors/node-agent.ts';
import { eventLog } from '../server/event-log.ts';
import type { StateletConfig } from '../config/config.ts';
import type { SupervisorEvent } from '../machines/supervisor-machine.ts';
import {
  type AgentSurroundings,
  withinStopLimit,
  leavePodsRunning,
  nodeAgentOptions,
  openNode,
} from '../open-node.ts';
import { podSources } from '../pod-sources.ts';
import type { Rejection } from '../policies/admission/rejection.ts';
import { CONFIG_SOURCE_ANNOTATION, fullName, podFullName } from '../policies/pod/pod-kinds.ts';
import { RUNTIME_ONLY_GRACE_PERIOD_SECONDS } from '../policies/sync/pod-termination.ts';
import { rfc3339 } from '../policies/formats/time.ts';
import { lockRootDir } from '../runtime/node/root-lock.ts';
import { systemClock } from '../system/system-clock.ts';
import { problemText, type SourceProblem } from '../sources/source.ts';
import type { Pod } from '../types/kubernetes.ts';
import type { Logger } from '../types/logger.ts';
import { admitInTurn } from './admit-in-turn.ts';
import { awaitRuntime } from './await-runtime.ts';
import { followPod } from './follow-pod.ts';
import { LastWarnings } from './last-warnings.ts';
import type { PodOutcome, PodResult } from './pod-result.ts';
import { readSources } from './read-sources.ts';

/** How long the sources may take to say which pods there are. */
const FIRST_PODS_MS = 1_000;
/** How long the runtime may take to be ready. */
const RUNTIME_PATIENCE_MS = 10_000;

export interface RunOnceOptions {
  readonly maxRetries: number;
  readonly retryDelayMs: number;
  readonly logger: Logger;
  /** Aborts when it is to leave at once. */
  readonly signal: AbortSignal;
  /** As soon as it is known what came of a pod. */
  readonly onOutcome: (pod: Pod, outcome: PodOutcome) => void;
}

export interface RunOnceReport {
  /** In the order in which the pods came. */
  readonly pods: readonly PodResult[];
  /** Of the manifests. */
  readonly problems: readonly SourceProblem[];
}

/** Rejects when nothing can be run as configured. */
export async function runOnce(config: StateletConfig, options: RunOnceOptions): Promise<RunOnceReport> {
  const lock = await lockRootDir(config.rootDir);
  try {
    const { pods, problems } = await readSources(podSources(config), () => systemClock.now(), FIRST_PODS_MS);
    for (const problem of problems) options.logger.warn({ source: problem.source }, problemText(problem));
    return { pods: pods.length === 0 ? [] : await runPods(pods, config, options), problems };
  } finally {
    lock.release();
  }
}

async function runPods(
  pods: readonly Pod[],
  config: StateletConfig,
  options: RunOnceOptions,
): Promise<readonly PodResult[]> {
  const { logger } = options;
  const recorder = new LastWarnings(eventLog(logger, () => systemClock.now()));
  const { facts, parts } = await openNode(config, recorder, logger);
  try {
    return await new Run(pods, config, { facts, parts, recorder, logger }).results(options);
  } finally {
    await parts.stop();
  }
}

interface RunSurroundings extends AgentSurroundings {
  readonly recorder: LastWarnings;
}

class Run {
  readonly #pods: readonly Pod[];
  readonly #surroundings: RunSurroundings;
  readonly #agent: NodeAgent;
  readonly #rejections = new Map<Pod, Rejection>();

  constructor(pods: readonly Pod[], config: StateletConfig, surroundings: RunSurroundings) {
    this.#pods = pods;
    this.#surroundings = surroundings;
    this.#agent = new NodeAgent({
      ...nodeAgentOptions(config, surroundings),
      // It is never told that one of them has been seen, and so removes nothing that it does not know.
      sources: Object.keys(podSources(config)),
      configuration: defer(() => from(this.#admit().map(addition))),
    });
  }

  /** When this settles nothing is being started any more. */
  async results(options: RunOnceOptions): Promise<readonly PodResult[]> {
    const agent = this.#agent;
    agent.start();
    const outcomes = await this.#outcomes(options).finally(() => leavePodsRunning(agent));
    // What an effect had begun may not show yet.
    await withinStopLimit(agent.pleg.relist().catch(() => undefined));
    return outcomes.map(({ pod, outcome }) => this.#result(pod, outcome));
  }

  /** Side by side. */
  async #outcomes({ maxRetries, retryDelayMs, signal, onOutcome }: RunOnceOptions) {
    const [agent, { recorder }] = [this.#agent, this.#surroundings];
    await awaitRuntime(agent, systemClock, signal, RUNTIME_PATIENCE_MS);
    const means = {
      ...{ agent, clock: systemClock, maxRetries, retryDelayMs, signal },
      rejectionOf: (pod: Pod) => this.#rejections.get(pod),
      lastWarning: (uid: string) => recorder.of(uid),
    };
    const follow = async (pod: Pod) => {
      const outcome = await followPod(pod, means);
      onOutcome(pod, outcome);
      return { pod, outcome };
    };
    return Promise.all(this.#pods.map(follow));
  }

  /** Once the runtime has told what it holds. */
  #admit(): readonly Pod[] {
    const { parts, recorder } = this.#surroundings;
    const { pleg, statusManager } = this.#agent;
    const { admitted, rejected } = admitInTurn(this.#pods, {
      facts: this.#agent.nodeFacts(),
      rejectionOf: (pod) => parts.node.rejection(pod),
      runs: ({ metadata }) => pleg.runtimeHolds(metadata.uid) === 'running',
    });
    for (const { pod, rejection } of rejected) {
      this.#rejections.set(pod, rejection);
      statusManager.reject(pod, rejection, rfc3339(systemClock.now()));
      recorder.event(pod.metadata, 'Warning', rejection.reason, rejection.message);
    }
    endFormerVersions(this.#agent, admitted);
    return admitted;
  }

  #result(pod: Pod, outcome: PodOutcome): PodResult {
    const { statusManager, pleg } = this.#agent;
    const { uid } = pod.metadata;
    const status = statusManager.get(uid);
    const leftRunning = pleg.runtimeHolds(uid) === 'running';
    return { ...outcome, pod: { ...pod, ...(status && { status }) }, leftRunning };
  }
}

function addition(pod: Pod): SupervisorEvent {
  const source = pod.metadata.annotations?.[CONFIG_SOURCE_ANNOTATION] ?? '';
  return { type: 'CONFIG.ADD', source, pods: [pod] };
}

/** A pod whose manifest has changed has another UID: the one of its name that is there ends first (lifecycle 10). */
function endFormerVersions({ pleg, supervisor }: NodeAgent, pods: readonly Pod[]): void {
  const wanted = new Map(pods.map((pod) => [podFullName(pod), pod.metadata.uid]));
  const former = pleg.pods().filter((pod) => (wanted.get(fullName(pod)) ?? pod.uid) !== pod.uid);
  for (const { uid, name, namespace } of former) {
    supervisor.registry.spawn({ uid, name, namespace }, pleg.runtimeHolds(uid));
    void supervisor.killPod(uid, {
      podTerminationGracePeriodSecondsOverride: RUNTIME_ONLY_GRACE_PERIOD_SECONDS,
    });
  }
}
