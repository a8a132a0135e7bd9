/** Settings that belong to a feature, and are an error where its gate is off. */
import { type EffectiveGate, type FeatureGates, isEnabled } from './feature-gates.ts';

/** Which of the fields are given, with another value than the one that asks for nothing. */
export type FeatureFields = Readonly<Record<keyof typeof GATES, boolean>>;

const GATES = {
  serverTLSBootstrap: 'RotateKubeletServerCertificate',
  cpuCFSQuotaPeriod: 'CustomCPUCFSQuotaPeriod',
  shutdownGracePeriod: 'GracefulNodeShutdown',
  shutdownGracePeriodCriticalPods: 'GracefulNodeShutdown',
  shutdownGracePeriodByPodPriority: 'GracefulNodeShutdownBasedOnPodPriority',
  'crashLoopBackOff.maxContainerRestartPeriod': 'KubeletCrashLoopBackOffMax',
  imagePullCredentialsVerificationPolicy: 'KubeletEnsureSecretPulledImages',
  preloadedImagesVerificationAllowlist: 'KubeletEnsureSecretPulledImages',
} as const satisfies Readonly<Record<string, EffectiveGate>>;

/** One sentence for each field, to come after the name of the file. */
export function featureConflicts(gates: FeatureGates, given: FeatureFields): readonly string[] {
  return (Object.keys(GATES) as (keyof typeof GATES)[])
    .filter((field) => given[field] && !isEnabled(GATES[field], gates))
    .map((field) => `${field}: needs the feature gate ${GATES[field]}, which is off`);
}
