/** Runs the pods of the sources once: reads, admits and starts them, reports an outcome for each, and leaves them running. */
import { defer, lastValueFrom, mergeAll, of, take, timeout, toArray } from 'rxjs';
import { NodeAgent } from '../../agent/actors/node-agent.ts';
import type { EndedPodsStore } from '../../agent/actors/pods/ended-pods.ts';
import type { StateletConfig } from '../../agent/config/config.ts';
import type { SupervisorEvent } from '../../agent/machines/supervisor-machine.ts';
import {
  type ClusterServices,
  leavePodsRunning,
  type Node,
  nodeAgentOptions,
  openNode,
  withinStopLimit,
} from '../open-node.ts';
import { openLocalObjects, podSources } from '../pod-sources.ts';
import type { Rejection } from '../../agent/policies/admission/rejection.ts';
import { shortDuration } from '../../agent/policies/formats/duration.ts';
import { rfc3339 } from '../../agent/policies/formats/time.ts';
import type { PodSource } from '../../agent/policies/pod-actions/wanted-pods.ts';
import { CONFIG_SOURCE_ANNOTATION, fullName, podFullName } from '../../agent/policies/pod/pod-kinds.ts';
import { lockRootDir, openEndedPodsFile } from '../../agent/runtime/node/root-files.ts';
import { eventLog } from '../../agent/server/event-log.ts';
import { podConfig, type PodSources } from '../../agent/sources/pod-config.ts';
import { problemText, type SourceProblem } from '../../agent/sources/source.ts';
import { systemClock } from '../../system/timer.ts';
import type { AgentContext } from '../../types/agent-context.ts';
import type { EventRecorder, NodeEventRecorder } from '../../types/event-recorder.ts';
import type { Pod } from '../../types/kubernetes.ts';
import type { Logger } from '../../types/logger.ts';
import { admitInTurn } from './admit-in-turn.ts';
import { awaitRuntime, followPod } from './follow-pod.ts';
import type { PodOutcome, PodResult } from './pod-verdict.ts';
import { NEVER_ABORTED } from '../../system/promises.ts';

/** How long a server may take to answer. A request to the URL of manifests ends before, with an error that names the URL. */
const SERVER_MS = 15_000;
/** How long files of this machine may take to be read. A busy machine takes more than a second, and pods must not be left out for that. */
const FILES_MS = 30_000;
/** How long the runtime may take to become ready. */
const RUNTIME_PATIENCE_MS = 30_000;

export interface RunOnceOptions {
  readonly maxRetries: number;
  readonly retryDelayMs: number;
  readonly logger: Logger;
  /** Aborts when the command is to leave at once. */
  readonly signal: AbortSignal;
  /** Called as soon as the outcome of a pod is known. */
  readonly onOutcome: (pod: Pod, outcome: PodOutcome) => void;
}

export interface RunOnceReport {
  /** In the order of the sources. */
  readonly pods: readonly PodResult[];
  /** Of the sources: broken manifests, a source that does not answer. */
  readonly problems: readonly SourceProblem[];
}

/** Rejects when no pod can be run as configured. */
export async function runOnce(config: StateletConfig, options: RunOnceOptions): Promise<RunOnceReport> {
  const lock = await lockRootDir(config.rootDir);
  try {
    const waitMs = (source: PodSource) => (asksServer(source, config) ? SERVER_MS : FILES_MS);
    const { logger } = options;
    const objects = await openLocalObjects({ clock: systemClock, logger }, config);
    const sources = podSources(config, { objects });
    const { pods, problems } = await readSources(sources, () => systemClock.now(), waitMs);
    objects?.close();
    for (const problem of problems) logger.warn({ source: problem.source }, problemText(problem));
    return { pods: pods.length === 0 ? [] : await runPods(pods, config, { ...options, objects }), problems };
  } finally {
    lock.release();
  }
}

async function runPods(
  pods: readonly Pod[],
  config: StateletConfig,
  options: RunOnceOptions & ClusterServices,
): Promise<readonly PodResult[]> {
  const { logger, objects } = options;
  const recorder = new LastWarnings(eventLog(logger, () => systemClock.now()));
  const endedPods = openEndedPodsFile(config.rootDir, logger);
  const context = { clock: systemClock, random: Math.random, logger, recorder };
  const { facts, parts } = await openNode(config, context, { objects });
  try {
    const run = new Run(context, pods, config, { facts, parts, recorder, endedPods });
    return await run.results(options);
  } finally {
    await parts.stop();
  }
}

function asksServer(source: PodSource, { localPods }: StateletConfig): boolean {
  return source === 'http' || (source === 'local' && localPods.some((pods) => 'url' in pods));
}

interface RunParts extends Node {
  readonly recorder: LastWarnings;
  readonly endedPods: EndedPodsStore;
}

class Run {
  readonly #pods: readonly Pod[];
  readonly #nodeParts: RunParts;
  readonly #agent: NodeAgent;
  readonly #rejections = new Map<Pod, Rejection>();

  constructor(context: AgentContext, pods: readonly Pod[], config: StateletConfig, nodeParts: RunParts) {
    this.#pods = pods;
    this.#nodeParts = nodeParts;
    this.#agent = new NodeAgent(context, {
      ...nodeAgentOptions(config, nodeParts),
      endedPods: nodeParts.endedPods,
      // No SOURCE_SEEN is sent, so pods that are unknown to the sources are not removed.
      sources: Object.keys(podSources(config)),
      configuration: defer(async () => (await this.#admit()).map(addition)).pipe(mergeAll()),
    });
  }

