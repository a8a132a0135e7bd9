import { StateletError } from '../../types/errors.ts';
import type { ConfigMap, Secret } from '../../types/kubernetes.ts';
import type { ObjectReference } from '../service/api-resources.ts';

export type ConfigObject = ConfigMap | Secret;

export interface ConfigObjectReference extends ObjectReference {
  readonly resource: 'configmaps' | 'secrets';
  readonly namespace: string;
}

/** How the objects that pods refer to are read: one for each strategy of `configMapAndSecretChangeDetectionStrategy`. */
export interface ObjectSource {
  /** Another pod refers to the object. */
  referred(reference: ConfigObjectReference): void;
  /** No pod refers to the object any more. */
  forgotten(reference: ConfigObjectReference): void;
  /** Undefined where there is no such object. Rejects where the server does not say. */
  read(reference: ConfigObjectReference): Promise<ConfigObject | undefined>;
  close(): void;
}

/** No pod refers to the object: the node has no right to read it. */
export function notRegistered({ namespace, name }: ConfigObjectReference): StateletError {
  return new StateletError('FailedPrecondition', `object "${namespace}"/"${name}" not registered`);
}
