/** The effects of pod actors: the kubelet's SyncPod, SyncTerminatingPod and SyncTerminatedPod. */
import type { Observer } from 'rxjs';
import type { PodContext, PodEvent } from '../../machines/pod-machine.ts';
import { type EndStatus, endStatus } from '../../policies/termination/pod-termination.ts';
import { containerHash, shouldAllContainersRestart } from '../../policies/pod-actions/restart.ts';
import {
  asksForMore,
  asksForMoreThan,
  asksForSomething,
  namesWithoutBackOff,
  resyncReason,
} from '../../policies/pod-actions/after-sync.ts';
import { computePodActions, type PodActions } from '../../policies/pod-actions/pod-actions.ts';
import { generateAPIPodStatus, hasRunToItsEnd } from '../../policies/status/pod-status.ts';
import {
  hasProbedContainers,
  recordsHook,
  withRemembered,
} from '../../policies/status/remembered-containers.ts';
import { isLocalPod, isManifestPod, isStaticPod } from '../../policies/pod/pod-kinds.ts';
import { notMounted, type ResyncReason } from '../../policies/pod-actions/back-off.ts';
import { isRunning } from '../../policies/cri/runtime-pod-status.ts';
import type { Rejection } from '../../policies/admission/rejection.ts';
import { rejectedAs } from '../../policies/status/status-changes.ts';
import { rfc3339 } from '../../policies/formats/time.ts';
import type { Pleg } from '../../runtime/pleg/pleg.ts';
import { podAsAllocated } from '../../policies/resize/allocation.ts';
import {
  actuatedOf,
  changesRunning,
  computeResizeActions,
  isResizeInProgress,
} from '../../policies/resize/resize-actions.ts';
import { type PodNode, PrepareError } from '../../runtime/node/pod-node.ts';
import { type PodRuntime, RESIZE_ERROR } from '../../runtime/pods/pod-runtime.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import { errorKind, type ErrorKind, StateletError } from '../../../types/errors.ts';
import type { Container, Pod } from '../../../types/kubernetes.ts';
import type { PodAllocation, RuntimeContainerStatus, RuntimePodStatus } from '../../../types/runtime-pod.ts';
import type { RuntimeWatch } from '../node/runtime-watch.ts';
import type { ContainerExitLog } from './container-exit-log.ts';
import type { EndedPods } from './ended-pods.ts';
import type { PodEffects } from './pod-actor.ts';
import { referenceOf } from './pod-registry.ts';
import type { ProbeManager } from '../probes/probe-manager.ts';
import type { ResizeStates } from '../resize/resize-states.ts';
import { statusFacts, type StatusParts } from './pod-status-facts.ts';

export interface PodEffectsParts extends StatusParts {
  readonly pleg: Pleg;
  readonly podRuntime: PodRuntime;
  readonly node: PodNode;
  readonly probes: ProbeManager;
  readonly containerExitLog: ContainerExitLog;
  readonly resizes: ResizeStates;
  readonly ended: Pick<EndedPods, 'kept'>;
  /** Its state is read when it did not answer an effect, or when its network may be ready by now. */
  readonly runtime: Pick<RuntimeWatch, 'name' | 'state' | 'check'>;
  /** Gets each static pod that is being synced: its mirror pod at the API server may be missing. */
  readonly staticPodSyncs: Observer<Pod>;
}

type Deps = PodEffectsParts & AgentContext;

export function podEffects(agent: AgentContext, parts: PodEffectsParts): PodEffects {
  const deps = { ...agent, ...parts };
  return {
    syncPod: (context, signal) => readingAlone(deps, context, signal, syncPod),
    stopPod: (context, signal) => readingAlone(deps, context, signal, stopPod),
    cleanUpPod: (context, signal) => readingAlone(deps, context, signal, cleanUpPod),
    refreshStatus: (context) => refreshStatus(deps, context),
  };
}

/** With errors of these kinds the runtime itself may be down. */
const NOT_ANSWERED: ReadonlySet<ErrorKind> = new Set(['Unavailable', 'DeadlineExceeded']);

