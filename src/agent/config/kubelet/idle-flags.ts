/**
 * Flags of the kubelet that have no effect here. They are read as the kubelet reads them, so that its command line can stay as it is; one
 * that does not have its default is a warning.
 */
import { invalid } from '../../../types/errors.ts';
import {
  bool,
  duration,
  filePatterns,
  type FlagType,
  integer,
  oneOf,
  pairs,
  quantity,
  text,
} from './flag-types.ts';

interface IdleFlag {
  readonly type: FlagType;
  readonly byDefault: string;
  /** Completes the sentence "the kubelet's flag says …". */
  readonly what: string;
}

/** The texts that were given, by the names of their flags without the hyphens. */
export type IdleFlags = Readonly<Record<string, readonly string[]>>;

const INT64 = integer(-(2 ** 63), 2 ** 63);

/** Name, type, default, and what it says, in the order of the kubelet's help. */
const TABLE: readonly (readonly [name: string, type: FlagType, byDefault: string, what: string])[] = [
  ['application-metrics-count-limit', INT64, '100', 'how many metrics of an application its cAdvisor keeps'],
  ['boot-id-file', text, '/proc/sys/kernel/random/boot_id', 'where its cAdvisor reads the id of the boot'],
  ['container-hints', text, '/etc/cadvisor/container_hints.json', 'which file of hints its cAdvisor reads'],
  ['containerd', text, '/run/containerd/containerd.sock', 'which socket its cAdvisor uses'],
  ['containerd-namespace', text, 'k8s.io', 'which namespace of containerd its cAdvisor uses'],
  ['contention-profiling', bool, 'false', 'whether locks of Go are profiled'],
  [
    'enable-controller-attach-detach',
    bool,
    'true',
    'whether a controller attaches volumes, as one always does here',
  ],
  ['enable-load-reader', bool, 'false', 'whether its cAdvisor measures the load'],
  ['event-storage-age-limit', text, 'default=0', 'how long its cAdvisor keeps events'],
  ['event-storage-event-limit', text, 'default=0', 'how many events its cAdvisor keeps'],
  ['exit-on-lock-contention', bool, 'false', 'whether it ends when another one wants --lock-file'],
  [
    'experimental-allocatable-ignore-eviction',
    bool,
    'false',
    'whether thresholds of eviction are not taken off what pods may have',
  ],
  ['experimental-mounter-path', text, '', 'which program mounts'],
  ['fail-cgroupv1', bool, 'true', 'whether it refuses to start with cgroup v1'],
  ['fail-swap-on', bool, 'true', 'whether it refuses to start where swap is on'],
  ['global-housekeeping-interval', duration, '1m0s', 'how often its cAdvisor looks at cgroups'],
  [
    'hairpin-mode',
    oneOf('promiscuous-bridge', 'hairpin-veth', 'none'),
    'promiscuous-bridge',
    "how a pod reaches itself by its service, which is the CNI plugin's business",
  ],
  ['housekeeping-interval', duration, '10s', 'how often its cAdvisor looks at cgroups'],
  ['kernel-memcg-notification', bool, 'false', 'whether the kernel tells when memory crosses a threshold'],
  [
    'kube-api-content-type',
    text,
    'application/vnd.kubernetes.protobuf',
    'in which format it speaks with the API server, which is JSON here',
  ],
  ['lock-file', text, '', 'which file it locks'],
  ['log-cadvisor-usage', bool, 'false', 'whether its log has the usage of its cAdvisor'],
  ['log-flush-frequency', duration, '5s', 'how often the log is flushed: each line is written at once here'],
  ['log-json-info-buffer-size', quantity, '0', 'how much of the log is buffered'],
  ['log-json-split-stream', bool, 'false', 'whether errors of the log go to stderr'],
  ['log-text-info-buffer-size', quantity, '0', 'how much of the log is buffered'],
  ['log-text-split-stream', bool, 'false', 'whether errors of the log go to stderr'],
  [
    'machine-id-file',
    text,
    '/etc/machine-id,/var/lib/dbus/machine-id',
    'where its cAdvisor reads the id of the machine',
  ],
  ['make-iptables-util-chains', bool, 'true', 'whether it makes chains of iptables'],
  ['max-housekeeping-interval', duration, '15s', 'how often its cAdvisor looks at cgroups'],
  [
    'max-open-files',
    integer(0, 2 ** 63),
    '1000000',
    "how many files it may open: the unit's LimitNOFILE says it here",
  ],
  [
    'oom-score-adj',
    integer(-1000, 1000),
    '-999',
    "which oom_score_adj it has: the unit's OOMScoreAdjust says it here",
  ],
  ['pod-cidr', text, '', 'which addresses pods have, for network plugins that have gone'],
  [
    'pod-infra-container-image',
    text,
    '',
    "which image sandboxes have: the container runtime's configuration says it",
  ],
  [
    'protect-kernel-defaults',
    bool,
    'false',
    'whether it refuses to start where sysctls of the kernel are not as it wants them',
  ],
  ['qos-reserved', pairs, '', 'which part of their requests is kept for pods of a QoS class'],
  ['runonce', bool, 'false', 'whether it ends when its pods run'],
  ['storage-driver-buffer-duration', duration, '1m0s', 'which database its cAdvisor writes to'],
  ['storage-driver-db', text, 'cadvisor', 'which database its cAdvisor writes to'],
  ['storage-driver-host', text, 'localhost:8086', 'which database its cAdvisor writes to'],
  ['storage-driver-password', text, 'root', 'which database its cAdvisor writes to'],
  ['storage-driver-secure', bool, 'false', 'which database its cAdvisor writes to'],
  ['storage-driver-table', text, 'stats', 'which database its cAdvisor writes to'],
  ['storage-driver-user', text, 'root', 'which database its cAdvisor writes to'],
  ['vmodule', filePatterns, '', 'how much single files of its source log'],
  [
    'volume-plugin-dir',
    text,
    '/usr/libexec/kubernetes/kubelet-plugins/volume/exec/',
    'where FlexVolume plugins are',
  ],
  ['volume-stats-agg-period', duration, '1m0s', 'how often the usage of volumes is measured'],
];

