/** Settings of a node that belongs to a cluster, with the kubelet's flags, fields and defaults. */
import {
  CHANGE_DETECTION_STRATEGIES,
  type ChangeDetectionStrategy,
  type ClusterSettings,
} from '../../types/node-settings.ts';
import { StateletError } from '../../types/errors.ts';
import {
  type GivenSettings,
  absolute,
  atLeast,
  burst,
  duration,
  flagOrNot,
  type Kind,
  number,
  positive,
  resolveSettings,
  type Setting,
  text,
  timer,
} from './setting.ts';

const CLUSTER_SETTINGS: { readonly [Name in keyof ClusterSettings]: Setting<ClusterSettings[Name]> } = {
  kubeconfig: {
    flag: '--kubeconfig <FILE>',
    default: '',
    kind: text,
    description: 'how to reach the API server, and as whom; without it the node belongs to no cluster',
  },
  bootstrapKubeconfig: {
    flag: '--bootstrap-kubeconfig <FILE>',
    default: '',
    kind: text,
    description:
      'credentials that only ask for a client certificate; used where --kubeconfig has no valid one',
  },
  certDir: {
    flag: '--cert-dir <DIR>',
    default: '',
    kind: text,
    description: 'where certificates are kept; by default the folder pki in the root folder',
  },
  rotateCertificates: {
    flag: '--rotate-certificates [BOOL]',
    field: 'rotateCertificates',
    default: false,
    kind: flagOrNot,
    description: 'whether a new client certificate is asked for before the old one expires',
  },
  serverTLSBootstrap: {
    flag: '--rotate-server-certificates [BOOL]',
    field: 'serverTLSBootstrap',
    default: false,
    kind: flagOrNot,
    description: 'whether the serving certificate is asked for at the API server',
  },
  registerNode: {
    flag: '--register-node [BOOL]',
    field: 'registerNode',
    default: true,
    kind: flagOrNot,
    description: 'whether the node registers itself at the API server',
  },
  registerSchedulable: {
    flag: '--register-schedulable [BOOL]',
    default: true,
    kind: flagOrNot,
    description: 'whether the node is schedulable when it registers',
  },
  providerID: {
    flag: '--provider-id <ID>',
    field: 'providerID',
    default: '',
    kind: text,
    description: 'the name by which the cloud provider knows this machine',
  },
  cloudProvider: {
    flag: '--cloud-provider <NAME>',
    default: '',
    kind: text,
    description: 'external: a cloud controller initializes the node',
    problem: (value) => (['', 'external'].includes(value) ? undefined : 'external, or not given'),
  },
  nodeStatusUpdateFrequencyMs: {
    flag: '--node-status-update-frequency <DURATION>',
    field: 'nodeStatusUpdateFrequency',
    default: 10_000,
    kind: duration,
    description: "how often the node's status is computed; it is reported when it has changed",
    problem: timer(1),
  },
  nodeStatusReportFrequencyMs: {
    flag: '--node-status-report-frequency <DURATION>',
    field: 'nodeStatusReportFrequency',
    default: 300_000,
    kind: duration,
    description: "how often the node's status is reported if it does not change",
    problem: timer(1),
  },
  nodeLeaseDurationSeconds: {
    flag: '--node-lease-duration-seconds <N>',
    field: 'nodeLeaseDurationSeconds',
    default: 40,
    kind: positive,
    description: "how long the node's lease is valid; it is renewed four times as often",
    problem: atLeast(1),
  },
  nodeStatusMaxImages: {
    flag: '--node-status-max-images <N>',
    field: 'nodeStatusMaxImages',
    default: 50,
    kind: number,
    description: "how many images the node's status lists; -1: all",
    problem: atLeast(-1),
  },
  kubeAPIQPS: {
    flag: '--kube-api-qps <N>',
    field: 'kubeAPIQPS',
    default: 50,
    kind: burst,
    description: 'how many requests a second go to the API server',
    problem: atLeast(1),
  },
  kubeAPIBurst: {
    flag: '--kube-api-burst <N>',
    field: 'kubeAPIBurst',
    default: 100,
    kind: burst,
    description: 'how many requests go to the API server in a short burst',
    problem: atLeast(1),
  },
  eventRecordQPS: {
    flag: '--event-qps <N>',
    field: 'eventRecordQPS',
    default: 50,
    kind: number,
    description: 'how many events a second are created; 0: no limit',
    problem: atLeast(0),
  },
  eventBurst: {
    flag: '--event-burst <N>',
    field: 'eventBurst',
    default: 100,
    kind: burst,
    description: 'how many events are created in a short burst',
    problem: atLeast(1),
  },
  configMapAndSecretChangeDetectionStrategy: {
    field: 'configMapAndSecretChangeDetectionStrategy',
    default: 'Watch',
    kind: text as Kind<ChangeDetectionStrategy>,
    description: 'how changes of ConfigMaps and Secrets are noticed that pods refer to',
    problem: (value) => (CHANGE_DETECTION_STRATEGIES.includes(value) ? undefined : 'Watch, Cache or Get'),
  },
};

/** All rows of the table. */
export const ALL_CLUSTER_SETTINGS = Object.values(CLUSTER_SETTINGS) as unknown as readonly Setting[];

/** Throws `InvalidArgument`; the message names the flag or the field whose value is not valid. */
export function resolveClusterSettings(given: GivenSettings): ClusterSettings {
  const settings = resolveSettings<ClusterSettings>(CLUSTER_SETTINGS, given);
  const { kubeconfig, bootstrapKubeconfig, certDir, serverTLSBootstrap } = settings;
  if (bootstrapKubeconfig !== '' && kubeconfig === '') {
    const mend = '--kubeconfig must say where the credentials are written that it brings';
    throw new StateletError('InvalidArgument', `--bootstrap-kubeconfig: ${mend}`);
  }
  if (serverTLSBootstrap && kubeconfig === '') {
    const mend = 'needs an API server that is asked for the certificate: give --kubeconfig';
    throw new StateletError('InvalidArgument', `${given.fileName}: serverTLSBootstrap: ${mend}`);
  }
  return {
    ...settings,
    kubeconfig: absolute(kubeconfig),
    bootstrapKubeconfig: absolute(bootstrapKubeconfig),
    certDir: absolute(certDir),
  };
}
