/**
 * The feature gates of kubelet 1.36.2, those of other components included, which it knows too. `MinimumKubeletVersion`,
 * `RouteExternalCertificate` and `StoragePerformantSecurityPolicy` are those of OpenShift's kubelet.
 */

export type FeatureStage = 'ALPHA' | 'BETA' | 'GA' | 'DEPRECATED';

export interface FeatureSpec {
  readonly stage: FeatureStage;
  readonly byDefault: boolean;
  /** It cannot be set to anything but its default. */
  readonly locked: boolean;
}

/** Names of gates that are alike; one text each, so that a start without gates costs nothing. */
const GROUPS: readonly (FeatureSpec & { readonly names: string })[] = [
  {
    stage: 'ALPHA',
    byDefault: false,
    locked: false,
    names: `
      APIServingWithRoutine AllowUnsafeMalformedObjectDeletion CBORServingAndStorage
      CPUManagerPolicyAlphaOptions CRIListStreaming CSIVolumeHealth ClientsAllowCBOR ClientsPreferCBOR
      CloudControllerManagerWatchBasedRoutesReconciliation CloudControllerManagerWebhook
      ContainerStopSignals ControllerManagerReleaseLeaderElectionLockOnExit CrossNamespaceVolumeDataSource
      DRAListTypeAttributes DRANodeAllocatableResources DRAResourcePoolStatus DRAWorkloadResourceClaims
      EventedPLEG GangScheduling GenericWorkload HPAScaleToZero ImageVolumeWithDigest
      InPlacePodVerticalScalingExclusiveCPUs InPlacePodVerticalScalingExclusiveMemory
      KubeletInUserNamespace LoggingAlphaOptions ManifestBasedAdmissionControlConfig MemoryQoS
      MinimumKubeletVersion MutablePVNodeAffinity NativeHistograms PersistentVolumeClaimUnusedSinceTime
      PodAndContainerStatsFromCRI PodLevelResourceManagers PodLogsQuerySplitStreams PodsAPI QOSReserved
      ReduceDefaultCrashLoopBackOffDecay RouteExternalCertificate RuntimeClassInImageCriApi
      ShardedListAndWatch StorageCapacityScoring StoragePerformantSecurityPolicy StorageVersionAPI
      TaintTolerationComparisonOperators TopologyAwareWorkloadScheduling TopologyManagerPolicyAlphaOptions
      UserNamespacesHostNetworkSupport VolumeLimitScaling WindowsCPUAndMemoryAffinity
      WorkloadAwarePreemption WorkloadWithJob`,
  },
  {
    stage: 'BETA',
    byDefault: true,
    locked: false,
    names: `
      APIResponseCompression APIServerIdentity AllowParsingUserUIDFromCertAuth AtomicFIFO
      AuthorizePodWebsocketUpgradeCreatePermission CPUManagerPolicyBetaOptions
      CRDObservedGenerationTracking ClearingNominatedNodeNameAfterBinding ClientsAllowCARotation
      ClientsAllowTLSCacheGC ComponentFlagz ComponentStatusz ConstrainedImpersonation ContainerCheckpoint
      ContainerRestartRules ContextualLogging DRAConsumableCapacity DRADeviceBindingConditions
      DRADeviceTaints DRAExtendedResource DRAPartitionableDevices DRAResourceClaimDeviceStatus
      DRAResourceClaimGranularStatusAuthorization DRASchedulerFilterTimeout DeclarativeValidationBeta
      DeploymentReplicaSetTerminatingReplicas DetectCacheInconsistency EnvFiles ExtendWebSocketsToKubelet
      GracefulNodeShutdown GracefulNodeShutdownBasedOnPodPriority HPAConfigurableTolerance
      HostnameOverride InOrderInformersBatchProcess InPlacePodLevelResourcesVerticalScaling
      InPlacePodVerticalScalingInitContainers KubeletCrashLoopBackOffMax KubeletEnsureSecretPulledImages
      KubeletSeparateDiskGC KubeletServiceAccountTokenForCredentialProviders ListFromCacheSnapshot
      LoggingBetaOptions MatchLabelKeysInPodTopologySpread MatchLabelKeysInPodTopologySpreadSelectorMerge
      MutablePodResourcesForSuspendedJobs MutableSchedulingDirectivesForSuspendedJobs NodeDeclaredFeatures
      NominatedNodeNameForExpectation OpenAPIEnums OpportunisticBatching PLEGOnDemandRelist
      PodDeletionCost PodLevelResources PodReadyToStartContainersCondition PodTopologyLabelsAdmission
      PortForwardWebsockets PreventStaticPodAPIReferences RelaxedServiceNameValidation
      ReloadKubeletClientCAFile ReloadKubeletServerCertificateFile RemoteRequestHeaderUID
      ResourceHealthStatus ResourceHealthStatusMessage RestartAllContainersOnContainerExits
      RotateKubeletServerCertificate SchedulerAsyncPreemption SchedulerPopFromBackoffQ
      ServiceAccountNodeAudienceRestriction SizeBasedListCostEstimate StaleControllerConsistencyDaemonSet
      StaleControllerConsistencyJob StaleControllerConsistencyReplicaSet
      StaleControllerConsistencyStatefulSet StatefulSetSemanticRevisionComparison StorageVersionHash
      StrictIPCIDRValidation StructuredAuthenticationConfigurationEgressSelector
      StructuredAuthenticationConfigurationJWKSMetrics TokenRequestServiceAccountUIDValidation
      TopologyManagerPolicyBetaOptions TranslateStreamCloseWebsocketRequests
      UnauthenticatedHTTP2DOSMitigation UnknownVersionInteroperabilityProxy UnlockWhileProcessingFIFO
      WatchCacheInitializationPostStartHook WatchList WatchListClient WindowsGracefulNodeShutdown`,
  },
  {
    stage: 'BETA',
    byDefault: false,
    locked: false,
    names: `
      ClusterTrustBundle ClusterTrustBundleProjection ConcurrentWatchObjectDecode
      CoordinatedLeaderElection DRADeviceTaintRules LocalStorageCapacityIsolationFSQuotaMonitoring
      MaxUnavailableStatefulSet PodCertificateRequest SELinuxMount SchedulerAsyncAPICalls
      StorageVersionMigrator`,
  },
  {
    stage: 'GA',
    byDefault: true,
    locked: false,
    names: `
      AllowServiceExternalIPs CustomCPUCFSQuotaPeriod DRAPrioritizedList InformerResourceVersion
      MutatingAdmissionPolicy`,
  },
  {
    stage: 'GA',
    byDefault: true,
    locked: true,
    names: `
      APIServerTracing AnonymousAuthConfigurableEndpoints AnyVolumeDataSource AuthorizeNodeWithSelectors
      AuthorizeWithSelectors BtreeWatchCache CPUManagerPolicyOptions CRDValidationRatcheting
      CSIServiceAccountTokenSecrets ConsistentListFromCache CustomResourceFieldSelectors DRAAdminAccess
      DeclarativeValidation DisableAllocatorDualWrite DynamicResourceAllocation ExecProbeTimeout
      ExternalServiceAccountTokenSigner ImageMaximumGCAge ImageVolume InOrderInformers
      InPlacePodVerticalScaling JobBackoffLimitPerIndex JobManagedBy JobPodReplacementPolicy
      JobSuccessPolicy KubeletCgroupDriverFromCRI KubeletFineGrainedAuthz KubeletPSI
      KubeletPodResourcesDynamicResources KubeletPodResourcesGet KubeletTracing LogarithmicScaleDown
      MatchLabelKeysInPodAffinity MultiCIDRServiceAllocator MutableCSINodeAllocatableCount
      NFTablesProxyMode NodeInclusionPolicyInPodTopologySpread NodeLogQuery NodeSwap
      OrderedNamespaceDeletion PodLifecycleSleepAction PodLifecycleSleepActionAllowZero
      PodObservedGenerationTracking PodSchedulingReadiness PreferSameTrafficDistribution ProcMountType
      RecoverVolumeExpansionFailure RecursiveReadOnlyMounts RelaxedDNSSearchValidation
      RelaxedEnvironmentVariableValidation ResilientWatchCacheInitialization RetryGenerateName
      SELinuxChangePolicy SELinuxMountReadWriteOncePod SchedulerQueueingHints
      SeparateTaintEvictionController ServiceAccountTokenJTI ServiceAccountTokenNodeBinding
      ServiceAccountTokenNodeBindingValidation ServiceAccountTokenPodNodeInfo SidecarContainers
      StreamingCollectionEncodingToJSON StreamingCollectionEncodingToProtobuf
      StructuredAuthenticationConfiguration SupplementalGroupsPolicy TopologyManagerPolicyOptions
      UserNamespacesSupport VolumeAttributesClass WinDSR WinOverlay`,
  },
  {
    stage: 'DEPRECATED',
    byDefault: true,
    locked: false,
    names: `
      DisableCPUQuotaWithExclusiveCPUs KubeletPodResourcesListUseActivePods ServiceCIDRStatusFieldWiping
      StorageNamespaceIndex`,
  },
  {
    stage: 'DEPRECATED',
    byDefault: true,
    locked: true,
    names: `
      AggregatedDiscoveryRemoveBetaType DisableNodeKubeProxyVersion`,
  },
  {
    stage: 'DEPRECATED',
    byDefault: false,
    locked: false,
    names: `
      AllowDNSOnlyNodeCSR AllowInsecureKubeletCertificateSigningRequests
      ChangeContainerStatusOnKubeletRestart DeclarativeValidationTakeover KMSv1
      KubeletRegistrationGetOnExistsOnly WindowsHostNetwork`,
  },
  {
    stage: 'DEPRECATED',
    byDefault: false,
    locked: true,
    names: `
      AllowOverwriteTerminationGracePeriodSeconds GitRepoVolumeDriver SeparateCacheWatchRPC`,
  },
];

