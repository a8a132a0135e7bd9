/** Feature gates, as `--feature-gates` and the field `featureGates` set them, by the kubelet's rules. */
import { didYouMean } from '../formats/did-you-mean.ts';
import { knownFeatureGates, neededFeatureGates } from './known-feature-gates.ts';

/** What was given. Gates that are left out have their defaults, or what `AllAlpha` and `AllBeta` say. */
export type FeatureGates = Readonly<Record<string, boolean>>;

/** The gates that change something here. Each is asked about with `isEnabled`, or has a row in `GATES` below. */
export const EFFECTIVE_GATES = [
  'CPUManagerPolicyAlphaOptions',
  'CPUManagerPolicyBetaOptions',
  'ComponentFlagz',
  'ComponentStatusz',
  'ContainerCheckpoint',
  'CustomCPUCFSQuotaPeriod',
  'GracefulNodeShutdown',
  'GracefulNodeShutdownBasedOnPodPriority',
  'KubeletCrashLoopBackOffMax',
  'KubeletEnsureSecretPulledImages',
  'MemoryQoS',
  'ReduceDefaultCrashLoopBackOffDecay',
  'RotateKubeletServerCertificate',
] as const;

type EffectiveGate = (typeof EFFECTIVE_GATES)[number];

/** Whether a feature is switched on. The type names those that have an effect here: a new effect begins with its name there. */
export function isEnabled(name: EffectiveGate, gates: FeatureGates): boolean {
  return valueOf(name, gates);
}

/** They set all gates of a stage that are not given themselves. */
const STAGES = { AllAlpha: 'ALPHA', AllBeta: 'BETA' } as const;
const SWITCHES = ['AllAlpha', 'AllBeta'] as const;

function valueOf(name: string, gates: FeatureGates): boolean {
  const given = gates[name];
  if (given !== undefined) return given;
  const spec = knownFeatureGates().get(name);
  const all = SWITCHES.find((one) => STAGES[one] === spec?.stage);
  return (all && gates[all]) ?? spec?.byDefault ?? false;
}

/** What is wrong with these gates, in the kubelet's words; empty where nothing is. */
export function featureGateProblems(gates: FeatureGates): readonly string[] {
  const known = knownFeatureGates();
  const wrong = Object.entries(gates).flatMap(([name, value]) => {
    if (name in STAGES) return [];
    const spec = known.get(name);
    if (spec === undefined)
      return [`unrecognized feature gate: ${name}${didYouMean(name, [...known.keys(), ...SWITCHES])}`];
    if (!spec.locked || spec.byDefault === value) return [];
    return [`cannot set feature gate ${name} to ${value}, feature is locked to ${spec.byDefault}`];
  });
  return wrong.length > 0 ? wrong : missingNeeds(gates);
}

function missingNeeds(gates: FeatureGates): readonly string[] {
  if (Object.keys(gates).length === 0) return [];
  return neededFeatureGates().flatMap(([name, needs]) => {
    if (!valueOf(name, gates)) return [];
    const disabled = needs.filter((needed) => !valueOf(needed, gates));
    if (disabled.length === 0) return [];
    return [`${name} is enabled, but depends on features that are disabled: [${disabled.join(' ')}]`];
  });
}

/** Sentences about gates that are set to another value than their default and change nothing here. */
export function featureGateWarnings(gates: FeatureGates): readonly string[] {
  const known = knownFeatureGates();
  const idle = Object.entries(gates).filter(([name, value]) => {
    const spec = known.get(name);
    return spec !== undefined && spec.byDefault !== value && !isEffective(name);
  });
  const names = idle.map(([name]) => name).join(', ');
  return [
    ...(names === '' ? [] : [`featureGates: known, but without effect here: ${names}`]),
    ...SWITCHES.flatMap((name) => switchWarning(name, gates)),
  ];
}

function switchWarning(name: keyof typeof STAGES, gates: FeatureGates): readonly string[] {
  const value = gates[name];
  const moved = [...knownFeatureGates()].filter(
    ([gate, { stage, byDefault }]) =>
      stage === STAGES[name] && value !== undefined && byDefault !== value && gates[gate] === undefined,
  );
  if (moved.length === 0) return [];
  const effective = moved.map(([gate]) => gate).filter(isEffective);
  const what = effective.length === 0 ? 'no gate' : `only ${effective.join(', ')}`;
  return [`featureGates: ${name} sets ${moved.length} gates, of which ${what} has an effect here`];
}

function isEffective(name: string): boolean {
  return (EFFECTIVE_GATES as readonly string[]).includes(name);
}

// Settings that belong to a feature, and are an error where its gate is off.

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
