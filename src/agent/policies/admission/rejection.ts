/** Why a pod does not fit on the node. Names and messages are the kubelet's, because tools search for them. */
import { StateletError } from '../../../types/errors.ts';

/** There is too little of a resource. Amounts of `cpu` are thousandths, all others whole units. */
export interface InsufficientResource {
  readonly kind: 'resource';
  readonly resource: string;
  readonly requested: number;
  readonly used: number;
  readonly capacity: number;
}

export interface FailedPredicate {
  readonly kind: 'predicate';
  readonly name: 'NodeAffinity' | 'NodeName' | 'NodePorts' | 'TaintToleration';
  readonly description: string;
}

export type AdmissionFailure = InsufficientResource | FailedPredicate;

/** What the status of a rejected pod says. */
export interface Rejection {
  readonly reason: string;
  readonly message: string;
  /** The node can never admit the pod, whoever ends. */
  readonly isForGood?: boolean;
}

/** How much of a resource has to be freed. Of `cpu` in thousandths, of all others in whole units. */
export interface MissingResource {
  readonly resource: string;
  readonly amount: number;
}

/** A pod that was admitted is rejected: the node turns out not to be able to run it. */
export class RejectedError extends StateletError {
  readonly rejection: Rejection;

  constructor(rejection: Rejection) {
    super('ResourceExhausted', rejection.message);
    this.rejection = rejection;
  }
}

export function rejectionFor(failure: AdmissionFailure): Rejection {
  if (failure.kind === 'predicate') {
    const { name, description } = failure;
    return { reason: name, message: `Predicate ${name} failed: ${description}` };
  }
  const { resource, requested, used, capacity } = failure;
  return {
    reason: `OutOf${resource}`,
    message: `Node didn't have enough resource: ${resource}, requested: ${requested}, used: ${used}, capacity: ${capacity}`,
  };
}

/** The reason of a pod that was rejected because admission itself failed. */
export const UNEXPECTED_ADMISSION_ERROR = 'UnexpectedAdmissionError';

/** The rejection of a pod whose admission failed with an error, or for which preemption found no victims. */
export function unexpectedAdmissionError(error: string): Rejection {
  const message = `Unexpected error while attempting to recover from admission failure: ${error}`;
  return { reason: UNEXPECTED_ADMISSION_ERROR, message };
}

const LACKS: ReadonlySet<string> = new Set([
  'NodePorts',
  UNEXPECTED_ADMISSION_ERROR,
  'SMTAlignmentError',
  'TopologyAffinityError',
]);

/** Whether a pod that was so rejected might be admitted later, when other pods have ended. */
export function mayFitLater({ reason, isForGood = false }: Rejection): boolean {
  return !isForGood && (reason.startsWith('OutOf') || LACKS.has(reason));
}

export function missingResources(failures: readonly AdmissionFailure[]): readonly MissingResource[] {
  return failures
    .filter((failure) => failure.kind === 'resource')
    .map(({ resource, requested, used, capacity }) => ({ resource, amount: requested - (capacity - used) }));
}
