/** What a node must come to once nothing goes wrong any more: pods as they are wanted, then, when none is wanted, nothing. */
import { isEnding } from '../../policies/sync/pod-termination.ts';
import type { Pod } from '../../types/kubernetes.ts';
import type { Host } from '../node/host.ts';
import { AWAITING_START, stateName } from './pod-states.ts';
import { endsForGood, goesOnForever } from '../plan/pod-specs.ts';
import type { Life } from '../node/life.ts';

export interface Complaint {
  readonly uid?: string;
  readonly name?: string;
  readonly what: string;
}

/** Why the node is not yet at rest, if so (I7). */
export function unrest(host: Host): Complaint | undefined {
  const { life } = host;
  if (life === undefined) return { what: 'there is no agent' };
  if (life.unanswered > 0) return { what: `${String(life.unanswered)} kills have not been answered` };
  const unsettled = life.admission.unfinishedPreemption;
  if (unsettled !== undefined) return { name: unsettled, what: 'room is still being made for it' };
  const evicting = life.admission.evictions?.unrest;
  if (evicting !== undefined) return { what: evicting };
  for (const pod of host.sources.pods) {
    const what = unrestOf(host, life, pod);
    if (what !== undefined) return { uid: pod.metadata.uid, name: pod.metadata.name, what };
  }
  return undefined;
}

/** What is left on the node though no pod is wanted on it, if anything (I10). */
export function leftovers(host: Host): Complaint | undefined {
  const { life, runtime, disk } = host;
  const nameOf = (uid: string) => host.nameOf(uid);
  const [held] = runtime.uids();
  if (held !== undefined)
    return complaint(nameOf, held, 'the runtime still has a sandbox of it, though no pod is wanted');
  const [kept] = disk.keys();
  if (kept !== undefined) return complaint(nameOf, kept, 'its folder is left, though no pod is wanted');
  const [entry] = life?.agent.supervisor.registry.entries() ?? [];
  if (entry !== undefined) {
    const state = stateName(entry.actor.getSnapshot());
    return complaint(nameOf, entry.pod.uid, `its actor is left, in ${state}, though no pod is wanted`);
  }
  return undefined;
}

function complaint(nameOf: (uid: string) => string | undefined, uid: string, what: string): Complaint {
  const name = nameOf(uid);
  return { uid, what, ...(name !== undefined && { name }) };
}

function unrestOf(host: Host, life: Life, pod: Pod): string | undefined {
  const { uid } = pod.metadata;
  const entry = life.agent.supervisor.registry.get(uid);
  if (entry === undefined) return 'wanted, and without an actor';
  const snapshot = entry.actor.getSnapshot();
  const state = stateName(snapshot);
  if (state === 'Terminated.Finished') {
    return mayBeFinished(life, pod) ? undefined : 'finished, though nobody asked for its end';
  }
  if (isEnding(pod)) return `is to end, and is in ${state}`;
  if (state === AWAITING_START) return unrestOfWaiting(life, uid);
  if (endsForGood(pod) && !isStranded(host, uid)) return `is to run to its end, and is in ${state}`;
  if (!goesOnForever(pod)) return state.startsWith('Syncing') ? undefined : `in ${state}, and stays there`;
  if (state !== 'Syncing.Settled') return `in ${state}, and does not settle`;
  const idle = pod.spec.containers.find(({ name }) => !isRunning(host, uid, name));
  return idle && `settled, and its container ${idle.name} does not run`;
}

/** A static pod that does not fit waits, and its status says for what. */
function unrestOfWaiting({ admission, agent }: Life, uid: string): string | undefined {
  const { phase, reason } = agent.statusManager.get(uid) ?? {};
  if (phase !== 'Pending' || reason === undefined) return 'waits for its start, and does not say for what';
  return admission.needlessWait(uid);
}

function mayBeFinished({ killed, admission }: Life, pod: Pod): boolean {
  const { uid } = pod.metadata;
  return killed.has(uid) || admission.hasReasonToEnd(uid) || isEnding(pod) || !goesOnForever(pod);
}

/** Its sandbox has died with its first containers made: where nothing may run again, it stays as it is, like with the kubelet. */
function isStranded({ runtime }: Host, uid: string): boolean {
  const sandboxes = runtime.sandboxesOf(uid);
  return sandboxes.every(({ ready }) => !ready) && sandboxes.some(({ containers }) => containers.length > 0);
}

function isRunning({ runtime }: Host, uid: string, name: string): boolean {
  for (const { containers } of runtime.sandboxesOf(uid)) {
    if (containers.some(({ metadata, state }) => metadata.name === name && state === 'CONTAINER_RUNNING'))
      return true;
  }
  return false;
}
