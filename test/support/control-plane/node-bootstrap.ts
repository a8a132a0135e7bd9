/** The objects with which a node can request its first certificate, as kubeadm sets them up. */
import { readFileSync, writeFileSync } from 'node:fs';
import type { ControlPlane } from './control-plane.ts';

const TOKEN = 'abcdef.0123456789abcdef';

/** Makes a token with which a node may request its first certificate. Nodes may renew theirs. */
export async function allowBootstrap(controlPlane: ControlPlane): Promise<void> {
  const [id, secret] = TOKEN.split('.');
  const binding = (name: string, role: string, group: string) => ({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: group }],
  });
  const approver = 'system:certificates.k8s.io:certificatesigningrequests';
  await controlPlane.apply(
    {
      apiVersion: 'v1',
      kind: 'Secret',
      type: 'bootstrap.kubernetes.io/token',
      metadata: { name: `bootstrap-token-${id}`, namespace: 'kube-system' },
      stringData: { 'token-id': id, 'token-secret': secret, 'usage-bootstrap-authentication': 'true' },
    },
    binding('bootstrap', 'system:node-bootstrapper', 'system:bootstrappers'),
    binding('approve', `${approver}:nodeclient`, 'system:bootstrappers'),
    binding('renew', `${approver}:selfnodeclient`, 'system:nodes'),
  );
}

/**
 * Writes the kubeconfig with that token, as kubeadm writes it, and returns the path. `address`: another than the server's own, which its
 * certificate does not name.
 */
export function writeBootstrapKubeconfig(
  path: string,
  { server, ca }: ControlPlane,
  address?: string,
): string {
  const authority = readFileSync(ca.files.cert, 'base64');
  const config = {
    'current-context': 'x',
    contexts: [{ name: 'x', context: { cluster: 'x', user: 'x' } }],
    clusters: [
      {
        name: 'x',
        cluster: {
          server: address ?? server,
          'certificate-authority-data': authority,
          ...(address !== undefined && { 'tls-server-name': 'localhost' }),
        },
      },
    ],
    users: [{ name: 'x', user: { token: TOKEN } }],
  };
  writeFileSync(path, JSON.stringify(config));
  return path;
}
