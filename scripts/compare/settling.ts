/** Says when pods have come to rest, by their statuses. Pure. */
import type { Pod } from '../../src/types/kubernetes.ts';
import { normalise } from './normalise.ts';

/** A status that has to stand so long before it counts as the last. */
const QUIET_MS = 6_000;
/** As long as what looks as if it was about to change does not. */
const STUCK_MS = 20_000;

interface Seen {
  readonly pod: Pod;
  readonly text: string;
  readonly sinceMs: number;
  readonly rests: boolean;
}

export class Settling {
  readonly #now = new Map<string, Seen>();
  readonly #rested = new Map<string, Seen>();

  /** Takes the pods as they are served at a time, in milliseconds. */
  see(pods: readonly Pod[], nowMs: number): void {
    for (const pod of pods) {
      const name = fullName(pod);
      const seen = { pod, text: JSON.stringify(normalise(pod.status ?? {}, [])), rests: isAtRest(pod) };
      keep(this.#now, name, { ...seen, sinceMs: nowMs });
      // One that comes and goes is at rest while it has to wait for its next start.
      const before = this.#rested.get(name);
      if (seen.rests && (isBackingOff(pod) || !isBackingOff(before?.pod)))
        keep(this.#rested, name, { ...seen, sinceMs: nowMs });
    }
  }

  /** The pods, by full name, that have not come to rest. */
  unsettled(nowMs: number): readonly string[] {
    return [...this.#now].flatMap(([name, seen]) => {
      const rested = this.#rested.get(name);
      const settled = rested !== undefined && nowMs - rested.sinceMs >= QUIET_MS;
      return settled || nowMs - seen.sinceMs >= STUCK_MS ? [] : [name];
    });
  }

  /** Each pod as it was when it was last at rest, else as it is, by full name. */
  pods(): ReadonlyMap<string, Pod> {
    return new Map([...this.#now].map(([name, { pod }]) => [name, this.#rested.get(name)?.pod ?? pod]));
  }
}

export const fullName = ({ metadata }: Pod): string => `${metadata.namespace}/${metadata.name}`;

function keep(all: Map<string, Seen>, name: string, seen: Seen): void {
  if (all.get(name)?.text !== seen.text) all.set(name, seen);
}

function containers({ status }: Pod) {
  return [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
}

const BACK_OFFS = ['CrashLoopBackOff', 'ImagePullBackOff'];

const isBackingOff = (pod: Pod | undefined): boolean =>
  pod !== undefined && containers(pod).some(({ state }) => BACK_OFFS.includes(state?.waiting?.reason ?? ''));

function isAtRest(pod: Pod): boolean {
  const phase = pod.status?.phase;
  if (phase === 'Succeeded' || phase === 'Failed') return true;
  const policies = new Map(pod.spec.containers.map(({ name, restartPolicy }) => [name, restartPolicy]));
  const restarts = (name: string) => (policies.get(name) ?? pod.spec.restartPolicy) === 'Always';
  const regular = pod.status?.containerStatuses ?? [];
  const others = pod.status?.initContainerStatuses ?? [];
  if (isBackingOff(pod)) return true;
  return (
    regular.length === pod.spec.containers.length &&
    regular.every(({ name, state }) =>
      state?.terminated ? !restarts(name) : state?.waiting === undefined,
    ) &&
    others.every(({ state }) => state?.waiting === undefined)
  );
}
