/** The host name and domain of a pod. */
import type { Pod } from '../../types/kubernetes.ts';
import { StateletError } from '../../types/errors.ts';

/** The longest label of a DNS name. */
const HOSTNAME_MAX_LENGTH = 63;
/** The longest host name that Linux stores (`nodename` of `struct utsname`). */
const NODENAME_MAX_LENGTH = 64;

/** The domain of a pod that has a subdomain; empty without one. */
export function podDomain({ metadata, spec }: Pod, clusterDomain: string): string {
  if (!spec.subdomain || spec.hostnameOverride) return '';
  return [spec.subdomain, metadata.namespace, 'svc', clusterDomain].filter((part) => part !== '').join('.');
}

/**
 * The host name of a pod with its own network: `hostnameOverride`, else `hostname`, else the pod's name, shortened to one
 * label of a DNS name. With `setHostnameAsFQDN` it includes the domain. Throws a StateletError of kind InvalidArgument, with the
 * kubelet's message, if that is longer than Linux allows.
 */
export function podHostname(pod: Pod, clusterDomain: string): string {
  const { hostnameOverride, hostname, setHostnameAsFQDN } = pod.spec;
  // In the API, an empty text is the same as no text.
  const name = shortened([hostnameOverride, hostname].find(Boolean) ?? pod.metadata.name);
  const domain = podDomain(pod, clusterDomain);
  if (domain === '' || setHostnameAsFQDN !== true) return name;
  const fqdn = `${name}.${domain}`;
  if (fqdn.length <= NODENAME_MAX_LENGTH) return fqdn;
  throw new StateletError(
    'InvalidArgument',
    `failed to construct FQDN from pod hostname and cluster domain, FQDN ${fqdn} is too long ` +
      `(${NODENAME_MAX_LENGTH} characters is the max, ${fqdn.length} characters requested)`,
  );
}

function shortened(name: string): string {
  return name.slice(0, HOSTNAME_MAX_LENGTH).replace(/(?<![-.])[-.]+$/, '');
}
