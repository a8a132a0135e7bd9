/** Admission failures in the form of the vectors. */
import type { AdmissionFailure, FailedPredicate } from '../../src/agent/policies/admission/rejection.ts';

interface Insufficient {
  readonly resource: string;
  readonly requested: number;
  readonly used: number;
  readonly capacity: number;
}

export type FailureJson =
  | { readonly insufficient: Insufficient }
  | { readonly predicate: { readonly name: FailedPredicate['name']; readonly desc: string } };

export function failureFrom(json: FailureJson): AdmissionFailure {
  if ('insufficient' in json) return { kind: 'resource', ...json.insufficient };
  const { name, desc } = json.predicate;
  return { kind: 'predicate', name, description: desc };
}

export function failureAsJson(failure: AdmissionFailure): FailureJson {
  if (failure.kind === 'predicate') {
    const { name, description } = failure;
    return { predicate: { name, desc: description } };
  }
  const { resource, requested, used, capacity } = failure;
  return { insufficient: { resource, requested, used, capacity } };
}
