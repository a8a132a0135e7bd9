/** Checks a node after the last fault: each pod must reach the state that is wanted, and then, with no pod wanted, nothing may be left. */
import { whyUnresized } from './resize-judge.ts';
import { stateName } from '../../agent/actors/transitions.ts';
import { isEnding } from '../../agent/policies/termination/pod-termination.ts';
import type { Node, Pod } from '../../types/kubernetes.ts';
import type { AgentRun } from '../node/agent-run.ts';
import type { Host } from '../node/host.ts';
import { endsForGood, goesOnForever } from '../plan/pod-specs.ts';
import { podsIn } from './devices-judge.ts';
import { lackedObject, needlessWatch, outdatedVolume } from './contents/content-check.ts';
import { type ApiCheckFacts, findUntold } from './api/api-check.ts';
import { localUID } from './api/pod-object-judge.ts';
import { TaintJudge } from './plugins/taint-judge.ts';
import { isBeforeStart } from './pod-states.ts';

/** Why a check fails. */
export interface Finding {
  readonly uid?: string;
  readonly name?: string;
  readonly what: string;
}

/** The first reason why the node has not settled, if any (I7). */
export function findUnsettled(host: Host): Finding | undefined {
  const { agentRun } = host;
  if (agentRun === undefined) return { what: 'there is no agent' };
  const { unansweredKills, judges } = agentRun;
  const { admission } = judges;
  if (unansweredKills > 0) return { what: `${String(unansweredKills)} kills have not been answered` };
  const preemptor = admission.unfinishedPreemption;
  if (preemptor !== undefined) return { name: preemptor, what: 'room is still being made for it' };
  const evicting = admission.evictions?.unrest;
  if (evicting !== undefined) return { what: evicting };
  const ofPlugins = admission.plugins?.unrest ?? killUnderWay(agentRun) ?? taintLeft(host);
  if (ofPlugins !== undefined) return ofPlugins;
  for (const pod of host.sources.pods) {
    const what = whyUnsettled(host, agentRun, pod);
    if (what !== undefined) return { uid: pod.metadata.uid, name: pod.metadata.name, what };
  }
  return (
    devicesFinding(host) ??
    placementFinding(host) ??
    watchFinding(host, agentRun) ??
    findUntold(apiCheckFacts(host, agentRun))
  );
}

function nodeObject({ store, nodeName }: Host['api']): Node | undefined {
  return store.get('nodes', { name: nodeName });
}

function taintLeft({ api }: Host): Finding | undefined {
  const taint = TaintJudge.leftOn(nodeObject(api));
  return taint === undefined ? undefined : { what: `the taint ${taint} of a plugin's condition is left` };
}

function killUnderWay({ agent }: AgentRun): Finding | undefined {
  const [kill] = agent.plugins?.view().kills ?? [];
  return kill && { uid: kill.uid, what: `is being killed for ${kill.plugin}, in ${kill.state}` };
}

function watchFinding({ sources }: Host, { client }: AgentRun): Finding | undefined {
  const what = needlessWatch(client.watched, sources.pods);
  return what === undefined ? undefined : { what };
}

function devicesFinding({ equipment, api }: Host): Finding | undefined {
  const what = equipment.devices?.judge.untruthOfNode(nodeObject(api)?.status ?? {});
  return what === undefined ? undefined : { what };
}

function placementFinding(host: Host): Finding | undefined {
  const { equipment, sources, runtime } = host;
  const { placement } = equipment;
  const what = placement?.judge.intruder();
  if (what !== undefined) return { what };
  const isGone = (uid: string) =>
    !runtime.uids().includes(uid) && sources.pods.every(({ metadata }) => metadata.uid !== uid);
  const kept = placement?.judge.keptFor().find(isGone);
  return kept === undefined
    ? undefined
    : finding(host, kept, 'CPUs or memory are kept for it, and it is gone');
}

function apiCheckFacts({ api, sources, apiJudge }: Host, { agent, judges }: AgentRun): ApiCheckFacts {
  return {
    node: nodeObject(api),
    pods: sources.objects,
    staticPods: sources.staticPods,
    isStarted: (uid) => isStarted(agent, uid),
    hasStarted: (uid) => judges.lifecycle.hasStarted(uid),
    isDeletedByHand: (uid) => sources.mustStayDeleted(uid),
    statusOf: (uid) => agent.statusManager.get(uid),
    hasEnded: (uid) => agent.supervisor.registry.isPodKnownTerminated(uid),
    leaseOverdueMs: apiJudge.lease.overdueMs,
  };
}

/** The first thing that is left on the node, although no pod is wanted on it (I10). */
export function findLeftover(host: Host): Finding | undefined {
  const { agentRun, runtime, disk } = host;
  const [held] = runtime.uids();
  if (held !== undefined)
    return finding(host, held, 'the runtime still has a sandbox of it, though no pod is wanted');
  const [kept] = disk.keys();
  if (kept !== undefined) return finding(host, kept, 'its folder is left, though no pod is wanted');
  const [entry] = agentRun?.agent.supervisor.registry.entries() ?? [];
  if (entry !== undefined) {
    const state = stateName(entry.actor.getSnapshot().value);
    return finding(host, entry.pod.uid, `its actor is left, in ${state}, though no pod is wanted`);
  }
  const [entryOf] = podsIn(host.equipment.devices?.folder.checkpoint);
  if (entryOf !== undefined)
    return finding(host, entryOf, 'the checkpoint has devices for it, though no pod is wanted');
  const [keptFor] = host.equipment.placement?.judge.keptFor() ?? [];
  if (keptFor !== undefined)
    return finding(host, keptFor, 'CPUs or memory are kept for it, though no pod is wanted');
  const ofDrivers = leftOfDrivers(host);
  if (ofDrivers !== undefined) return { what: `${ofDrivers}, though no pod is wanted` };
  const [object] = host.sources.objects;
  if (object !== undefined)
    return finding(host, localUID(object), 'its object is left, though no pod is wanted');
  return agentRun && watchFinding(host, agentRun);
}