async function syncPod(deps: Deps, context: PodContext, signal: AbortSignal): Promise<PodEvent> {
  const { pleg, podRuntime, runtime, recorder } = deps;
  const pod = podOf(context);
  const problem = runtime.state.runtimeProblem();
  if (problem !== undefined) throw new StateletError('Unavailable', `the runtime is not ready: ${problem}`);
  if (isStaticPod(pod)) deps.staticPodSyncs.next(pod);
  // The status is reported as early as possible: only its own start time is awaited first.
  if (!knowsStart(deps, pod)) await recallStart(deps, pod);
  const before = withKnown(deps, pod, await pleg.current(pod.metadata, { signal }));
  const actuated = actuatedOf(pod, before);
  resizeProgress(deps, pod, before, actuated);
  if (report(deps, context, before).ended) return runToItsEnd(deps, context);

  const network = pod.spec.hostNetwork ? undefined : runtime.state.networkProblem();
  if (network !== undefined) {
    // No event says when the network is ready: it is asked for now, and at the next try.
    runtime.check();
    recorder.event(pod.metadata, 'Warning', 'NetworkNotReady', `network is not ready: ${network}`);
    return { type: 'SYNC_FAILED', reason: { kind: 'networkNotReady' }, again: false };
  }

  const unprepared = await prepare(deps, context, before, actuated, signal);
  if (unprepared !== undefined) return unprepared;
  if (deps.probes.addPod(pod)) report(deps, context, before);
  const actions = decide(deps, pod, before, actuated);
  if (!asksForSomething(actions)) return { type: 'SYNC_DONE', terminal: false, again: false };
  signal.throwIfAborted();
  const failures = await podRuntime.syncPod(pod, before, actions, signal);
  const unresized = failures.find(({ reason }) => reason === RESIZE_ERROR);
  if (unresized) deps.resizes.failed(pod, unresized.message);
  await podRuntime.pruneDeadContainers(before);

  // The next decision follows from what the runtime reports now, not from the calls that were made.
  const after = withKnown(deps, pod, await pleg.read(pod.metadata, { signal }));
  if (report(deps, context, after).ended) return runToItsEnd(deps, context);
  const next = decide(deps, pod, after, actuatedOf(pod, after));
  if (failures.length === 0) {
    // After a resize, what follows from the resources is prepared anew.
    const again = changesRunning(actions.resize) || asksForMore(next, after);
    return { type: 'SYNC_DONE', terminal: false, again };
  }
  const again = asksForMoreThan(namesWithoutBackOff(failures, before, after), pod, next);
  return { type: 'SYNC_FAILED', reason: resyncReason(failures), again };
}

async function stopPod(deps: Deps, context: PodContext, signal: AbortSignal): Promise<PodEvent> {
  const { pleg, probes } = deps;
  const reference = referenceOf(context);
  probes.stopLivenessAndStartup(context.uid);
  if (context.pod) await recallStart(deps, context.pod);
  const before = withKnown(deps, context.pod, await pleg.current(reference, { signal }));
  if (context.pod) report(deps, context, before);
  await endAll(deps, context, before, signal);
  probes.removePod(context.uid);
  return { type: 'STOP_DONE' };
}

/** Ends what runs of the pod, and makes sure by a read that nothing is left. */
async function endAll(
  deps: Deps,
  context: PodContext,
  before: RuntimePodStatus,
  signal: AbortSignal,
): Promise<void> {
  const { pleg, podRuntime } = deps;
  await podRuntime.killPod(context.pod, before, context.gracePeriodSeconds, signal);
  const after = withKnown(deps, context.pod, await pleg.read(referenceOf(context), { signal }));
  if (context.pod) report(deps, context, after);
  if (!isRunning(after)) return;
  const message = 'the stop reported success, but the runtime still runs something of the pod';
  throw new StateletError('Internal', message);
}

async function cleanUpPod(deps: Deps, context: PodContext, signal: AbortSignal): Promise<PodEvent> {
  const { pleg, statusManager, node, probes } = deps;
  const { pod } = context;
  probes.removePod(context.uid);
  const found = await pleg.current(referenceOf(context), { signal });
  // A start that timed out may be carried out after the pod has been stopped (I3).
  if (isRunning(found)) await endAll(deps, context, withKnown(deps, pod, found), signal);
  if (pod && !statusManager.isFinal(context.uid)) {
    await recallStart(deps, pod);
    const podStatus = await pleg.current(pod.metadata, { signal });
    const facts = statusFacts(deps, context, pod, podStatus);
    statusManager.set(pod, generateAPIPodStatus({ ...facts, podIsTerminal: true }));
  }
  await node.release(context.uid);
  // From now on the API server may forget the pod.
  if (pod) statusManager.terminate(pod);
  // Waits until its end is on the disk, or the write has failed: the next agent must not start a pod of a manifest again that has ended.
  if (pod && isLocalPod(pod)) await deps.ended.kept();
  return { type: 'CLEANUP_DONE', ...(pod && endOf(deps, context)) };
}

/** `actuated`: undefined where the pod has all of its allocated resources. */
function resizeProgress(
  { node, resizes }: Deps,
  pod: Pod,
  podStatus: RuntimePodStatus,
  actuated: PodAllocation | undefined,
): void {
  if (node.resizer === undefined) return;
  resizes.progress(pod, actuated !== undefined && isResizeInProgress(pod, podStatus, actuated));
}

function runToItsEnd(deps: Deps, context: PodContext): PodEvent {
  return { type: 'SYNC_DONE', terminal: true, again: false, ...endOf(deps, context) };
}

function endOf({ statusManager }: Deps, { uid }: PodContext): { readonly status?: EndStatus } {
  const status = statusManager.get(uid);
  return status === undefined ? {} : { status: endStatus(status) };
}

/** The pod's age and its deadline count from its first start on this node, also where an earlier agent started it. */
async function recallStart(deps: Deps, pod: Pod): Promise<void> {
  const { node, statusManager, clock } = deps;
  const { uid } = pod.metadata;
  if (knowsStart(deps, pod)) return;
  statusManager.recallStart(pod, await node.startTime(uid, rfc3339(clock.now())));
}

