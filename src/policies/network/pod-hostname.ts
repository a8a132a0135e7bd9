/** The name that a pod goes by on its network. */
import type { Pod } from '../../types/kubernetes.ts';
import { StateletError } from '../../types/errors.ts';

/** Longest host name that DNS takes as one label. */
const HOSTNAME_MAX_LENGTH = 63;
/** What `nodename` of Linux' `struct utsname` holds. */
const NODENAME_MAX_LENGTH = 64;

/** The domain of a pod that has a subdomain; empty without one. */
export function podDomain({ metadata, spec }: Pod, clusterDomain: string): string {
  if (!spec.subdomain || spec.hostnameOverride) return '';
  return [spec.subdomain, metadata.namespace, 'svc', clusterDomain].filter((part) => part !== '').join('.');
}

/**
 * The host name of a pod with a network of its own: `hostnameOverride` before `hostname` before the pod's name, cut to what a
 * host name may be. With `setHostnameAsFQDN` its domain is part of it. Throws a StateletError of kind InvalidArgument where
 * that is more than the kernel takes.
 */
export function podHostname(pod: Pod, clusterDomain: string): string {
  const { hostnameOverride, hostname, setHostnameAsFQDN } = pod.spec;
  // Of the API, an empty text stands for nothing.
  const name = [hostnameOverride, hostname].find(Boolean) ?? shortened(pod.metadata.name);
  const domain = podDomain(pod, clusterDomain);
  if (domain === '' || setHostnameAsFQDN !== true) return name;
  const fqdn = `${name}.${domain}`;
  if (fqdn.length <= NODENAME_MAX_LENGTH) return fqdn;
  throw new StateletError(
    'InvalidArgument',
    `setHostnameAsFQDN: the host name ${fqdn} is too long: ${NODENAME_MAX_LENGTH} characters is the most that Linux ` +
      `takes, and it has ${fqdn.length}; give the pod a shorter hostname or subdomain`,
  );
}

function shortened(name: string): string {
  return name.slice(0, HOSTNAME_MAX_LENGTH).replace(/[-.]+$/, '');
}
