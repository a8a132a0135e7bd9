/** The flags of the programs of a control plane. */
import { join } from 'node:path';
import type { CertificateAuthority } from './certificates.ts';

/** Everything is on loopback, except `nodeIp`. */
export interface Places {
  readonly dir: string;
  readonly ca: CertificateAuthority;
  readonly nodeIp: string;
  readonly ports: {
    readonly etcd: number;
    readonly etcdPeers: number;
    readonly apiServer: number;
    readonly controllerManager: number;
    readonly scheduler: number;
  };
}

const SERVICES = '10.96.0.0/16';

export function etcdFlags({ dir, ports }: Places): string[] {
  const [client, peer] = [`http://127.0.0.1:${ports.etcd}`, `http://127.0.0.1:${ports.etcdPeers}`];
  return flags({
    'data-dir': join(dir, 'etcd'),
    'listen-client-urls': client,
    'advertise-client-urls': client,
    'listen-peer-urls': peer,
    'initial-advertise-peer-urls': peer,
    'initial-cluster': `default=${peer}`,
    'unsafe-no-fsync': 'true',
    'log-level': 'warn',
  });
}

/** `serviceAccounts`: whether a controller manager makes them; without it no pod could be created if they were required. */
export function apiServerFlags({ dir, ca, nodeIp, ports }: Places, serviceAccounts: boolean): string[] {
  const [serving, kubeletClient, tokens] = ['apiserver', 'apiserver-kubelet-client', 'service-accounts'].map(
    (name) => ca.filesOf(name),
  );
  return flags({
    'bind-address': '127.0.0.1',
    'secure-port': String(ports.apiServer),
    'advertise-address': nodeIp,
    'cert-dir': join(dir, 'kube-apiserver'),
    'etcd-servers': `http://127.0.0.1:${ports.etcd}`,
    'service-cluster-ip-range': SERVICES,
    'allow-privileged': 'true',
    'authorization-mode': 'Node,RBAC',
    'enable-admission-plugins': 'NodeRestriction',
    ...(!serviceAccounts && { 'disable-admission-plugins': 'ServiceAccount' }),
    'enable-bootstrap-token-auth': 'true',
    'client-ca-file': ca.files.cert,
    'tls-cert-file': serving?.cert,
    'tls-private-key-file': serving?.key,
    'kubelet-client-certificate': kubeletClient?.cert,
    'kubelet-client-key': kubeletClient?.key,
    'kubelet-certificate-authority': ca.files.cert,
    'kubelet-preferred-address-types': 'InternalIP',
    'service-account-issuer': 'https://kubernetes.default.svc',
    'service-account-key-file': tokens?.cert,
    'service-account-signing-key-file': tokens?.key,
  });
}

export function controllerManagerFlags(places: Places, kubeconfig: string): string[] {
  const { ca, ports } = places;
  return flags({
    ...clientFlags(kubeconfig, ports.controllerManager, join(places.dir, 'kube-controller-manager')),
    'use-service-account-credentials': 'true',
    'client-ca-file': ca.files.cert,
    'root-ca-file': ca.files.cert,
    'service-account-private-key-file': ca.filesOf('service-accounts').key,
    'cluster-signing-cert-file': ca.files.cert,
    'cluster-signing-key-file': ca.files.key,
    'service-cluster-ip-range': SERVICES,
  });
}

export function schedulerFlags({ dir, ports }: Places, kubeconfig: string): string[] {
  return flags(clientFlags(kubeconfig, ports.scheduler, join(dir, 'kube-scheduler')));
}

function clientFlags(kubeconfig: string, port: number, certDir: string): Record<string, string> {
  return {
    'bind-address': '127.0.0.1',
    'secure-port': String(port),
    'cert-dir': certDir,
    'leader-elect': 'false',
    kubeconfig,
    'authentication-kubeconfig': kubeconfig,
    'authorization-kubeconfig': kubeconfig,
  };
}

function flags(values: Readonly<Record<string, string | undefined>>): string[] {
  return Object.entries(values).map(([name, value = '']) => `--${name}=${value}`);
}