let table: ReadonlyMap<string, IdleFlag> | undefined;

/** The flags by their names without the hyphens. */
export function idleFlags(): ReadonlyMap<string, IdleFlag> {
  table ??= new Map(TABLE.map(([name, type, byDefault, what]) => [name, { type, byDefault, what }]));
  return table;
}

/** Whether the flag may stand without a value. */
export function isBoolean({ type }: IdleFlag): boolean {
  return type === bool;
}

/** A sentence for each flag that does not have its default. Throws `InvalidArgument` for values that the kubelet refuses. */
export function idleFlagWarnings(given: IdleFlags): readonly string[] {
  const values = Object.entries(given).map(([name, texts]) => [name, valueOf(name, texts)] as const);
  checkTogether(Object.fromEntries(values));
  return values.flatMap(([name, value]) => {
    const { type, byDefault, what } = flagOf(name);
    if (value === (type.read(byDefault) ?? byDefault)) return [];
    return [`--${name}: has no effect; the kubelet's flag says ${what}`];
  });
}

/** Each flag with what was given, else its default; without the password. */
export function shownIdleFlags(given: IdleFlags): Readonly<Record<string, string>> {
  const texts = [...idleFlags()].map(([name, { type, byDefault }]) => {
    const values = given[name] ?? [byDefault];
    return [name, type.isJoined ? values.join(',') : (values.at(-1) ?? '')] as const;
  });
  return { ...Object.fromEntries(texts), 'storage-driver-password': '<masked>' };
}

function flagOf(name: string): IdleFlag {
  return idleFlags().get(name) ?? { type: text, byDefault: '', what: '' };
}

function valueOf(name: string, texts: readonly string[]): string {
  const { type } = flagOf(name);
  const values = texts.map((given) => {
    const value = type.read(given);
    if (value === undefined)
      throw invalid(`--${name}: must be ${type.expects} (got ${JSON.stringify(given)})`);
    return value;
  });
  return type.isJoined ? values.filter((value) => value !== '').join(',') : (values.at(-1) ?? '');
}

function checkTogether(values: Readonly<Record<string, string>>): void {
  if (values.runonce === 'true')
    throw invalid('--runonce: must be false, as with the kubelet: use "statelet run-once"');
  if (values['exit-on-lock-contention'] === 'true' && (values['lock-file'] ?? '') === '')
    throw invalid('--exit-on-lock-contention: needs --lock-file');
}
