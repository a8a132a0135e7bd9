/**
 * Demands of the API server's validation that its OpenAPI document does not contain: enumerations, forms of names, ranges. Keyed by definition and
 * property as in `src/agent/sources/pod-schema.json`, into which it is merged; rules that concern several fields are in
 * `src/agent/sources/rules/pod-rules.ts`. A `description` completes the sentence "must be …".
 */
export type Schema = Readonly<Record<string, unknown>>;

export interface DefinitionSupplement {
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
}

const DNS_LABEL = '[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?';
const QUALIFIED_NAME = '([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]';
/** Its exponent has three digits, which is more than any amount needs: the agent reads no larger one. */
const AMOUNT = '(\\d+(\\.\\d*)?|\\.\\d+)([eE][-+]?0*\\d{1,3}|[numkMGTPE]|[KMGTPE]i)?';
const AMOUNT_LENGTH = '(?=.{1,1000}$)';

/** Those that the API server knows by name, and the real-time ones. */
const SIGNALS =
  'SIG(ABRT|ALRM|BUS|CHLD|CLD|CONT|FPE|HUP|ILL|INT|IO|IOT|KILL|PIPE|POLL|PROF|PWR|QUIT|SEGV|STKFLT|STOP|SYS|TERM|TRAP|TSTP|' +
  'TTIN|TTOU|URG|USR1|USR2|VTALRM|WINCH|XCPU|XFSZ|RTMIN(\\+([1-9]|1[0-5]))?|RTMAX(-([1-9]|1[0-4]))?)';

