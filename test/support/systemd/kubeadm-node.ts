/** The files that kubeadm 1.36 writes on a node that joins, and those of its packages. */
import type { SystemdMachine } from './machine.ts';
import { fileURLToPath } from 'node:url';
import { BIN } from '../built.ts';

export interface KubeadmNode {
  readonly machine: SystemdMachine;
  /** Socket of the container runtime. */
  readonly socket: string;
  /** Of the API server. */
  readonly authority: string;
  readonly bootstrapKubeconfig: string;
  readonly nodeIp: string;
  /** Where the unit's output goes. */
  readonly log: string;
}

const UNIT = `[Unit]
Description=kubelet: The Kubernetes Node Agent
Wants=network-online.target
After=network-online.target

[Service]
ExecStart=/usr/bin/kubelet
Restart=always
StartLimitInterval=0
RestartSec=10

[Install]
WantedBy=multi-user.target
`;

const DROP_IN = `[Service]
Environment="KUBELET_KUBECONFIG_ARGS=--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf --kubeconfig=/etc/kubernetes/kubelet.conf"
Environment="KUBELET_CONFIG_ARGS=--config=/var/lib/kubelet/config.yaml"
EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env
EnvironmentFile=-/etc/default/kubelet
ExecStart=
ExecStart=/usr/bin/kubelet $KUBELET_KUBECONFIG_ARGS $KUBELET_CONFIG_ARGS $KUBELET_KUBEADM_ARGS $KUBELET_EXTRA_ARGS
`;

/** Values of zero stand for the kubelet's defaults. */
export const KUBEADM_CONFIGURATION = `apiVersion: kubelet.config.k8s.io/v1beta1
authentication:
  anonymous:
    enabled: false
  webhook:
    cacheTTL: 0s
    enabled: true
  x509:
    clientCAFile: /etc/kubernetes/pki/ca.crt
authorization:
  mode: Webhook
  webhook:
    cacheAuthorizedTTL: 0s
    cacheUnauthorizedTTL: 0s
cgroupDriver: systemd
clusterDNS:
- 10.96.0.10
clusterDomain: cluster.local
containerRuntimeEndpoint: ""
cpuManagerReconcilePeriod: 0s
crashLoopBackOff: {}
evictionPressureTransitionPeriod: 0s
fileCheckFrequency: 0s
healthzBindAddress: 127.0.0.1
healthzPort: 10248
httpCheckFrequency: 0s
imageMaximumGCAge: 0s
imageMinimumGCAge: 0s
kind: KubeletConfiguration
logging:
  flushFrequency: 0
  options:
    json:
      infoBufferSize: "0"
    text:
      infoBufferSize: "0"
  verbosity: 0
memorySwap: {}
nodeStatusReportFrequency: 0s
nodeStatusUpdateFrequency: 0s
rotateCertificates: true
runtimeRequestTimeout: 0s
shutdownGracePeriod: 0s
shutdownGracePeriodCriticalPods: 0s
staticPodPath: /etc/kubernetes/manifests
streamingConnectionIdleTimeout: 0s
syncFrequency: 0s
volumeStatsAggPeriod: 0s
`;

/** The machine's network is that of this machine, on which others may have the usual ports. */
const own = (nodeIp: string) => [
  ...[`--address=${nodeIp}`, `--healthz-bind-address=${nodeIp}`],
  // A full disk of this machine must not evict pods or remove images.
  ...['--eviction-hard=memory.available<1Mi', '--image-gc-high-threshold=100', '--image-gc-low-threshold=99'],
];

/** Lays the files out as they are after `kubeadm join`; the unit is not started. */
export async function layOutKubeadmNode(node: KubeadmNode): Promise<void> {
  const { machine, socket, authority, bootstrapKubeconfig, nodeIp, log } = node;
  await machine.run('sh', fileURLToPath(new URL('kubeadm.sh', import.meta.url)), BIN, socket);
  const kubeadmFlags = [
    ...['--container-runtime-endpoint=unix:///var/run/containerd/containerd.sock', `--node-ip=${nodeIp}`],
    '--pod-infra-container-image=registry.k8s.io/pause:3.10',
    '--register-with-taints=node-role.kubernetes.io/control-plane:NoSchedule',
  ];
  // The targets on which a unit depends by default are masked on the machine.
  const files = {
    '/usr/lib/systemd/system/kubelet.service': UNIT,
    '/usr/lib/systemd/system/kubelet.service.d/10-kubeadm.conf': DROP_IN,
    '/usr/lib/systemd/system/kubelet.service.d/20-test.conf': `[Unit]\nDefaultDependencies=no\n[Service]\nStandardOutput=append:${log}\nStandardError=append:${log}\n`,
    '/var/lib/kubelet/config.yaml': KUBEADM_CONFIGURATION,
    '/var/lib/kubelet/kubeadm-flags.env': `KUBELET_KUBEADM_ARGS="${kubeadmFlags.join(' ')}"\n`,
    '/etc/default/kubelet': `PATH=${process.env.PATH}\nKUBELET_EXTRA_ARGS="${own(nodeIp).join(' ')}"\n`,
    '/etc/kubernetes/pki/ca.crt': authority,
    '/etc/kubernetes/bootstrap-kubelet.conf': bootstrapKubeconfig,
  };
  for (const [path, content] of Object.entries(files)) await writeOn(machine, path, content);
  await machine.systemctl('daemon-reload');
}

/** Writes a file on the machine in one step. */
export async function writeOn(machine: SystemdMachine, path: string, content: string): Promise<void> {
  const script = 'printf %s "$2" > "$1.draft" && mv "$1.draft" "$1"';
  await machine.run('sh', '-c', script, 'sh', path, content);
}
