import type { EvictionEvent } from '../../machines/eviction-machine.ts';
import { EVICTED } from '../../policies/eviction/eviction-message.ts';
import type { Eviction } from '../../policies/eviction/pass.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import type { Pod } from '../../../types/kubernetes.ts';
import type { PodEntry, PodRegistry, PodSnapshot } from '../pods/pod-registry.ts';
import { KillTimeouts, endPatienceMs } from '../start/kill-timeouts.ts';

/** Eviction does not wait for a pod that may take longer than this to end: it can be evicted, with a shorter grace period. */
const NEAR_END_SECONDS = 60;

export interface EvictionPodsParts {
  readonly registry: PodRegistry;
  /** To the eviction actor. */
  readonly send: (event: EvictionEvent) => void;
}

/** The pods of the node as eviction sees them: those that run, those that end anyway, and how long evicted pods may take. */
export class EvictionPods {
  readonly #context: AgentContext;
  readonly #parts: EvictionPodsParts;
  readonly #limits: KillTimeouts;
  /** Since when pods have been seen to be ending, by UID. */
  readonly #endingSince = new Map<string, number>();
  #lastEndMs: number | undefined;

  constructor(context: AgentContext, parts: EvictionPodsParts) {
    this.#context = context;
    this.#parts = parts;
    this.#limits = new KillTimeouts(context.clock);
  }

  get lastEndMs(): number | undefined {
    return this.#lastEndMs;
  }

  stop(): void {
    this.#limits.clear();
  }

  /** Those that may have running containers. */
  running(): readonly Pod[] {
    return this.#entries((snapshot) => snapshot.hasTag('couldHaveRunningContainers')).flatMap(
      ({ actor }) => actor.getSnapshot().context.pod ?? [],
    );
  }

  /** `unendable`: UIDs of evicted pods that did not end in time. */
  ends(unendable: readonly string[]) {
    return { ending: this.#ending(), unendable: new Set(unendable) };
  }

  end({ pod, kill, message, gracePeriodSeconds, signal }: Eviction): void {
    const { recorder, measurements } = this.#context;
    const { registry, send } = this.#parts;
    measurements?.evicted(signal);
    recorder.event(pod, 'Warning', EVICTED, message);
    const onOver = (problem: string) => send({ type: 'POD_FAILED', uid: pod.uid, problem });
    this.#limits.set(pod.uid, gracePeriodSeconds, onOver);
    const isKnown = registry.kill(pod.uid, kill);
    if (!isKnown || registry.isPodKnownTerminated(pod.uid)) this.terminated(pod.uid);
  }

  /** None of the pod's containers runs any more. */
  terminated(uid: string): void {
    this.#endingSince.delete(uid);
    if (this.#limits.lift(uid)) this.#lastEndMs = this.#context.clock.now();
    this.#parts.send({ type: 'POD_ENDED', uid });
  }

  /** What these pods had on this node has been released. */
  areReleased(uids: readonly string[]): boolean {
    return uids.every((uid) => this.#parts.registry.get(uid)?.actor.getSnapshot().hasTag('finished') ?? true);
  }

  /** UIDs of pods that will have ended soon. A pod that has been ending for too long is not among them. */
  #ending(): ReadonlySet<string> {
    const nowMs = this.#context.clock.now();
    const known = new Map(this.#endingSince);
    this.#endingSince.clear();
    const near = this.#entries(isEnding).filter(({ pod: { uid }, actor }) => {
      const { gracePeriodSeconds = 0 } = actor.getSnapshot().context;
      const sinceMs = known.get(uid) ?? nowMs;
      this.#endingSince.set(uid, sinceMs);
      return gracePeriodSeconds <= NEAR_END_SECONDS && nowMs - sinceMs < endPatienceMs(gracePeriodSeconds);
    });
    return new Set(near.map(({ pod }) => pod.uid));
  }

  #entries(matches: (snapshot: PodSnapshot) => boolean): readonly PodEntry[] {
    return [...this.#parts.registry.entries()].filter(({ actor }) => matches(actor.getSnapshot()));
  }
}

function isEnding(snapshot: PodSnapshot): boolean {
  return snapshot.hasTag('terminationRequested') && !snapshot.hasTag('terminated');
}
