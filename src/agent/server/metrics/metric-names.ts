/** The metrics that are counted while the agent runs, with the kubelet's names, help and buckets; and the agent's own. */
import type { MetricHead } from './metric-text.ts';

/** The default of Prometheus' libraries, in seconds. */
export const USUAL_BOUNDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** 14 bounds, each 2.5 times the one before. */
export const RUNTIME_BOUNDS = Array.from({ length: 14 }, (_, index) => 0.005 * 2.5 ** index);
export const STORAGE_BOUNDS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600];
export const START_BOUNDS = [
  0.5, 1, 2, 3, 4, 5, 6, 8, 10, 20, 30, 45, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700,
  3600,
];
export const REQUEST_BOUNDS = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];
export const STATUS_BOUNDS = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 20, 30, 45, 60];
export const CONTAINER_BOUNDS = [1, 2, 4, 8, 16];
/** Of pulls of images, in seconds. */
export const PULL_BOUNDS = [
  1, 5, 10, 20, 30, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600,
];
/** Of certificates, in seconds: from a minute to four years. */
export const ROTATION_BOUNDS = [
  60, 3600, 14_400, 86_400, 604_800, 2_592_000, 7_776_000, 15_552_000, 31_104_000, 124_416_000,
];
/** Of the agent's own metrics, in seconds. A chart acts within a tenth of a millisecond, and a pod may wait for ten minutes. */
export const OWN_BOUNDS = [0.0001, 0.001, 0.01, 0.1, 1, 10, 60, 600];

type UntypedHead = Omit<MetricHead, 'type'>;

/** Of resizes, in milliseconds. */
export const RESIZE_BOUNDS = [
  10, 50, 100, 500, 1000, 2000, 5000, 10_000, 20_000, 30_000, 60_000, 120_000, 300_000, 600_000,
];

/** Of the admission by the topology manager, in milliseconds: 15 bounds, each twice the one before. */
export const ADMISSION_BOUNDS = Array.from({ length: 15 }, (_, index) => 0.05 * 2 ** index);

/** 15 bounds from 0.1 to 40 s, each larger than the one before by the same factor. */
export const DRA_BOUNDS = Array.from({ length: 15 }, (_, index) => 0.1 * 400 ** (index / 14));