function leftOfDrivers({ equipment, api }: Host): string | undefined {
  const { csi, dra } = equipment.drivers ?? {};
  const [inUse] = (csi && nodeObject(api)?.status?.volumesInUse) ?? [];
  return (
    csi?.judge.leftover ??
    (inUse === undefined ? undefined : `${inUse} is still said to be in use`) ??
    (csi?.controller.leftover && `${csi.controller.leftover} is still attached`) ??
    dra?.judge.leftover
  );
}

function isStarted({ supervisor }: AgentRun['agent'], uid: string): boolean {
  const entry = supervisor.registry.get(uid);
  const state = entry === undefined ? '' : stateName(entry.actor.getSnapshot().value);
  return state.startsWith('Syncing') && !isBeforeStart(state);
}

function finding(host: Host, uid: string, what: string): Finding {
  const name = host.nameOf(uid);
  return { uid, what, name };
}

function whyUnsettled(host: Host, run: AgentRun, pod: Pod): string | undefined {
  const { uid } = pod.metadata;
  const entry = run.agent.supervisor.registry.get(uid);
  if (entry === undefined) return 'wanted, and without an actor';
  const snapshot = entry.actor.getSnapshot();
  const state = stateName(snapshot.value);
  if (host.sources.mustStayDeleted(uid))
    return state === 'Terminated.Finished' ? undefined : `was deleted by hand, and is in ${state}`;
  if (state === 'Terminated.Finished') {
    return host.hadReasonToEnd(uid) || mayBeFinished(host, run, pod)
      ? undefined
      : 'finished, though its end was not asked for';
  }
  if (isEnding(pod)) return `is to end, and is in ${state}`;
  if (isBeforeStart(state)) return whyWaiting(run, uid);
  const outdated = outdatedVolume(host, pod);
  if (outdated !== undefined) return outdated;
  if (lackedObject(host, pod) !== undefined)
    return state.startsWith('Syncing') ? undefined : `lacks what it needs, and is in ${state}`;
  if (lacksDevices(host, run, pod))
    return state.startsWith('Syncing') ? undefined : `lacks devices, and is in ${state}`;
  if (endsForGood(pod) && !isStranded(host, uid)) return `should have run to its end, and is in ${state}`;
  if (!goesOnForever(pod)) return state.startsWith('Syncing') ? undefined : `in ${state}, and stays there`;
  if (state !== 'Syncing.Settled') return `in ${state}, and does not settle`;
  const stopped = pod.spec.containers.find(({ name }) => !isRunning(host, uid, name));
  if (stopped !== undefined) return `settled, and its container ${stopped.name} does not run`;
  const untruth = host.equipment.devices?.judge.untruth(run.agent.statusManager.get(uid));
  if (untruth !== undefined) return untruth;
  return whyUnresized(
    pod,
    run.agent.statusManager.get(uid),
    (name) => runningContainer(host, uid, name)?.resources,
    () => !hasNoExecute(host.api) && run.judges.admission.hasRoomFor(pod),
  );
}

/** As with the kubelet, a pod that was admitted while its node did not know the resource waits for devices that others have. */
function lacksDevices({ equipment, sources }: Host, { agent }: AgentRun, pod: Pod): boolean {
  const { containerStatuses = [], initContainerStatuses = [] } =
    agent.statusManager.get(pod.metadata.uid) ?? {};
  const isWaiting = [...initContainerStatuses, ...containerStatuses].some(
    (one) => one.state?.waiting?.reason === 'CreateContainerConfigError',
  );
  if (!isWaiting) return false;
  const others = sources.pods.filter(
    ({ metadata: { uid } }) => uid !== pod.metadata.uid && isStarted(agent, uid),
  );
  return (equipment.devices?.judge.lacking(pod, others) ?? []).length > 0;
}

/** With such a taint the node grants no resize, as with the kubelet. It need not be a plugin's. */
function hasNoExecute(api: Host['api']): boolean {
  const taints = nodeObject(api)?.spec?.taints ?? [];
  return taints.some(({ effect }) => effect === 'NoExecute');
}

/** A static pod that does not fit may wait, and its status says for what. */
function whyWaiting({ judges, agent }: AgentRun, uid: string): string | undefined {
  const { phase, reason } = agent.statusManager.get(uid) ?? {};
  if (phase !== 'Pending' || reason === undefined) return 'waits for its start, and does not say for what';
  return judges.admission.needlessWait(uid);
}

function mayBeFinished({ sources }: Host, { judges }: AgentRun, pod: Pod): boolean {
  const { uid } = pod.metadata;
  if (sources.wasDeletedByHand(uid)) return true;
  return judges.hasReasonToEnd(uid) || isEnding(pod) || !goesOnForever(pod);
}

/**
 * All sandboxes have died after their first containers were made. A pod whose containers may not run again stays like this,
 * as with the kubelet.
 */
function isStranded({ runtime }: Host, uid: string): boolean {
  const sandboxes = runtime.sandboxesOf(uid);
  return sandboxes.every(({ ready }) => !ready) && sandboxes.some(({ containers }) => containers.length > 0);
}

function isRunning(host: Host, uid: string, name: string): boolean {
  return runningContainer(host, uid, name) !== undefined;
}

function runningContainer({ runtime }: Host, uid: string, name: string) {
  return [...runtime.sandboxesOf(uid)]
    .flatMap(({ containers }) => [...containers])
    .find(({ metadata, state }) => metadata.name === name && state === 'CONTAINER_RUNNING');
}
