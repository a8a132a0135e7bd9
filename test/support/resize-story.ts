/** The resize conditions of several pods in the stories of the golden vectors. */
import { rfc3339 } from '../../src/agent/policies/formats/time.ts';
import {
  isDeferred,
  isInfeasible,
  listedConditions,
  type ResizeConditions,
  withInProgress,
  withoutInProgress,
  withoutPending,
  withPending,
  withWritten,
} from '../../src/agent/policies/resize/resize-conditions.ts';
import { servedPodStatus } from '../../src/agent/policies/cluster/served-pod-status.ts';
import type { Pod } from '../../src/types/kubernetes.ts';

export type ResizeStep =
  | { readonly op: 'advance'; readonly seconds: number }
  | {
      readonly op: 'setPending' | 'setInProgress';
      readonly uid: string;
      readonly reason: string;
      readonly message: string;
      readonly observedGeneration: number;
    }
  | { readonly op: 'clearPending' | 'clearInProgress'; readonly uid: string }
  | { readonly op: 'backfill'; readonly uid: string; readonly pods: readonly Pod[] };

export class ResizeStory {
  readonly #pods = new Map<string, ResizeConditions>();
  /** Unix seconds. */
  #now: number;

  constructor(now: number) {
    this.#now = now;
  }

  run(steps: readonly ResizeStep[]): unknown[] {
    return steps.map((step) => this.#step(step));
  }

  #step(step: ResizeStep): unknown {
    if (step.op === 'advance') {
      this.#now += step.seconds;
      return {};
    }
    const { uid } = step;
    const now = rfc3339(this.#now * 1000);
    const former = this.#of(uid);
    switch (step.op) {
      case 'setPending': {
        const { conditions, changed } = withPending(former, step, now);
        return { changed, ...this.#shown(uid, conditions) };
      }
      case 'setInProgress': {
        const { conditions, changed } = withInProgress(former, step, now);
        const { observedGeneration = 0 } = conditions.inProgress ?? {};
        return { changed, ...this.#shown(uid, conditions), observedGeneration };
      }
      case 'clearPending':
        return this.#shown(uid, withoutPending(former));
      case 'clearInProgress': {
        const { observedGeneration = 0 } = former.inProgress ?? {};
        const cleared = former.inProgress !== undefined;
        return { cleared, ...this.#shown(uid, withoutInProgress(former)), observedGeneration };
      }
      case 'backfill':
        for (const { metadata, status } of step.pods) {
          this.#pods.set(metadata.uid, withWritten(this.#of(metadata.uid), status?.conditions, now));
        }
        return this.#shown(uid, this.#of(uid));
    }
  }

  #of(uid: string): ResizeConditions {
    return this.#pods.get(uid) ?? {};
  }

  #shown(uid: string, resize: ResizeConditions) {
    this.#pods.set(uid, resize);
    const { conditions = [] } = servedPodStatus({ conditions: listedConditions(resize) });
    return { conditions, deferred: isDeferred(resize), infeasible: isInfeasible(resize) };
  }
}