export const COUNTED = {
  topologyAdmissions: {
    name: 'kubelet_topology_manager_admission_requests_total',
    help: '[ALPHA] The number of admission requests where resources have to be aligned.',
  },
  topologyErrors: {
    name: 'kubelet_topology_manager_admission_errors_total',
    help: '[ALPHA] The number of admission request failures where resources could not be aligned.',
  },
  topologyDuration: {
    name: 'kubelet_topology_manager_admission_duration_ms',
    help: '[ALPHA] Duration in milliseconds to serve a pod admission request.',
  },
  cpuPinned: {
    name: 'kubelet_cpu_manager_pinning_requests_total',
    help: '[ALPHA] The number of cpu core allocations which required pinning.',
  },
  cpuPinningErrors: {
    name: 'kubelet_cpu_manager_pinning_errors_total',
    help: '[ALPHA] The number of cpu core allocations which required pinning failed.',
  },
  memoryPinned: {
    name: 'kubelet_memory_manager_pinning_requests_total',
    help: '[ALPHA] The number of memory pages allocations which required pinning.',
  },
  memoryPinningErrors: {
    name: 'kubelet_memory_manager_pinning_errors_total',
    help: '[ALPHA] The number of memory pages allocations which required pinning that failed.',
  },
  aligned: {
    name: 'kubelet_container_aligned_compute_resources_count',
    help: '[ALPHA] Cumulative number of aligned compute resources allocated to containers by alignment type.',
  },
  notAligned: {
    name: 'kubelet_container_aligned_compute_resources_failure_count',
    help: '[ALPHA] Cumulative number of failures to allocate aligned compute resources to containers by alignment type.',
  },
  deviceRegistrations: {
    name: 'kubelet_device_plugin_registration_total',
    help: '[ALPHA] Cumulative number of device plugin registrations. Broken down by resource name.',
  },
  deviceAllocations: {
    name: 'kubelet_device_plugin_alloc_duration_seconds',
    help: '[ALPHA] Duration in seconds to serve a device plugin Allocation request. Broken down by resource name.',
  },
  draOperations: {
    name: 'dra_operations_duration_seconds',
    help: "[ALPHA] Latency histogram in seconds for the duration of handling all ResourceClaims referenced by a pod when the pod starts or stops. Identified by the name of the operation (PrepareResources or UnprepareResources) and separated by the success of the operation. The number of failed operations is provided through the histogram's overall count.",
  },
  draCalls: {
    name: 'dra_grpc_operations_duration_seconds',
    help: '[ALPHA] Duration in seconds of the DRA gRPC operations',
  },
  resizesRequested: {
    name: 'kubelet_container_requested_resizes_total',
    help: "[ALPHA] Number of requested resizes, counted at the container level. Different resources on the same container are counted separately. The 'requirement' label refers to 'memory' or 'limits'; the 'operation' label can be one of 'add', 'remove', 'increase' or 'decrease'.",
  },
  resizesInfeasible: {
    name: 'kubelet_pod_infeasible_resizes_total',
    help: '[ALPHA] Number of infeasible resizes for pods.',
  },
  resizesAccepted: {
    name: 'kubelet_pod_deferred_accepted_resizes_total',
    help: '[ALPHA] Cumulative number of resizes that were accepted after being deferred.',
  },
  resizeDuration: {
    name: 'kubelet_pod_resize_duration_milliseconds',
    help: '[ALPHA] Duration in milliseconds to actuate a pod resize',
  },
  podResources: {
    name: 'kubelet_pod_resources_endpoint_requests_total',
    help: '[ALPHA] Cumulative number of requests to the PodResource endpoint. Broken down by server api version.',
  },
  podResourcesList: {
    name: 'kubelet_pod_resources_endpoint_requests_list',
    help: '[ALPHA] Number of requests to the PodResource List endpoint. Broken down by server api version.',
  },
  podResourcesAllocatable: {
    name: 'kubelet_pod_resources_endpoint_requests_get_allocatable',
    help: '[ALPHA] Number of requests to the PodResource GetAllocatableResources endpoint. Broken down by server api version.',
  },
  podResourcesGet: {
    name: 'kubelet_pod_resources_endpoint_requests_get',
    help: '[ALPHA] Number of requests to the PodResource Get endpoint. Broken down by server api version.',
  },
  podResourcesGetErrors: {
    name: 'kubelet_pod_resources_endpoint_errors_get',
    help: '[ALPHA] Number of requests to the PodResource Get endpoint which returned error. Broken down by server api version.',
  },
  runtimeOperations: {
    name: 'kubelet_runtime_operations_total',
    help: '[ALPHA] Cumulative number of runtime operations by operation type.',
  },
  runtimeErrors: {
    name: 'kubelet_runtime_operations_errors_total',
    help: '[ALPHA] Cumulative number of runtime operation errors by operation type.',
  },
  runtimeDuration: {
    name: 'kubelet_runtime_operations_duration_seconds',
    help: '[ALPHA] Duration in seconds of runtime operations. Broken down by operation type.',
  },
  cgroupDuration: {
    name: 'kubelet_cgroup_manager_duration_seconds',
    help: '[ALPHA] Duration in seconds for cgroup manager operations. Broken down by method.',
  },
  csiOperations: {
    name: 'csi_operations_seconds',
    help: '[ALPHA] Container Storage Interface operation duration with gRPC error code status total',
  },
  storageDuration: {
    name: 'storage_operation_duration_seconds',
    help: '[ALPHA] Storage operation duration',
  },
  requests: {
    name: 'rest_client_requests_total',
    help: '[ALPHA] Number of HTTP requests, partitioned by status code, method, and host.',
  },
  requestDuration: {
    name: 'rest_client_request_duration_seconds',
    help: '[ALPHA] Request latency in seconds. Broken down by verb, and host.',
  },
  relistDuration: {
    name: 'kubelet_pleg_relist_duration_seconds',
    help: '[ALPHA] Duration in seconds for relisting pods in PLEG.',
  },
  relistInterval: {
    name: 'kubelet_pleg_relist_interval_seconds',
    help: '[ALPHA] Interval in seconds between relisting in PLEG.',
  },
  podRelistDuration: {
    name: 'kubelet_pleg_pod_relist_duration_seconds',
    help: '[ALPHA] Duration in seconds for relisting a single pod in PLEG.',
  },
  eventStreams: {
    name: 'kubelet_evented_pleg_connection_success_count',
    help: '[ALPHA] The number of times a streaming client was obtained to receive CRI Events.',
  },
  eventStreamErrors: {
    name: 'kubelet_evented_pleg_connection_error_count',
    help: '[ALPHA] The number of errors encountered during the establishment of streaming connection with the CRI runtime.',
  },
  eventLatency: {
    name: 'kubelet_evented_pleg_connection_latency_seconds',
    help: '[ALPHA] The latency of streaming connection with the CRI runtime, measured in seconds.',
  },
  volumeTotal: {
    name: 'volume_operation_total_seconds',
    help: '[ALPHA] Storage operation end to end duration in seconds',
  },
  volumeWalk: {
    name: 'kubelet_volume_metric_collection_duration_seconds',
    help: '[ALPHA] Duration in seconds to calculate volume stats',
  },
  evictions: {
    name: 'kubelet_evictions',
    help: '[ALPHA] Cumulative number of pod evictions by eviction signal',
  },
  evictionStatsAge: {
    name: 'kubelet_eviction_stats_age_seconds',
    help: '[ALPHA] Time between when stats are collected, and when pod is evicted based on those stats by eviction signal',
  },
  preemptions: {
    name: 'kubelet_preemptions',
    help: '[ALPHA] Cumulative number of pod preemptions by preemption resource',
  },
  containersPerPod: {
    name: 'kubelet_containers_per_pod_count',
    help: '[ALPHA] The number of containers per pod.',
  },
  rejections: {
    name: 'kubelet_admission_rejections_total',
    help: '[ALPHA] Cumulative number pod admission rejections by the Kubelet.',
  },
  restarted: {
    name: 'kubelet_restarted_pods_total',
    help: '[ALPHA] Number of pods that have been restarted because they were deleted and recreated with the same UID while the kubelet was watching them (common for static pods, extremely uncommon for API pods)',
  },
  orphaned: {
    name: 'kubelet_orphaned_runtime_pods_total',
    help: '[ALPHA] Number of pods that have been detected in the container runtime without being already known to the pod worker. This typically indicates the kubelet was restarted while a pod was force deleted in the API or in the local configuration, which is unusual.',
  },
  startedPods: {
    name: 'kubelet_started_pods_total',
    help: '[ALPHA] Cumulative number of pods started',
  },
  startedPodsErrors: {
    name: 'kubelet_started_pods_errors_total',
    help: '[ALPHA] Cumulative number of errors when starting pods',
  },
  userNamespacedPods: {
    name: 'kubelet_started_user_namespaced_pods_total',
    help: '[ALPHA] Cumulative number of pods with user namespaces started. This metric will only be collected on Linux.',
  },
  userNamespacedPodsErrors: {
    name: 'kubelet_started_user_namespaced_pods_errors_total',
    help: '[ALPHA] Cumulative number of errors when starting pods with user namespaces. This metric will only be collected on Linux.',
  },
  startedContainers: {
    name: 'kubelet_started_containers_total',
    help: '[ALPHA] Cumulative number of containers started',
  },
  startedContainersErrors: {
    name: 'kubelet_started_containers_errors_total',
    help: '[ALPHA] Cumulative number of errors when starting containers',
  },
  terminatedContainers: {
    name: 'kubelet_terminated_containers_total',
    help: '[ALPHA] Cumulative number of container terminations.',
  },
  imageVolumesRequested: {
    name: 'kubelet_image_volume_requested_total',
    help: '[ALPHA] Number of requested image volumes.',
  },
  imageVolumesMounted: {
    name: 'kubelet_image_volume_mounted_succeed_total',
    help: '[ALPHA] Number of successful image volume mounts.',
  },
  imageVolumesErrors: {
    name: 'kubelet_image_volume_mounted_errors_total',
    help: '[ALPHA] Number of failed image volume mounts.',
  },
  hookFallbacks: {
    name: 'kubelet_lifecycle_handler_http_fallbacks_total',
    help: '[ALPHA] The number of times lifecycle handlers successfully fell back to http from https.',
  },
  sleepsCutShort: {
    name: 'kubelet_sleep_action_terminated_early_total',
    help: '[ALPHA] The number of times lifecycle sleep handler got terminated before it finishes',
  },
  sandboxDuration: {
    name: 'kubelet_run_podsandbox_duration_seconds',
    help: '[ALPHA] Duration in seconds of the run_podsandbox operations. Broken down by RuntimeClass.Handler.',
  },
  sandboxErrors: {
    name: 'kubelet_run_podsandbox_errors_total',
    help: '[ALPHA] Cumulative number of the run_podsandbox operation errors by RuntimeClass.Handler.',
  },
  imagePullDuration: {
    name: 'kubelet_image_pull_duration_seconds',
    help: '[ALPHA] Duration in seconds to pull an image.',
  },
  imagesEnsured: {
    name: 'kubelet_image_manager_ensure_image_requests_total',
    help: '[ALPHA] Number of ensure-image requests processed by the kubelet.',
  },
  imagesCollected: {
    name: 'kubelet_image_garbage_collected_total',
    help: '[ALPHA] Total number of images garbage collected by the kubelet, whether through disk usage or image age.',
  },
  pullChecks: {
    name: 'kubelet_imagemanager_image_mustpull_checks_total',
    help: '[ALPHA] Counter for how many times kubelet checked whether credentials need to be re-verified to access an image',
  },
  credentialPluginDuration: {
    name: 'kubelet_credential_provider_plugin_duration',
    help: '[ALPHA] Duration of execution in seconds for credential provider plugin',
  },
  credentialPluginErrors: {
    name: 'kubelet_credential_provider_plugin_errors_total',
    help: '[ALPHA] Number of errors from credential provider plugin',
  },
  pluginAnswers: {
    name: 'statelet_eviction_plugin_answers_total',
    help: 'Questions to eviction plugins by what came of them: success, refused, failure.',
  },
  pluginValidations: {
    name: 'eviction_plugin_validate',
    help: 'Eviction plugins that wanted to register, and whether they have proved who they are (Katalyst).',
  },
  pluginVictims: {
    name: 'statelet_eviction_plugin_victims_total',
    help: 'Pods that are ended because an eviction plugin named them.',
  },
  pluginDryRunVictims: {
    name: 'statelet_eviction_plugin_dry_run_victims_total',
    help: 'Pods that eviction plugins on trial have named.',
  },
  probes: {
    name: 'prober_probe_total',
    help: '[BETA] Cumulative number of a liveness, readiness or startup probe for a container by result.',
  },
  probeDuration: {
    name: 'prober_probe_duration_seconds',
    help: '[ALPHA] Duration in seconds for a probe response.',
  },
  clientRenewalErrors: {
    name: 'kubelet_certificate_manager_client_expiration_renew_errors',
    help: '[ALPHA] Counter of certificate renewal errors.',
  },
  servingRenewalErrors: {
    name: 'kubelet_server_expiration_renew_errors',
    help: '[ALPHA] Counter of certificate renewal errors.',
  },
  servingRotation: {
    name: 'kubelet_certificate_manager_server_rotation_seconds',
    help: '[ALPHA] Histogram of the number of seconds the previous certificate lived before being rotated.',
  },
  podStart: {
    name: 'kubelet_pod_start_duration_seconds',
    help: '[ALPHA] Duration in seconds from kubelet seeing a pod for the first time to the pod starting to run',
  },
  podWorker: {
    name: 'kubelet_pod_worker_duration_seconds',
    help: '[ALPHA] Duration in seconds to sync a single pod. Broken down by operation type: create, update, or sync',
  },
  podWorkerStart: {
    name: 'kubelet_pod_worker_start_duration_seconds',
    help: '[ALPHA] Duration in seconds from kubelet seeing a pod to starting a worker.',
  },
  nodeRequests: {
    name: 'kubelet_http_requests_total',
    help: '[ALPHA] Number of the http requests received since the server started',
  },
  nodeRequestDuration: {
    name: 'kubelet_http_requests_duration_seconds',
    help: '[ALPHA] Duration in seconds to serve http requests',
  },
  webSockets: {
    name: 'kubelet_websocket_streaming_requests_total',
    help: '[ALPHA] Total number of WebSocket streaming requests (exec/attach/portforward) received by the kubelet.',
  },
  podStartSLI: {
    name: 'kubelet_pod_start_sli_duration_seconds',
    help: '[ALPHA] Duration in seconds to start a pod, excluding time to pull images and run init containers, measured from pod creation timestamp to when all its containers are reported as started and observed via watch',
  },
  podStartTotal: {
    name: 'kubelet_pod_start_total_duration_seconds',
    help: '[ALPHA] Duration in seconds to start a pod since creation, including time to pull images and run init containers, measured from pod creation timestamp to when all its containers are reported as started and observed via watch',
  },
  statusSync: {
    name: 'kubelet_pod_status_sync_duration_seconds',
    help: '[ALPHA] Duration in seconds to sync a pod status update. Measures time from detection of a change to pod status until the API is successfully updated for that pod, even if multiple intevening changes to pod status occur.',
  },
  transitions: {
    name: 'statelet_pod_transitions_total',
    help: 'Transitions of the charts of pods from one state to another.',
  },
  stateDuration: {
    name: 'statelet_pod_state_duration_seconds',
    help: 'How long the chart of a pod was in a state, told when it leaves the state.',
  },
  eventToAct: {
    name: 'statelet_pod_event_to_act_seconds',
    help: 'Time from an event that is sent to the chart of a pod to the beginning of the effect that acts on it.',
  },
  effectDuration: {
    name: 'statelet_pod_effect_duration_seconds',
    help: 'How long the effects of pods take.',
  },
} as const satisfies Record<string, UntypedHead>;

