import type { Pod } from '../../types/kubernetes.ts';
import type { Rejection } from '../admission/rejection.ts';

/** On a pod of the API server whose spec does not hold: why. The source sets it, and removes it from every other pod. */
export const INVALID_POD_ANNOTATION = 'statelet.dev/invalid';

/** Why a pod is rejected whose spec the source could not use; undefined for every other pod. */
export function invalidPodRejection({ metadata }: Pod): Rejection | undefined {
  const message = metadata.annotations?.[INVALID_POD_ANNOTATION];
  return message === undefined ? undefined : { reason: 'FailedValidation', message };
}
