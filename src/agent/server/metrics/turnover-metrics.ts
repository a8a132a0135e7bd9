/** Counts how pods come and go, as the kubelet does. */
import type { ContainerType, TurnoverMeasurements } from '../../../types/measurements.ts';
import { Counter, Histogram } from './counters.ts';
import { CONTAINER_BOUNDS, COUNTED, GAUGES } from './metric-names.ts';
import { type Metric, metric } from './metric-text.ts';

/** A reason for which there is no series of its own. */
const OTHER = 'Other';
const OUT_OF = 'OutOf';

/** The reasons in the kubelet's own list, and those that it gives without listing them. */
const ADMISSION_REASONS: ReadonlySet<string> = new Set([
  'AppArmor',
  'Evicted',
  'InitContainerRestartPolicyForbidden',
  'InvalidNodeInfo',
  'NodeAffinity',
  'NodeName',
  'NodePorts',
  'NodeShutdown',
  'OutOfcpu',
  'OutOfephemeral-storage',
  'OutOfmemory',
  'OutOfpods',
  'PodFeatureUnsupported',
  'PodLevelResourcesNotSupported',
  'PodOSNotSupported',
  'PodOSSelectorNodeLabelDoesNotMatch',
  'SupplementalGroupsPolicyNotSupported',
  'SysctlForbidden',
  'TaintToleration',
  'UnexpectedAdmissionError',
  'UnexpectedPredicateFailureType',
  'UnknownReason',
  'VolumeAttachmentLimitExceeded',
]);

const OWN_RESOURCES: ReadonlySet<string> = new Set(['cpu', 'ephemeral-storage', 'memory', 'pods']);
/** Only a reason of this form gets a series of its own: a runtime could give any text. */
const WORD = /^[A-Za-z]{1,63}$/;
/** So many reasons of a runtime have series of their own. */
const RUNTIME_REASONS_MAX = 50;

export class TurnoverMetrics implements TurnoverMeasurements {
  readonly #preemptions = new Counter(COUNTED.preemptions);
  readonly #containersPerPod = new Histogram(COUNTED.containersPerPod, CONTAINER_BOUNDS);
  readonly #rejections = new Counter(COUNTED.rejections);
  readonly #restarted = new Counter(COUNTED.restarted);
  readonly #orphaned = new Counter(COUNTED.orphaned);
  readonly #startedPods = new Counter(COUNTED.startedPods);
  readonly #startedPodsErrors = new Counter(COUNTED.startedPodsErrors);
  readonly #userNamespacedPods = new Counter(COUNTED.userNamespacedPods);
  readonly #userNamespacedPodsErrors = new Counter(COUNTED.userNamespacedPodsErrors);
  readonly #startedContainers = new Counter(COUNTED.startedContainers);
  readonly #startedContainersErrors = new Counter(COUNTED.startedContainersErrors);
  readonly #terminatedContainers = new Counter(COUNTED.terminatedContainers);
  readonly #imageVolumes = new Counter(COUNTED.imageVolumesRequested);
  readonly #imageVolumesMounted = {
    success: new Counter(COUNTED.imageVolumesMounted),
    failure: new Counter(COUNTED.imageVolumesErrors),
  };
  readonly #hookFallbacks = new Counter(COUNTED.hookFallbacks);
  readonly #sleepsCutShort = new Counter(COUNTED.sleepsCutShort);
  readonly #runtimeReasons = new Set<string>();
  #sweep = { found: 0, failed: 0 };

  constructor() {
    const hooks = [this.#hookFallbacks, this.#sleepsCutShort];
    const images = [this.#imageVolumes, ...Object.values(this.#imageVolumesMounted)];
    const unlabelled = [...hooks, ...images, this.#orphaned, this.#startedPods, this.#startedPodsErrors];
    for (const counter of [...unlabelled, this.#userNamespacedPods, this.#userNamespacedPodsErrors])
      counter.add({}, 0);
    for (const isStatic of ['', 'true']) this.#restarted.add({ static: isStatic }, 0);
  }

  preempted(resource: string): void {
    // Names of extended resources are those of plugins and pods.
    const signal = resource === '' || OWN_RESOURCES.has(resource) ? resource : OTHER;
    this.#preemptions.add({ preemption_signal: signal });
  }

  admitted(containerCount: number): void {
    this.#containersPerPod.observe({}, containerCount);
  }

  rejected(reason: string): void {
    this.#rejections.add({ reason: admissionReason(reason) });
  }

  restarted(isStatic: boolean): void {
    this.#restarted.add({ static: isStatic ? 'true' : '' });
  }

  orphaned(): void {
    this.#orphaned.add();
  }

  swept(found: number, failed: number): void {
    this.#sweep = { found, failed };
  }

  podStarted(hasUserNamespace: boolean, failed = false): void {
    (failed ? this.#startedPodsErrors : this.#startedPods).add();
    if (hasUserNamespace) (failed ? this.#userNamespacedPodsErrors : this.#userNamespacedPods).add();
  }

  containerStarted(type: ContainerType, failure?: string): void {
    if (failure === undefined) this.#startedContainers.add({ container_type: type });
    else this.#startedContainersErrors.add({ container_type: type, code: failure });
  }

  containerTerminated(type: ContainerType, exitCode: number, reason: string): void {
    const labels = { container_type: type, exit_code: String(exitCode), reason: this.#runtimeReason(reason) };
    this.#terminatedContainers.add(labels);
  }

  imageVolumesRequested(count: number): void {
    this.#imageVolumes.add({}, count);
  }

  imageVolumesMounted(count: number, outcome: 'success' | 'failure'): void {
    this.#imageVolumesMounted[outcome].add({}, count);
  }

  hookFellBack(): void {
    this.#hookFallbacks.add();
  }

  sleepCutShort(): void {
    this.#sleepsCutShort.add();
  }

  metrics(): readonly Metric[] {
    const { found, failed } = this.#sweep;
    const counted = [
      this.#preemptions,
      this.#containersPerPod,
      this.#rejections,
      this.#restarted,
      this.#orphaned,
      this.#startedPods,
      this.#startedPodsErrors,
      this.#userNamespacedPods,
      this.#userNamespacedPodsErrors,
      this.#startedContainers,
      this.#startedContainersErrors,
      this.#terminatedContainers,
      this.#imageVolumes,
      this.#imageVolumesMounted.success,
      this.#imageVolumesMounted.failure,
      this.#hookFallbacks,
      this.#sleepsCutShort,
    ];
    return [
      ...counted.map((one) => one.metric()),
      metric({ ...GAUGES.orphansCleaned, type: 'gauge' }, [[{}, found]]),
      metric({ ...GAUGES.orphansCleanedErrors, type: 'gauge' }, [[{}, failed]]),
    ];
  }

  #runtimeReason(reason: string): string {
    if (reason === '' || this.#runtimeReasons.has(reason)) return reason;
    if (!WORD.test(reason) || this.#runtimeReasons.size >= RUNTIME_REASONS_MAX) return OTHER;
    this.#runtimeReasons.add(reason);
    return reason;
  }
}

function admissionReason(reason: string): string {
  if (ADMISSION_REASONS.has(reason)) return reason;
  return reason.startsWith(OUT_OF) ? 'OutOfExtendedResources' : OTHER;
}