/** Metrics that are set to a new value, where those above are counted up. */
export const GAUGES = {
  draClaims: {
    name: 'dra_resource_claims_in_use',
    help: '[ALPHA] The number of ResourceClaims that are currently in use on the node, by driver name (driver_name label value) and across all drivers (special value <any> for driver_name). Note that the sum of all by-driver counts is not the total number of in-use ResourceClaims because the same ResourceClaim might use devices from different drivers. Instead, use the count for the <any> driver_name.',
  },
  sharedCpus: {
    name: 'kubelet_cpu_manager_shared_pool_size_millicores',
    help: '[ALPHA] The size of the shared CPU pool for non-guaranteed QoS pods, in millicores.',
  },
  exclusiveCpus: {
    name: 'kubelet_cpu_manager_exclusive_cpu_allocation_count',
    help: '[ALPHA] The total number of CPUs exclusively allocated to containers running on this node',
  },
  cpusByNode: {
    name: 'kubelet_cpu_manager_allocation_per_numa',
    help: '[ALPHA] Number of CPUs allocated per NUMA node',
  },
  memoryMin: {
    name: 'kubelet_memory_qos_node_memory_min_bytes',
    help: '[ALPHA] Total cgroup v2 memory.min in bytes for Guaranteed pods. This memory is hard-reserved and never reclaimed by the kernel.',
  },
  memoryLow: {
    name: 'kubelet_memory_qos_node_memory_low_bytes',
    help: '[ALPHA] Total cgroup v2 memory.low in bytes for Burstable pods. This memory is soft-reserved and may be reclaimed under extreme pressure.',
  },
  orphansCleaned: {
    name: 'kubelet_orphan_pod_cleaned_volumes',
    help: '[ALPHA] The total number of orphaned Pods whose volumes were cleaned in the last periodic sweep.',
  },
  orphansCleanedErrors: {
    name: 'kubelet_orphan_pod_cleaned_volumes_errors',
    help: '[ALPHA] The number of orphaned Pods whose volumes failed to be cleaned in the last periodic sweep.',
  },
  pullIntents: {
    name: 'kubelet_imagemanager_ondisk_pullintents',
    help: '[ALPHA] Number of ImagePullIntents stored on disk.',
  },
  pulledRecords: {
    name: 'kubelet_imagemanager_ondisk_pulledrecords',
    help: '[ALPHA] Number of ImagePulledRecords stored on disk.',
  },
  credentialProviders: {
    name: 'kubelet_credential_provider_config_info',
    help: '[ALPHA] Information about the last applied credential provider configuration with hash as label',
  },
  nodeRequestsInFlight: {
    name: 'kubelet_http_inflight_requests',
    help: '[ALPHA] Number of the inflight http requests',
  },
  firstNetworkPodStart: {
    name: 'kubelet_first_network_pod_start_sli_duration_seconds',
    help: '[INTERNAL] Duration in seconds to start the first network pod, excluding time to pull images and run init containers, measured from pod creation timestamp to when all its containers are reported as started and observed via watch',
  },
  shutdownStart: {
    name: 'kubelet_graceful_shutdown_start_time_seconds',
    help: '[ALPHA] Last graceful shutdown start time since unix epoch in seconds',
  },
  shutdownEnd: {
    name: 'kubelet_graceful_shutdown_end_time_seconds',
    help: '[ALPHA] Last graceful shutdown end time since unix epoch in seconds',
  },
  startupPreKubelet: {
    name: 'kubelet_node_startup_pre_kubelet_duration_seconds',
    help: '[ALPHA] Duration in seconds of node startup before kubelet starts.',
  },
  startupPreRegistration: {
    name: 'kubelet_node_startup_pre_registration_duration_seconds',
    help: '[ALPHA] Duration in seconds of node startup before registration.',
  },
  startupRegistration: {
    name: 'kubelet_node_startup_registration_duration_seconds',
    help: '[ALPHA] Duration in seconds of node startup during registration.',
  },
  startupPostRegistration: {
    name: 'kubelet_node_startup_post_registration_duration_seconds',
    help: '[ALPHA] Duration in seconds of node startup after registration.',
  },
  startup: {
    name: 'kubelet_node_startup_duration_seconds',
    help: '[ALPHA] Duration in seconds of node startup in total.',
  },
  activePods: {
    name: 'running_pod_cnt',
    help: 'Active pods at the last pass over eviction plugins (Katalyst).',
  },
  candidatePods: {
    name: 'candidate_pod_cnt',
    help: 'Of the active pods, those that eviction plugins are shown (Katalyst).',
  },
  requestedConditions: {
    name: 'request_condition_cnt',
    help: 'Conditions that plugins have reported with their thresholds in the last pass over eviction plugins (Katalyst).',
  },
  podNotices: {
    name: 'notify_pod',
    help: 'Pods that were told by a file in the last pass over eviction plugins, and those that could not be told (Katalyst).',
  },
  cnrTaints: {
    name: 'cnr_taint',
    help: "Taints that conditions of eviction plugins ask for on the node's CustomNodeResource (Katalyst).",
  },
  victims: {
    name: 'victims_cnt',
    help: 'Pods that the last pass over eviction plugins has ended: all of them, and each of them with its plugin (Katalyst).',
  },
} as const satisfies Record<string, UntypedHead>;
