import type { SELinuxOption } from '../../types/cri.ts';
import type { PodSpec } from '../../types/kubernetes.ts';

type SELinuxOptions = NonNullable<PodSpec['securityContext']>['seLinuxOptions'];

/** What is not given is left empty: the runtime fills it in. */
export function selinuxOption(options: SELinuxOptions): SELinuxOption | undefined {
  if (!options) return undefined;
  const { user = '', role = '', type = '', level = '' } = options;
  return { user, role, type, level };
}
