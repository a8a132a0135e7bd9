import {
  admissionFailures,
  admitPod,
  platformRejection,
} from '../../src/agent/policies/admission/admit-pod.ts';
import {
  type AdmissionFailure,
  rejectionFor,
  unexpectedAdmissionError,
} from '../../src/agent/policies/admission/rejection.ts';
import { usedBy } from '../../src/agent/policies/admission/used-resources.ts';
import { preemptionError } from '../../src/agent/policies/preemption/preemption-message.ts';
import { selectVictims } from '../../src/agent/policies/preemption/victims.ts';
import type { Pod, Taint } from '../../src/types/kubernetes.ts';
import type { NodeFacts } from '../../src/types/node-facts.ts';
import { failureAsJson } from '../support/admission-json.ts';
import type { VectorAdapter } from '../support/vectors.ts';

type Texts = Readonly<Record<string, string>>;

interface Node {
  readonly metadata: { readonly name: string; readonly labels?: Texts };
  readonly spec?: { readonly taints?: readonly Taint[] };
  readonly status: {
    readonly allocatable?: Texts;
    readonly features?: { readonly supplementalGroupsPolicy?: boolean };
  };
}

interface Input {
  readonly node: Node;
  readonly otherPods: readonly Pod[];
  readonly pod: Pod;
}

export const adapter: VectorAdapter = {
  adapt({ node, otherPods, pod }: Input) {
    const facts = factsOf(node);
    const failures = platformRejection(facts, pod) ? [] : admissionFailures(facts, pod, usedBy(otherPods));
    return {
      filterReasons: failures.map(withAmount),
      withoutPreemption: withoutPreemption(facts, pod, failures),
      withPreemption: withPreemption(facts, pod, otherPods),
    };
  },
};

function factsOf({ metadata, spec, status }: Node): NodeFacts {
  return {
    name: metadata.name,
    labels: metadata.labels ?? {},
    taints: spec?.taints ?? [],
    os: 'linux',
    arch: 'amd64',
    conditions: [],
    capacity: status.allocatable ?? {},
    allocatable: status.allocatable ?? {},
    supplementalGroupsPolicy: status.features?.supplementalGroupsPolicy ?? false,
  };
}

function withAmount(failure: AdmissionFailure): unknown {
  const json = failureAsJson(failure);
  if (!('insufficient' in json)) return json;
  const { requested, used, capacity } = json.insufficient;
  return { insufficient: { ...json.insufficient, amount: requested - (capacity - used) } };
}

/** The answer of a kubelet without preemption. */
function withoutPreemption(facts: NodeFacts, pod: Pod, [first]: readonly AdmissionFailure[]): unknown {
  const rejection = platformRejection(facts, pod) ?? (first && rejectionFor(first));
  return { admit: rejection === undefined, reason: '', message: '', ...rejection };
}

function withPreemption(facts: NodeFacts, preemptor: Pod, pods: readonly Pod[]): unknown {
  const admitted = { admit: true, reason: '', message: '', killed: [] };
  const admission = admitPod(facts, preemptor, usedBy(pods));
  if (admission.kind === 'admitted') return admitted;
  const { reason, message } = admission;
  if (admission.kind === 'rejected') return { admit: false, reason, message, killed: [] };
  const { missing } = admission;
  const decision = selectVictims({ preemptor, pods, missing, lowerPriorityFirst: false });
  const error = preemptionError(decision);
  if (error !== undefined) return { admit: false, ...unexpectedAdmissionError(error), killed: [] };
  return { ...admitted, killed: decision.victims.map(({ candidate }) => candidate.name) };
}
