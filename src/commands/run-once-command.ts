/** `statelet run-once`: starts the pods of the sources, prints their outcomes, and exits. */
import { constants } from 'node:os';
import type { RunFlags } from '../agent/config/config.ts';
import { oneLine } from '../agent/policies/formats/terminal-text.ts';
import { CONFIG_SOURCE_ANNOTATION } from '../agent/policies/pod/pod-kinds.ts';
import { podSummary } from '../agent/policies/status/pod-table.ts';
import { isGood, type PodOutcome, type PodResult } from '../run/once/pod-verdict.ts';
import { runOnce as runPodsOnce, type RunOnceReport } from '../run/once/run-once.ts';
import { createLogger } from '../agent/server/open-logger.ts';
import { onOutputClosed, print, printError } from '../system/terminal.ts';
import { StateletError } from '../types/errors.ts';
import type { ContainerStatus, Pod } from '../types/kubernetes.ts';
import { adviceOnSources, configure } from './configure.ts';
import { reportDefects, stopRequest, tightenUmask } from './process-events.ts';
import { RUN_ONCE_DEFAULTS } from './run-flags.ts';
import { formatTable } from './table.ts';

export interface RunOnceFlags extends RunFlags {
  readonly maxRetries?: number;
  readonly retryDelay?: number;
  readonly output?: 'json';
}

/** Resolves with the exit code. Rejects when no pod could be started as configured. */
export async function runOnce(flags: RunOnceFlags): Promise<number> {
  tightenUmask();
  // The process goes on when its output is closed.
  onOutputClosed(() => undefined);
  const { config, warnings } = await configure(flags);
  const advice = adviceOnSources(config);
  if (advice !== undefined) throw new StateletError('InvalidArgument', advice);
  const logger = await createLogger({ ...config.logging, toStderr: true });
  for (const warning of warnings) logger.warn(warning);
  reportDefects(logger);
  const stop = new AbortController();
  let asked: NodeJS.Signals | undefined;
  void stopRequest(logger, 'leaving at once').then((signal) => {
    asked = signal;
    stop.abort();
  });
  const { maxRetries = RUN_ONCE_DEFAULTS.maxRetries, retryDelay = RUN_ONCE_DEFAULTS.retryDelayMs } = flags;
  const asJson = flags.output === 'json';
  const report = await runPodsOnce(config, {
    maxRetries,
    retryDelayMs: retryDelay,
    logger,
    signal: stop.signal,
    onOutcome: (pod, outcome) => {
      if (!asJson) print(`${resultLine(pod, outcome)}\n`);
    },
  });
  print(asJson ? resultJson(report) : `\n${resultTable(report)}`);
  if (asked !== undefined) {
    logger.warn({ signal: asked }, leftText(report));
    return 128 + constants.signals[asked];
  }
  const complaints = complaintsOf(report);
  if (complaints.length === 0) return 0;
  printError(`statelet: ${complaints.join('; ')}\n`);
  return 1;
}

function leftText({ pods }: RunOnceReport): string {
  const left = pods.filter(({ leftRunning }) => leftRunning).map(({ pod }) => podText(pod));
  return left.length === 0
    ? 'left; nothing of the pods runs'
    : `left; these keep running: ${left.join(', ')}`;
}

function complaintsOf({ pods, problems }: RunOnceReport): readonly string[] {
  const bad = pods.filter((pod) => !isGood(pod)).map(({ pod }) => podText(pod));
  return [
    ...(pods.length === 0 ? ['no pod came from the sources'] : []),
    ...(bad.length > 0 ? [`${bad.length} of ${count(pods, 'pod')} did not come up: ${bad.join(', ')}`] : []),
    ...(problems.length > 0 ? [`${count(problems, 'problem')} with the sources`] : []),
  ];
}

function count(list: readonly unknown[], what: string): string {
  return `${list.length} ${what}${list.length === 1 ? '' : 's'}`;
}

export function podText({ metadata }: Pod): string {
  return `${metadata.namespace}/${metadata.name}`;
}

/** `default/web-node1: Failed: ContainersFailed: …`. */
export function resultLine(pod: Pod, { result, reason, message }: PodOutcome): string {
  return oneLine([podText(pod), result, reason, message].filter((part) => part !== undefined).join(': '));
}

export function resultTable({ pods }: RunOnceReport): string {
  if (pods.length === 0) return 'No pods.\n';
  const header = ['NAMESPACE', 'NAME', 'READY', 'STATUS', 'RESTARTS', 'RESULT', 'FAILED'];
  return formatTable([header, ...pods.map(row)]);
}

function row({ pod, result, failedContainers }: PodResult): string[] {
  const { ready, total, status, restarts } = podSummary(pod);
  const { namespace, name } = pod.metadata;
  const failed = failedContainers.join() || '<none>';
  return [namespace, name, `${ready}/${total}`, status, `${restarts}`, result, failed];
}

export function resultJson({ pods, problems }: RunOnceReport): string {
  return `${JSON.stringify({ pods: pods.map(podView), problems }, null, 2)}\n`;
}

function podView({ pod, result, reason, message, failedContainers, leftRunning }: PodResult) {
  const { metadata, status } = pod;
  const { namespace, name, uid } = metadata;
  return {
    namespace,
    name,
    uid,
    source: metadata.annotations?.[CONFIG_SOURCE_ANNOTATION],
    result,
    reason,
    message,
    failedContainers,
    leftRunning,
    phase: status?.phase,
    podIP: status?.podIP,
    initContainers: status?.initContainerStatuses?.map(containerView) ?? [],
    containers: status?.containerStatuses?.map(containerView) ?? [],
  };
}

function containerView({ name, image, ready, restartCount, state, lastState }: ContainerStatus) {
  return { name, image, ready, restartCount, state, lastState };
}