  /** When this settles, no container is being started any more. */
  async results(options: RunOnceOptions): Promise<readonly PodResult[]> {
    const agent = this.#agent;
    agent.start();
    const outcomes = [];
    try {
      outcomes.push(...(await this.#outcomes(options)));
    } finally {
      await leavePodsRunning(agent);
    }
    // Containers that an effect has just started may not be listed yet.
    await withinStopLimit(agent.pleg.relist().catch(() => undefined));
    return outcomes.map(({ pod, outcome }) => this.#result(pod, outcome));
  }

  /** All pods are followed at the same time. */
  async #outcomes({ maxRetries, retryDelayMs, signal, onOutcome }: RunOnceOptions) {
    const [agent, { recorder }] = [this.#agent, this.#nodeParts];
    await awaitRuntime(agent, systemClock, signal, RUNTIME_PATIENCE_MS);
    const followOptions = {
      agent,
      clock: systemClock,
      maxRetries,
      retryDelayMs,
      signal,
      rejectionOf: (pod: Pod) => this.#rejections.get(pod),
      lastWarning: (uid: string) => recorder.of(uid),
    };
    const follow = async (pod: Pod) => {
      const outcome = await followPod(pod, followOptions);
      onOutcome(pod, outcome);
      return { pod, outcome };
    };
    return Promise.all(this.#pods.map(follow));
  }

  /** Called when the runtime has listed its pods. */
  async #admit(): Promise<readonly Pod[]> {
    const { parts, recorder } = this.#nodeParts;
    const { pleg, statusManager, supervisor } = this.#agent;
    const { ended = [], wanted = [] } = Object.groupBy(this.#pods, (pod) =>
      supervisor.ended.of(pod) === undefined ? 'wanted' : 'ended',
    );
    const { admitted, rejected } = await admitInTurn(wanted, {
      facts: this.#agent.nodeFacts(),
      admit: (pod) => parts.node.admit(pod, NEVER_ABORTED),
      runs: ({ metadata }) => pleg.runtimeHolds(metadata.uid) === 'running',
    });
    for (const { pod, rejection } of rejected) {
      this.#rejections.set(pod, rejection);
      statusManager.reject(pod, rejection, rfc3339(systemClock.now()));
      recorder.event(pod.metadata, 'Warning', rejection.reason, rejection.message);
    }
    endOlderVersions(this.#agent, admitted);
    // The supervisor ends what may still run of a deleted pod.
    return [...ended, ...admitted];
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

/** A changed manifest gives its pod another UID. The running pod of the same name ends first (lifecycle 10). */
function endOlderVersions({ pleg, supervisor }: NodeAgent, pods: readonly Pod[]): void {
  const wanted = new Map(pods.map((pod) => [podFullName(pod), pod.metadata.uid]));
  const older = pleg.pods().filter((pod) => (wanted.get(fullName(pod)) ?? pod.uid) !== pod.uid);
  for (const pod of older) supervisor.killRuntimePod(pod);
}

export interface FirstPods {
  /** In the order of the sources. */
  readonly pods: readonly Pod[];
  readonly problems: readonly SourceProblem[];
}

/** Reads every source of pods once. For a source that does not answer within its time there is a problem and no pods. */
export async function readSources(
  sources: PodSources,
  now: () => number,
  waitMs: (source: PodSource) => number,
): Promise<FirstPods> {
  const problems: SourceProblem[] = [];
  const onProblem = (problem: SourceProblem) => problems.push(problem);
  const config = podConfig(readOnce(sources, waitMs), { now, onProblem });
  const events = await lastValueFrom(config.pipe(toArray()));
  // Pods are admitted in this order: it must not depend on which source was read first.
  const inOrder = Object.keys(sources).flatMap((name) => events.filter(({ source }) => source === name));
  return { pods: inOrder.flatMap((event) => ('pods' in event ? event.pods : [])), problems };
}

function readOnce(sources: PodSources, waitMs: (source: PodSource) => number): PodSources {
  const once = Object.entries(sources).map(([name, updates]) => {
    const source = name as PodSource;
    const first = waitMs(source);
    const late: SourceProblem = { source, message: `did not answer within ${shortDuration(first)}` };
    return [source, updates.pipe(take(1), timeout({ first, with: () => of({ problems: [late] }) }))];
  });
  return Object.fromEntries(once) as PodSources;
}

/** Passes events on, and keeps the last warning of each pod: container statuses do not say the cause of every failure. */
export class LastWarnings implements EventRecorder, NodeEventRecorder {
  readonly #recorder: EventRecorder & NodeEventRecorder;
  readonly #warnings = new Map<string, string>();

  constructor(recorder: EventRecorder & NodeEventRecorder) {
    this.#recorder = recorder;
  }

  event(...event: Parameters<EventRecorder['event']>): void {
    const [pod, type, reason, message] = event;
    if (type === 'Warning') this.#warnings.set(pod.uid, `${reason}: ${message}`);
    this.#recorder.event(...event);
  }

  nodeEvent(...event: Parameters<NodeEventRecorder['nodeEvent']>): void {
    this.#recorder.nodeEvent(...event);
  }

  of(uid: string): string | undefined {
    return this.#warnings.get(uid);
  }
}