/** Whether an earlier status of the pod, or that of the API server, has its start time. */
function knowsStart({ statusManager }: Deps, { metadata, status }: Pod): boolean {
  return (statusManager.get(metadata.uid) ?? status)?.startTime !== undefined;
}

/** From the last read of the pod. */
function refreshStatus(deps: Deps, context: PodContext): void {
  const seen = deps.pleg.lastSeen(context.uid);
  if (context.pod && seen) report(deps, context, withKnown(deps, context.pod, seen));
}

/** Prepares the folders, the volumes and the cgroup of the pod: nothing is started before. */
async function prepare(
  deps: Deps,
  context: PodContext,
  before: RuntimePodStatus,
  actuated: PodAllocation | undefined,
  signal: AbortSignal,
): Promise<PodEvent | undefined> {
  const { node, recorder, statusManager, clock } = deps;
  const { uid, lastOutcome } = context;
  // The cgroup of the pod has what was actuated, until the resize changes it.
  const pod = podAsAllocated(podOf(context), actuated);
  try {
    // The disk may have been full when the start was to be recorded.
    await node.startTime(uid, statusManager.get(uid)?.startTime ?? rfc3339(clock.now()));
    await node.prepare(pod, signal, actuated !== undefined);
    return undefined;
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof PrepareError)) throw error;
    if (error.rejection !== undefined) return reject(deps, context, before, error.rejection);
    if (!error.hasEvent) recorder.event(pod.metadata, 'Warning', error.reason, error.message);
    const isMount = error.reason === 'FailedMount';
    const reason: ResyncReason = isMount ? notMounted(lastOutcome, error.message) : { kind: 'failed' };
    return { type: 'SYNC_FAILED', reason, again: false };
  }
}

/** The pod fails, as if it had not been admitted. What runs of it is ended. */
function reject(
  deps: Deps,
  context: PodContext,
  podStatus: RuntimePodStatus,
  rejection: Rejection,
): PodEvent {
  const { recorder, measurements, statusManager } = deps;
  const pod = podOf(context);
  const { reason, message } = rejection;
  recorder.event(pod.metadata, 'Warning', reason, message);
  measurements?.turnover.rejected(reason);
  const facts = statusFacts(deps, context, pod, podStatus);
  statusManager.set(pod, generateAPIPodStatus({ ...facts, override: rejectedAs(rejection) }));
  return runToItsEnd(deps, context);
}

/** While an effect is in flight, only the effect reads the pod. */
async function readingAlone(
  deps: Deps,
  context: PodContext,
  signal: AbortSignal,
  effect: (deps: Deps, context: PodContext, signal: AbortSignal) => Promise<PodEvent>,
): Promise<PodEvent> {
  const { pleg, runtime } = deps;
  pleg.hold(referenceOf(context));
  try {
    return await effect(deps, context, signal);
  } catch (error) {
    if (signal.aborted) pleg.doubt(context.uid);
    if (NOT_ANSWERED.has(errorKind(error))) runtime.check();
    throw error;
  } finally {
    pleg.release(context.uid);
  }
}

/** Reads what an earlier agent has remembered only where containers run that it may concern. */
function withKnown({ node }: Deps, pod: Pod | undefined, podStatus: RuntimePodStatus): RuntimePodStatus {
  const { uid, containers } = podStatus;
  const isProbed = pod !== undefined && isManifestPod(pod) && hasProbedContainers(pod);
  if (containers.some((one) => recordsHook(one) || (isProbed && one.state === 'running')))
    node.recallContainers(uid);
  return withRemembered(podStatus, (id) => node.knownContainer(uid, id));
}

/** Computes and keeps the status of the pod as the runtime shows it. */
function report(deps: Deps, context: PodContext, podStatus: RuntimePodStatus): { ended: boolean } {
  const pod = podOf(context);
  if (deps.statusManager.isFinal(context.uid)) return { ended: true };
  deps.containerExitLog.read(pod.metadata, podStatus);
  const status = generateAPIPodStatus(statusFacts(deps, context, pod, podStatus));
  deps.statusManager.set(pod, status);
  deps.probes.rememberResults(pod, status);
  deps.probes.podStatusChanged(context.uid);
  return { ended: hasRunToItsEnd(status) };
}

function decide(
  { statusManager, probes, node }: Deps,
  pod: Pod,
  podStatus: RuntimePodStatus,
  actuated: PodAllocation | undefined,
): PodActions {
  const { uid } = pod.metadata;
  const { liveness, startup } = probes.results(uid);
  return computePodActions({
    pod,
    podStatus,
    liveness,
    startup,
    resize: node.resizer && actuated && computeResizeActions(pod, podStatus, actuated),
    specChanged,
    restartAllContainers: shouldAllContainersRestart(pod, podStatus, statusManager.get(uid)),
  });
}

function specChanged(container: Container, { hash }: RuntimeContainerStatus): boolean {
  return hash !== undefined && hash !== containerHash(container);
}

function podOf({ pod, fullName }: PodContext): Pod {
  if (pod === undefined) throw new StateletError('Internal', `${fullName}: only the runtime knows this pod`);
  return pod;
}
