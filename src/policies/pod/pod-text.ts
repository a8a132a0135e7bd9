import type { Pod } from '../../types/kubernetes.ts';

/** How the kubelet names a pod in messages: `name_namespace(uid)`. */
export function podText({ metadata: { name, namespace, uid } }: Pod): string {
  return `${name}_${namespace}(${uid})`;
}
