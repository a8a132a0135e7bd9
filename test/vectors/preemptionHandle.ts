import { lastingFailures } from '../../src/agent/policies/admission/admit-pod.ts';
import { missingResources } from '../../src/agent/policies/admission/rejection.ts';
import { preemptionError, PREEMPTION_KILL } from '../../src/agent/policies/preemption/preemption-message.ts';
import { selectVictims } from '../../src/agent/policies/preemption/victims.ts';
import type { Pod } from '../../src/types/kubernetes.ts';
import { failureAsJson, failureFrom, type FailureJson } from '../support/admission-json.ts';
import type { VectorAdapter } from '../support/vectors.ts';

interface Input {
  readonly preemptor: Pod;
  readonly pods: readonly Pod[];
  readonly failureReasons: readonly FailureJson[];
}

export const adapter: VectorAdapter = {
  adapt({ preemptor, pods, failureReasons }: Input) {
    const failures = failureReasons.map(failureFrom);
    const lasting = lastingFailures(preemptor, failures);
    if (lasting.length > 0) return outcome({ reasons: lasting.map(failureAsJson) });
    const missing = missingResources(failures);
    const decision = selectVictims({ preemptor, pods, missing, lowerPriorityFirst: false });
    return outcome({
      error: preemptionError(decision) ?? null,
      killed: decision.victims.map(({ candidate }) => candidate.name),
      killStatus: decision.victims.length > 0 ? killStatus() : null,
    });
  },
};

function outcome(fields: object): unknown {
  return { reasons: [], error: null, killed: [], killStatus: null, ...fields };
}

function killStatus(): unknown {
  const { evict, podStatus, podTerminationGracePeriodSecondsOverride } = PREEMPTION_KILL;
  const { phase, reason, message, conditions } = podStatus ?? {};
  return {
    phase,
    reason,
    message,
    condition: conditions?.[0],
    evicted: evict,
    gracePeriodOverride: podTerminationGracePeriodSecondsOverride ?? null,
  };
}
