/** Decides which pods may run. Each is admitted beside the pods that were admitted before it. */
import { admitPod, admitRunningPod } from '../../agent/policies/admission/admit-pod.ts';
import { type Rejection, unexpectedAdmissionError } from '../../agent/policies/admission/rejection.ts';
import { usedBy } from '../../agent/policies/admission/used-resources.ts';
import { podFullName } from '../../agent/policies/pod/pod-kinds.ts';
import { errorMessage } from '../../types/errors.ts';
import type { Pod } from '../../types/kubernetes.ts';
import type { NodeFacts } from '../../types/node-facts.ts';

export interface RejectedPod {
  readonly pod: Pod;
  readonly rejection: Rejection;
}

export interface Admissions {
  readonly admitted: readonly Pod[];
  readonly rejected: readonly RejectedPod[];
}

export interface AdmissionView {
  readonly facts: NodeFacts;
  /** Why this node cannot run the pod at all; undefined when it can. */
  readonly admit: (pod: Pod) => Rejection | undefined | Promise<Rejection | undefined>;
  /** A container of the pod runs already: the pod keeps its resources, and is admitted before the pods that do not run. */
  readonly runs: (pod: Pod) => boolean;
}

export async function admitInTurn(pods: readonly Pod[], view: AdmissionView): Promise<Admissions> {
  const admitted: Pod[] = [];
  const rejected: RejectedPod[] = [];
  const inTurn = [...pods.filter(view.runs), ...pods.filter((pod) => !view.runs(pod))];
  for (const pod of inTurn) {
    const rejection =
      nameConflict(pod, admitted) ?? (await view.admit(pod)) ?? unfitness(pod, admitted, view);
    if (rejection) rejected.push({ pod, rejection });
    else admitted.push(pod);
  }
  return { admitted, rejected };
}

/** Two sources may have a pod of one name. Only one pod of a name runs at a time (I6), and the first is not ended for the second. */
function nameConflict(pod: Pod, others: readonly Pod[]): Rejection | undefined {
  const { name, namespace, uid } = pod.metadata;
  const isTaken = others.some(
    (other) => podFullName(other) === podFullName(pod) || other.metadata.uid === uid,
  );
  if (!isTaken) return undefined;
  const message = `pod "${name}" in namespace "${namespace}" (${uid}) has the name or the UID of a pod of another source`;
  return { reason: 'NameConflict', message };
}

/** A pod that does not fit is rejected. No other pod is preempted for it: the sources want all of them. */
function unfitness(pod: Pod, others: readonly Pod[], { facts, runs }: AdmissionView): Rejection | undefined {
  try {
    if (runs(pod)) return admitRunningPod(facts, pod);
    const admission = admitPod(facts, pod, usedBy(others));
    if (admission.kind === 'admitted') return undefined;
    const { reason, message } = admission;
    return { reason, message };
  } catch (error) {
    return unexpectedAdmissionError(errorMessage(error));
  }
}