/** Shapes of values that several fields share. */
export const SHAPES: Readonly<Record<string, Schema>> = {
  Int32: { type: 'integer', minimum: -(2 ** 31), maximum: 2 ** 31 - 1 },
  Int64: { type: 'integer', minimum: -(2 ** 63), maximum: 2 ** 63 },
  IntOrString: { type: ['integer', 'string'] },
  Time: {
    type: 'string',
    pattern: '^\\d{4}-\\d\\d-\\d\\d[Tt]\\d\\d:\\d\\d:\\d\\d(\\.\\d+)?([Zz]|[-+]\\d\\d:\\d\\d)$',
    description: 'a time such as 2026-01-31T08:00:00Z',
  },
  Quantity: {
    type: ['string', 'number'],
    pattern: `^${AMOUNT_LENGTH}[-+]?${AMOUNT}$`,
    description: 'a quantity such as 500m or 1.5Gi',
  },
  Amount: {
    type: ['string', 'number'],
    pattern: `^${AMOUNT_LENGTH}\\+?${AMOUNT}$`,
    minimum: 0,
    description: 'a quantity such as 500m or 1.5Gi, not negative',
  },
  FileMode: { type: 'integer', minimum: 0, maximum: 0o777 },
  Id: { type: 'integer', minimum: 0, maximum: 2 ** 31 - 1 },
  PortNumber: { type: 'integer', minimum: 1, maximum: 65535 },
  PortName: {
    type: 'string',
    pattern: '^(?=.{1,15}$)(?=.*[a-z])[a-z0-9]+(-[a-z0-9]+)*$',
    description: "the name of a port (at most 15 of a-z, 0-9 and '-', with a letter among them)",
  },
  Port: {
    type: ['integer', 'string'],
    minimum: 1,
    maximum: 65535,
    pattern: '^(?=.{1,15}$)(?=.*[a-z])[a-z0-9]+(-[a-z0-9]+)*$',
    description: 'a port from 1 to 65535 or the name of one',
  },
  DnsLabel: {
    type: 'string',
    pattern: `^${DNS_LABEL}$`,
    description: "a DNS label (at most 63 of a-z, 0-9 and '-', beginning and ending with a letter or digit)",
  },
  DnsSubdomain: {
    type: 'string',
    pattern: '^(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$',
    description: "a DNS name (at most 253 of a-z, 0-9, '-' and '.')",
  },
  Uid: {
    type: 'string',
    pattern: '^[A-Za-z0-9][-A-Za-z0-9_.]{0,127}$',
    description: "a UID (letters, digits, '-', '_' and '.')",
  },
  EnvName: {
    type: 'string',
    pattern: '^[ -<>-~]+$',
    description: "the name of a variable (printable ASCII without '=')",
  },
  LabelKey: {
    type: 'string',
    pattern: `^([A-Za-z0-9][-A-Za-z0-9.]{0,251}[A-Za-z0-9]?/)?${QUALIFIED_NAME}$`,
    description: "a qualified name such as 'app' or 'example.com/app' (its name at most 63 characters)",
  },
  LabelValue: {
    type: 'string',
    pattern: `^(${QUALIFIED_NAME})?$`,
    description: "a label's value (at most 63 of letters, digits, '-', '_' and '.')",
  },
  ResourceName: {
    type: 'string',
    pattern:
      '^(cpu|memory|ephemeral-storage|hugepages-(\\d+(\\.\\d*)?|\\.\\d+)([numkMGTPE]|[KMGTPE]i)?|(?!requests\\.)[^/]+/[^/]+)$',
    description: 'a resource: cpu, memory, ephemeral-storage, hugepages-<size> or a name with a domain',
  },
  Image: {
    type: 'string',
    pattern: '^(\\S([^]*\\S)?)?$',
    description: 'a string without white space around it',
  },
  SysctlName: {
    type: 'string',
    pattern: '^(?=.{1,253}$)([a-z0-9]([-_a-z0-9]*[a-z0-9])?[./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$',
    description: 'the name of a sysctl such as net.core.somaxconn',
  },
  ApiVersion: { type: 'string', enum: ['', 'v1'] },
  PathWithoutDotsIn: {
    type: 'string',
    pattern: '^(?!(.*/)?\\.\\.(/|$))',
    description: "a path without '..'",
  },
  StopSignal: {
    type: 'string',
    pattern: `^(${SIGNALS})$`,
    description: 'a signal such as SIGTERM, SIGUSR1 or SIGRTMIN+3',
  },
  NotEmpty: { type: 'string', pattern: '^[^]', description: 'a text that is not empty' },
  PathWithin: {
    type: 'string',
    pattern: '^(?!/)(?!(.*/)?\\.\\.(/|$))',
    description: "a relative path without '..'",
  },
  PathWithoutDots: {
    type: 'string',
    pattern: '^(?!(.*/)?\\.\\.(/|$))[^]',
    description: "a path without '..'",
  },
  FieldPath: {
    type: 'string',
    pattern:
      "^(metadata\\.(name|namespace|uid|(labels|annotations)(\\['([A-Za-z0-9][-A-Za-z0-9.]*/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?'\\])?)|spec\\.(nodeName|serviceAccountName)|status\\.(hostIPs?|podIPs?))$",
    description:
      "a field of the pod: metadata.name, .namespace, .uid, .labels['KEY'], .annotations['KEY'], spec.nodeName, " +
      'spec.serviceAccountName, status.hostIP, .hostIPs, .podIP or .podIPs',
  },
};

const shape = (name: string, more: Schema = {}): Schema => ({ $ref: `#/$defs/${name}`, ...more });
const oneOf = (...values: readonly string[]): Schema => ({ type: 'string', enum: values });
const atLeast = (minimum: number): Schema => ({ minimum });
const mapOf = (keys: string, values: string): Schema => ({
  propertyNames: shape(keys),
  additionalProperties: shape(values),
});
const resources: DefinitionSupplement = {
  properties: { limits: mapOf('ResourceName', 'Amount'), requests: mapOf('ResourceName', 'Amount') },
};

const containerProperties: Readonly<Record<string, Schema>> = {
  name: shape('DnsLabel'),
  image: shape('Image'),
  imagePullPolicy: oneOf('', 'Always', 'IfNotPresent', 'Never'),
  restartPolicy: oneOf('Always', 'OnFailure', 'Never'),
  restartPolicyRules: { maxItems: 20 },
  terminationMessagePolicy: oneOf('', 'File', 'FallbackToLogsOnError'),
};

