/** Counts how pods come and go, as the kubelet does. */
import type { ContainerType, TurnoverMeasurements } from '../../../types/measurements.ts';
import { MetricSet } from './counters.ts';
import type { Metric } from './metric-text.ts';

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

const CONTAINER_BOUNDS = [1, 2, 4, 8, 16];

export class TurnoverMetrics implements TurnoverMeasurements {
  readonly #set = new MetricSet();
  readonly #preemptions = this.#set.counter(
    'kubelet_preemptions',
    '[ALPHA] Cumulative number of pod preemptions by preemption resource',
  );
  readonly #containersPerPod = this.#set.histogram(
    'kubelet_containers_per_pod_count',
    '[ALPHA] The number of containers per pod.',
    CONTAINER_BOUNDS,
  );
  readonly #rejections = this.#set.counter(
    'kubelet_admission_rejections_total',
    '[ALPHA] Cumulative number pod admission rejections by the Kubelet.',
  );
  readonly #restarted = this.#set.counter(
    'kubelet_restarted_pods_total',
    '[ALPHA] Number of pods that have been restarted because they were deleted and recreated with the same UID while the kubelet was watching them (common for static pods, extremely uncommon for API pods)',
  );
  readonly #orphaned = this.#set.counter(
    'kubelet_orphaned_runtime_pods_total',
    '[ALPHA] Number of pods that have been detected in the container runtime without being already known to the pod worker. This typically indicates the kubelet was restarted while a pod was force deleted in the API or in the local configuration, which is unusual.',
  );
  readonly #startedPods = this.#set.counter(
    'kubelet_started_pods_total',
    '[ALPHA] Cumulative number of pods started',
  );
  readonly #startedPodsErrors = this.#set.counter(
    'kubelet_started_pods_errors_total',
    '[ALPHA] Cumulative number of errors when starting pods',
  );
  readonly #userNamespacedPods = this.#set.counter(
    'kubelet_started_user_namespaced_pods_total',
    '[ALPHA] Cumulative number of pods with user namespaces started. This metric will only be collected on Linux.',
  );
  readonly #userNamespacedPodsErrors = this.#set.counter(
    'kubelet_started_user_namespaced_pods_errors_total',
    '[ALPHA] Cumulative number of errors when starting pods with user namespaces. This metric will only be collected on Linux.',
  );
  readonly #startedContainers = this.#set.counter(
    'kubelet_started_containers_total',
    '[ALPHA] Cumulative number of containers started',
  );
  readonly #startedContainersErrors = this.#set.counter(
    'kubelet_started_containers_errors_total',
    '[ALPHA] Cumulative number of errors when starting containers',
  );
  readonly #terminatedContainers = this.#set.counter(
    'kubelet_terminated_containers_total',
    '[ALPHA] Cumulative number of container terminations.',
  );
  readonly #imageVolumes = this.#set.counter(
    'kubelet_image_volume_requested_total',
    '[ALPHA] Number of requested image volumes.',
  );
  readonly #imageVolumesMounted = {
    success: this.#set.counter(
      'kubelet_image_volume_mounted_succeed_total',
      '[ALPHA] Number of successful image volume mounts.',
    ),
    failure: this.#set.counter(
      'kubelet_image_volume_mounted_errors_total',
      '[ALPHA] Number of failed image volume mounts.',
    ),
  };
  readonly #hookFallbacks = this.#set.counter(
    'kubelet_lifecycle_handler_http_fallbacks_total',
    '[ALPHA] The number of times lifecycle handlers successfully fell back to http from https.',
  );
  readonly #sleepsCutShort = this.#set.counter(
    'kubelet_sleep_action_terminated_early_total',
    '[ALPHA] The number of times lifecycle sleep handler got terminated before it finishes',
  );
  readonly #runtimeReasons = new Set<string>();
  #sweep = { found: 0, failed: 0 };

  constructor() {
    this.#set.gauge(
      'kubelet_orphan_pod_cleaned_volumes',
      '[ALPHA] The total number of orphaned Pods whose volumes were cleaned in the last periodic sweep.',
      () => this.#sweep.found,
    );
    this.#set.gauge(
      'kubelet_orphan_pod_cleaned_volumes_errors',
      '[ALPHA] The number of orphaned Pods whose volumes failed to be cleaned in the last periodic sweep.',
      () => this.#sweep.failed,
    );
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
    return this.#set.metrics();
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
