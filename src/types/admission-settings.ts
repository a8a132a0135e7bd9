import type { Taint } from './kubernetes.ts';

/** What the operator has set of which pods may come, by the kubelet's names where it has them. */
export interface AdmissionSettings {
  /** Quantities by resource: cpu, memory, ephemeral-storage, pid. */
  readonly systemReserved: Readonly<Record<string, string>>;
  readonly kubeReserved: Readonly<Record<string, string>>;
  /** 0: `maxPods` alone counts. */
  readonly podsPerCore: number;
  readonly nodeLabels: Readonly<Record<string, string>>;
  readonly registerWithTaints: readonly Taint[];
  /** Whole amounts by resource: `example.com/gpu`. */
  readonly extendedResources: Readonly<Record<string, string>>;
  /** Whether of victims that are otherwise equal those of lower priority go first. */
  readonly preemptionLowerPriorityFirst: boolean;
}