export const SUPPLEMENT: Readonly<Record<string, DefinitionSupplement>> = {
  Pod: { required: ['apiVersion', 'kind', 'metadata', 'spec'] },
  ObjectMeta: {
    properties: {
      name: shape('DnsSubdomain'),
      namespace: shape('DnsLabel'),
      uid: shape('Uid'),
      labels: mapOf('LabelKey', 'LabelValue'),
      annotations: { propertyNames: shape('LabelKey') },
      deletionGracePeriodSeconds: atLeast(0),
    },
  },
  PodSpec: {
    properties: {
      containers: { minItems: 1 },
      restartPolicy: oneOf('', 'Always', 'OnFailure', 'Never'),
      dnsPolicy: oneOf('', 'ClusterFirst', 'ClusterFirstWithHostNet', 'Default', 'None'),
      preemptionPolicy: oneOf('PreemptLowerPriority', 'Never'),
      activeDeadlineSeconds: { minimum: 1, maximum: 2 ** 31 - 1 },
      hostname: shape('DnsLabel'),
      subdomain: shape('DnsLabel'),
      nodeSelector: mapOf('LabelKey', 'LabelValue'),
      hostnameOverride: {
        type: 'string',
        pattern: '^(?=.{1,64}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$',
        description: "a DNS name (at most 64 of a-z, 0-9, '-' and '.')",
      },
      runtimeClassName: shape('DnsSubdomain'),
      schedulingGates: { maxItems: 0 },
      overhead: mapOf('ResourceName', 'Amount'),
    },
  },
  PodOS: { properties: { name: oneOf('linux', 'windows') } },
  Container: { properties: containerProperties },
  EphemeralContainer: { properties: containerProperties },
  ContainerPort: {
    properties: {
      name: shape('PortName'),
      containerPort: shape('PortNumber'),
      hostPort: { minimum: 0, maximum: 65535 },
      protocol: oneOf('', 'TCP', 'UDP', 'SCTP'),
    },
  },
  ContainerResizePolicy: {
    properties: {
      resourceName: oneOf('cpu', 'memory'),
      restartPolicy: oneOf('', 'NotRequired', 'RestartContainer'),
    },
  },
  ContainerRestartRule: {
    required: ['exitCodes'],
    properties: { action: oneOf('Restart', 'RestartAllContainers') },
  },
  ContainerRestartRuleOnExitCodes: {
    required: ['values'],
    properties: { operator: oneOf('In', 'NotIn'), values: { maxItems: 255 } },
  },
  EnvVar: { properties: { name: shape('EnvName') } },
  ObjectFieldSelector: { properties: { apiVersion: shape('ApiVersion'), fieldPath: shape('FieldPath') } },
  FileKeySelector: { properties: { path: shape('PathWithoutDotsIn') } },
  PodReadinessGate: { properties: { conditionType: shape('LabelKey') } },
  OwnerReference: {
    properties: {
      apiVersion: shape('NotEmpty'),
      kind: shape('NotEmpty'),
      name: shape('NotEmpty'),
      uid: shape('NotEmpty'),
    },
  },
  Sysctl: { properties: { name: shape('SysctlName') } },
  PodAffinityTerm: { properties: { topologyKey: shape('LabelKey') } },
  WeightedPodAffinityTerm: { properties: { weight: { minimum: 1, maximum: 100 } } },
  PreferredSchedulingTerm: { properties: { weight: { minimum: 1, maximum: 100 } } },
  NodeSelector: { properties: { nodeSelectorTerms: { minItems: 1 } } },
  NFSVolumeSource: {
    properties: {
      server: shape('NotEmpty'),
      path: { type: 'string', pattern: '^/', description: 'an absolute path' },
    },
  },
  ResourceFieldSelector: {
    properties: {
      divisor: shape('Amount'),
      resource: {
        type: 'string',
        pattern: '^(limits|requests)\\.(cpu|memory|ephemeral-storage|hugepages-.+)$',
        description: 'limits. or requests. of cpu, memory, ephemeral-storage or hugepages-SIZE',
      },
    },
  },
  ResourceRequirements: resources,
  VolumeResourceRequirements: {
    properties: {
      limits: { additionalProperties: shape('Amount') },
      requests: { additionalProperties: shape('Amount') },
    },
  },
  Probe: {
    properties: {
      initialDelaySeconds: atLeast(0),
      timeoutSeconds: atLeast(0),
      periodSeconds: atLeast(0),
      successThreshold: atLeast(0),
      failureThreshold: atLeast(0),
      terminationGracePeriodSeconds: atLeast(1),
    },
  },
  HTTPGetAction: { properties: { port: shape('Port'), scheme: oneOf('', 'HTTP', 'HTTPS') } },
  HTTPHeader: {
    properties: {
      name: {
        type: 'string',
        pattern: '^[-A-Za-z0-9]+$',
        description: "the name of a header (letters, digits and '-')",
      },
    },
  },
  TCPSocketAction: { properties: { port: shape('Port') } },
  GRPCAction: { properties: { port: shape('PortNumber') } },
  ExecAction: { required: ['command'], properties: { command: { minItems: 1 } } },
  SleepAction: { properties: { seconds: atLeast(0) } },
  Lifecycle: { properties: { stopSignal: shape('StopSignal') } },
  SecurityContext: {
    properties: {
      procMount: oneOf('Default', 'Unmasked'),
      runAsUser: shape('Id'),
      runAsGroup: shape('Id'),
    },
  },
  PodSecurityContext: {
    properties: {
      fsGroupChangePolicy: oneOf('OnRootMismatch', 'Always'),
      seLinuxChangePolicy: oneOf('Recursive', 'MountOption'),
      supplementalGroupsPolicy: oneOf('Merge', 'Strict'),
      runAsUser: shape('Id'),
      runAsGroup: shape('Id'),
      fsGroup: shape('Id'),
      supplementalGroups: { items: shape('Id') },
    },
  },
  SeccompProfile: { properties: { type: oneOf('Localhost', 'RuntimeDefault', 'Unconfined') } },
  AppArmorProfile: { properties: { type: oneOf('Localhost', 'RuntimeDefault', 'Unconfined') } },
  Toleration: {
    properties: {
      key: {
        type: 'string',
        pattern: `^(([A-Za-z0-9][-A-Za-z0-9.]{0,251}[A-Za-z0-9]?/)?${QUALIFIED_NAME})?$`,
        description: "a qualified name such as 'app' or 'example.com/app'",
      },
      operator: oneOf('', 'Exists', 'Equal'),
      effect: oneOf('', 'NoSchedule', 'PreferNoSchedule', 'NoExecute'),
    },
  },
  TopologySpreadConstraint: {
    properties: {
      maxSkew: atLeast(1),
      topologyKey: shape('NotEmpty'),
      whenUnsatisfiable: oneOf('DoNotSchedule', 'ScheduleAnyway'),
    },
  },
  LabelSelectorRequirement: {
    properties: { operator: oneOf('In', 'NotIn', 'Exists', 'DoesNotExist') },
  },
  NodeSelectorRequirement: {
    properties: { operator: oneOf('In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt') },
  },
  Volume: { properties: { name: shape('DnsLabel') } },
  VolumeMount: {
    properties: {
      mountPath: shape('NotEmpty'),
      subPath: shape('PathWithin'),
      subPathExpr: shape('PathWithin'),
      mountPropagation: oneOf('None', 'HostToContainer', 'Bidirectional'),
      recursiveReadOnly: oneOf('Disabled', 'IfPossible', 'Enabled'),
    },
  },
  VolumeDevice: { properties: { devicePath: shape('NotEmpty') } },
  EmptyDirVolumeSource: {
    properties: {
      sizeLimit: shape('Amount'),
    },
  },
  HostPathVolumeSource: {
    properties: {
      path: shape('PathWithoutDots'),
      type: oneOf(
        '',
        'DirectoryOrCreate',
        'Directory',
        'FileOrCreate',
        'File',
        'Socket',
        'CharDevice',
        'BlockDevice',
      ),
    },
  },
  ImageVolumeSource: { properties: { pullPolicy: oneOf('Always', 'IfNotPresent', 'Never') } },
  KeyToPath: { properties: { path: shape('PathWithin'), mode: shape('FileMode') } },
  DownwardAPIVolumeFile: { properties: { path: shape('PathWithin'), mode: shape('FileMode') } },
  DownwardAPIVolumeSource: { properties: { defaultMode: shape('FileMode') } },
  ProjectedVolumeSource: { properties: { defaultMode: shape('FileMode') } },
  ContainerStatus: { properties: { allocatedResources: { additionalProperties: shape('Quantity') } } },
  PodStatus: { properties: { allocatedResources: { additionalProperties: shape('Quantity') } } },
};
