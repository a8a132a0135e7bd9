/** The objects that a cluster has from its beginning. */
import { type ApiObjects } from './api-objects.ts';
import { MASTERS, type User } from './context.ts';
import { defaultBindings, defaultRoles } from './roles.ts';
import { typeOf } from './served-types.ts';

export const LOOPBACK: User = { name: 'system:apiserver', groups: [MASTERS] };

const NAMESPACES = ['default', 'kube-system', 'kube-public', 'kube-node-lease'];
const PRIORITIES = { 'system-node-critical': 2_000_001_000, 'system-cluster-critical': 2_000_000_000 };
const KUBERNETES = {
  metadata: { name: 'kubernetes', labels: { component: 'apiserver', provider: 'kubernetes' } },
  spec: { clusterIP: '10.96.0.1', ports: [{ name: 'https', port: 443, targetPort: 6443, protocol: 'TCP' }] },
};

/** Creates those that are not there. */
export function createSystemObjects(objects: ApiObjects): void {
  const ensure = (
    key: string,
    object: object & { readonly metadata: { readonly name: string } },
    namespace?: string,
  ) => {
    const target = { type: typeOf(key), namespace, name: object.metadata.name };
    if (objects.find(target) === undefined) objects.create(target, object, { user: LOOPBACK });
  };
  for (const name of NAMESPACES) ensure('namespaces', { metadata: { name } });
  for (const role of defaultRoles()) ensure('clusterroles.rbac.authorization.k8s.io', role);
  for (const binding of defaultBindings()) ensure('clusterrolebindings.rbac.authorization.k8s.io', binding);
  for (const [name, value] of Object.entries(PRIORITIES))
    ensure('priorityclasses.scheduling.k8s.io', { metadata: { name }, value } as {
      metadata: { name: string };
    });
  ensure('services', KUBERNETES, 'default');
}
