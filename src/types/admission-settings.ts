import type { Taint } from './kubernetes.ts';

/** Settings that decide which pods are admitted, by the kubelet's names where it has them. */
export interface AdmissionSettings {
  /** Quantities by resource: cpu, memory, ephemeral-storage, pid. */
  readonly systemReserved: Readonly<Record<string, string>>;
  readonly kubeReserved: Readonly<Record<string, string>>;
  /** 0: only `maxPods` counts. */
  readonly podsPerCore: number;
  readonly nodeLabels: Readonly<Record<string, string>>;
  readonly registerWithTaints: readonly Taint[];
  /** Whole amounts by resource: `example.com/gpu`. */
  readonly extendedResources: Readonly<Record<string, string>>;
  /** Whether, of victims that are otherwise equal, pods of lower priority are preempted first. */
  readonly preemptionLowerPriorityFirst: boolean;
}