/** What a gate needs, where it needs others. */
const NEEDED: Readonly<Record<string, string>> = {
  AuthorizeNodeWithSelectors: 'AuthorizeWithSelectors',
  ClusterTrustBundleProjection: 'ClusterTrustBundle',
  DRAAdminAccess: 'DynamicResourceAllocation',
  DRAConsumableCapacity: 'DynamicResourceAllocation',
  DRADeviceBindingConditions: 'DynamicResourceAllocation DRAResourceClaimDeviceStatus',
  DRADeviceTaintRules: 'DRADeviceTaints',
  DRADeviceTaints: 'DynamicResourceAllocation',
  DRAExtendedResource: 'DynamicResourceAllocation',
  DRAListTypeAttributes: 'DynamicResourceAllocation',
  DRANodeAllocatableResources: 'DynamicResourceAllocation',
  DRAPartitionableDevices: 'DynamicResourceAllocation',
  DRAPrioritizedList: 'DynamicResourceAllocation',
  DRAResourceClaimGranularStatusAuthorization: 'DynamicResourceAllocation DRAResourceClaimDeviceStatus',
  DRAResourcePoolStatus: 'DynamicResourceAllocation',
  DRASchedulerFilterTimeout: 'DynamicResourceAllocation',
  DRAWorkloadResourceClaims: 'DynamicResourceAllocation GenericWorkload',
  DeclarativeValidationBeta: 'DeclarativeValidation',
  DeclarativeValidationTakeover: 'DeclarativeValidation',
  DisableAllocatorDualWrite: 'MultiCIDRServiceAllocator',
  ExtendWebSocketsToKubelet: 'NodeDeclaredFeatures',
  GangScheduling: 'GenericWorkload',
  GracefulNodeShutdownBasedOnPodPriority: 'GracefulNodeShutdown',
  ImageVolumeWithDigest: 'ImageVolume',
  InPlacePodLevelResourcesVerticalScaling: 'InPlacePodVerticalScaling PodLevelResources NodeDeclaredFeatures',
  InPlacePodVerticalScalingExclusiveCPUs: 'InPlacePodVerticalScaling',
  InPlacePodVerticalScalingExclusiveMemory: 'InPlacePodVerticalScaling',
  InPlacePodVerticalScalingInitContainers: 'InPlacePodVerticalScaling NodeDeclaredFeatures',
  MatchLabelKeysInPodTopologySpreadSelectorMerge: 'MatchLabelKeysInPodTopologySpread',
  PodCertificateRequest: 'AuthorizeNodeWithSelectors',
  PodLevelResourceManagers: 'PodLevelResources',
  PodLifecycleSleepActionAllowZero: 'PodLifecycleSleepAction',
  ProcMountType: 'UserNamespacesSupport',
  ResourceHealthStatus: 'DynamicResourceAllocation',
  ResourceHealthStatusMessage: 'ResourceHealthStatus',
  RestartAllContainersOnContainerExits: 'ContainerRestartRules NodeDeclaredFeatures',
  ServiceAccountTokenNodeBinding: 'ServiceAccountTokenNodeBindingValidation',
  StorageVersionAPI: 'APIServerIdentity',
  StructuredAuthenticationConfigurationEgressSelector: 'StructuredAuthenticationConfiguration',
  StructuredAuthenticationConfigurationJWKSMetrics: 'StructuredAuthenticationConfiguration',
  TopologyAwareWorkloadScheduling: 'GenericWorkload',
  UnknownVersionInteroperabilityProxy: 'APIServerIdentity',
  UserNamespacesHostNetworkSupport: 'UserNamespacesSupport NodeDeclaredFeatures',
  WindowsGracefulNodeShutdown: 'GracefulNodeShutdown',
  WorkloadAwarePreemption: 'GangScheduling',
  WorkloadWithJob: 'GenericWorkload',
};

let specs: ReadonlyMap<string, FeatureSpec> | undefined;

/** The gates by their names. */
export function knownFeatureGates(): ReadonlyMap<string, FeatureSpec> {
  specs ??= new Map(
    GROUPS.flatMap(({ names, ...spec }) => wordsOf(names).map((name) => [name, spec] as const)),
  );
  return specs;
}

/** Each gate that needs others, with these. */
export function neededFeatureGates(): readonly (readonly [name: string, needs: readonly string[]])[] {
  return Object.entries(NEEDED).map(([name, needs]) => [name, wordsOf(needs)] as const);
}

function wordsOf(names: string): readonly string[] {
  return names.trim().split(/\s+/u);
}
