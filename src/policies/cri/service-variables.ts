/** The variables by which containers find the services of a cluster: `NAME_SERVICE_HOST`, `NAME_PORT`, … */
import { StateletError } from '../../types/errors.ts';
import type { KnownServices } from '../../types/api-objects.ts';
import type { Pod, Service } from '../../types/kubernetes.ts';
import { isStaticPod } from '../pod/pod-kinds.ts';

type ServicePort = NonNullable<NonNullable<Service['spec']>['ports']>[number];

/** The service of the API server. Pods of every namespace find it. */
const API_SERVER = { namespace: 'default', name: 'kubernetes' };

/**
 * The variables for services that the pod may see. Throws a StateletError of kind FailedPrecondition while services are not listed:
 * the containers of a pod that is not static wait for them.
 */
export function serviceVariables(pod: Pod, { listed, services }: KnownServices): ReadonlyMap<string, string> {
  const { enableServiceLinks } = pod.spec;
  if (enableServiceLinks === undefined) {
    throw new StateletError(
      'InvalidArgument',
      'nil pod.spec.enableServiceLinks encountered, cannot construct envvars',
    );
  }
  if (!listed && !isStaticPod(pod)) {
    throw new StateletError(
      'FailedPrecondition',
      'services have not yet been read at least once, cannot construct envvars',
    );
  }
  const seen = seenServices(services, pod.metadata.namespace, enableServiceLinks);
  return new Map(seen.flatMap((service) => [...variablesOf(service)]));
}

/** Of two services with one name, that of the pod's own namespace counts. */
function seenServices(
  services: readonly Service[],
  namespace: string,
  enableServiceLinks: boolean,
): readonly Service[] {
  const withAddress = services.filter(({ spec }) => spec?.clusterIP && spec.clusterIP !== 'None');
  const apiServer = withAddress.filter(
    ({ metadata }) => metadata?.namespace === API_SERVER.namespace && metadata.name === API_SERVER.name,
  );
  const own = enableServiceLinks
    ? withAddress.filter(({ metadata }) => metadata?.namespace === namespace)
    : [];
  const byName = new Map([...apiServer, ...own].map((service) => [service.metadata?.name, service]));
  return [...byName.values()];
}

function* variablesOf({ metadata, spec }: Service): Iterable<readonly [string, string]> {
  const prefix = variableName(metadata?.name ?? '');
  const { clusterIP = '', ports = [] } = spec ?? {};
  yield [`${prefix}_SERVICE_HOST`, clusterIP];
  const [first] = ports;
  if (!first) return;
  yield [`${prefix}_SERVICE_PORT`, String(first.port)];
  for (const { name, port } of ports) {
    if (name) yield [`${prefix}_SERVICE_PORT_${variableName(name)}`, String(port)];
  }
  yield [`${prefix}_PORT`, urlOf(first, clusterIP)];
  for (const port of ports) yield* linkVariables(prefix, port, clusterIP);
}

function* linkVariables(
  prefix: string,
  port: ServicePort,
  clusterIP: string,
): Iterable<readonly [string, string]> {
  const protocol = protocolOf(port);
  const name = `${prefix}_PORT_${port.port}_${protocol.toUpperCase()}`;
  yield [name, urlOf(port, clusterIP)];
  yield [`${name}_PROTO`, protocol];
  yield [`${name}_PORT`, String(port.port)];
  yield [`${name}_ADDR`, clusterIP];
}

function urlOf(port: ServicePort, clusterIP: string): string {
  const host = clusterIP.includes(':') ? `[${clusterIP}]` : clusterIP;
  return `${protocolOf(port)}://${host}:${port.port}`;
}

function protocolOf({ protocol = '' }: ServicePort): string {
  return protocol === '' ? 'tcp' : protocol.toLowerCase();
}

function variableName(name: string): string {
  return name.replaceAll('-', '_').toUpperCase();
}
