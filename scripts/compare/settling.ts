/** Decides when pods have come to rest, by their statuses. Pure. */
import {
  containerShouldRestart,
  isRestartableInitContainer,
} from '../../src/agent/policies/pod-actions/restart.ts';
import type { ContainerStatus, Pod } from '../../src/types/kubernetes.ts';
import { normalise } from './normalise.ts';

/** A pod is at rest when a status at rest has not changed for so long. */
const QUIET_MS = 8_000;
/** Any other status counts as the last one when it has not changed for so long. */
const STUCK_MS = 20_000;

/** A pod with a deadline of at most so many seconds comes to rest when the deadline has ended it. */
const DEADLINE_SECONDS_MAX = 60;

interface Seen {
  readonly pod: Pod;
  readonly text: string;
  readonly sinceMs: number;
}

export class Settling {
  /** The last status of each pod, by full name. */
  readonly #latest = new Map<string, Seen>();
  /**
   * The status at rest of each pod that has one. A pod that backs off keeps the status in which it waits for its next
   * restart, so that both agents are looked at in the same state.
   */
  readonly #rested = new Map<string, Seen>();

  /** Takes the pods as they are served at a time, in milliseconds. */
  see(pods: readonly Pod[], nowMs: number): void {
    for (const pod of pods) {
      const name = fullName(pod);
      const seen = { pod, text: JSON.stringify(normalise(pod.status ?? {}, [])), sinceMs: nowMs };
      keep(this.#latest, name, seen);
      if (isBackingOff(pod)) keep(this.#rested, name, seen);
      else if (!isBackingOff(this.#rested.get(name)?.pod)) {
        if (isAtRest(pod)) keep(this.#rested, name, seen);
        else this.#rested.delete(name);
      }
    }
  }

  /** The pods, by full name, that have not come to rest. */
  unsettled(nowMs: number): readonly string[] {
    return [...this.#latest].flatMap(([name, seen]) => {
      const rested = this.#rested.get(name);
      if (rested !== undefined) return nowMs - rested.sinceMs >= QUIET_MS ? [] : [name];
      const isStuck = nowMs - seen.sinceMs >= STUCK_MS && !willChange(seen.pod);
      return isStuck ? [] : [name];
    });
  }

  /** Each pod as it was at rest, or as it is now if it has not come to rest; by full name. */
  pods(): ReadonlyMap<string, Pod> {
    return new Map([...this.#latest].map(([name, { pod }]) => [name, this.#rested.get(name)?.pod ?? pod]));
  }
}

export const fullName = ({ metadata }: Pod): string => `${metadata.namespace}/${metadata.name}`;

/** Of statuses with the same text, the first one stays, with its time. */
function keep(all: Map<string, Seen>, name: string, seen: Seen): void {
  if (all.get(name)?.text !== seen.text) all.set(name, seen);
}

const BACK_OFFS = ['CrashLoopBackOff', 'ImagePullBackOff'];

const statusesOf = ({ status }: Pod): readonly ContainerStatus[] => [
  ...(status?.initContainerStatuses ?? []),
  ...(status?.containerStatuses ?? []),
];

const isBackingOff = (pod: Pod | undefined): boolean =>
  pod !== undefined && statusesOf(pod).some(({ state }) => BACK_OFFS.includes(state?.waiting?.reason ?? ''));

const hasEnded = ({ status }: Pod): boolean => status?.phase === 'Succeeded' || status?.phase === 'Failed';

function isAtRest(pod: Pod): boolean {
  if (hasEnded(pod)) return true;
  return (
    pod.status?.containerStatuses?.length === pod.spec.containers.length &&
    statusesOf(pod).every(({ state }) => state?.waiting === undefined) &&
    !willChange(pod)
  );
}

/** Whether the pod is about to change by itself: its deadline ends it, or a container that has ended is started again. */
function willChange(pod: Pod): boolean {
  if (hasEnded(pod)) return false;
  return (pod.spec.activeDeadlineSeconds ?? Infinity) <= DEADLINE_SECONDS_MAX || hasContainerToRestart(pod);
}

function hasContainerToRestart(pod: Pod): boolean {
  const { containers, initContainers = [] } = pod.spec;
  const completes = (name: string) =>
    initContainers.some((container) => container.name === name && !isRestartableInitContainer(container));
  return statusesOf(pod).some(({ name, state }) => {
    const container = [...initContainers, ...containers].find((candidate) => candidate.name === name);
    const exitCode = state?.terminated?.exitCode;
    if (container === undefined || exitCode === undefined || (exitCode === 0 && completes(name)))
      return false;
    return containerShouldRestart(pod, container, exitCode);
  });
}
