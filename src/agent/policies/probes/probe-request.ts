/** The requests of probes and lifecycle hooks: addresses, paths, headers, commands and time limits. */
import { StateletError } from '../../../types/errors.ts';
import type { Container } from '../../../types/kubernetes.ts';
import { goRequestURI } from '../formats/go-url.ts';
import { ExecSize, expandVariables } from '../cri/exec-size.ts';
import type { Probe } from './probe.ts';

export type HTTPGetAction = NonNullable<Probe['httpGet']>;
export type TCPSocketAction = NonNullable<Probe['tcpSocket']>;

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** One GET request. */
export interface HTTPRequest extends Address {
  readonly scheme: 'http' | 'https';
  /** With its query. */
  readonly path: string;
  /** The value of the `Host` header; all other headers are in `headers`. */
  readonly hostHeader: string;
  readonly headers: readonly HTTPHeader[];
}

interface HTTPHeader {
  readonly name: string;
  readonly value: string;
}

/** The version in the `User-Agent` header, by which servers recognise probes: that of the kubelet that is followed here. */
const KUBERNETES_VERSION = '1.36';
const DEFAULT_TIMEOUT_SECONDS = 1;
const PORT_MAX = 65_535;

export function userAgent(what: 'probe' | 'lifecycle'): string {
  return `kube-${what}/${KUBERNETES_VERSION}`;
}

export function timeoutSeconds(probe: Probe): number {
  const { timeoutSeconds: seconds = 0 } = probe;
  return seconds > 0 ? seconds : DEFAULT_TIMEOUT_SECONDS;
}

/**
 * An exec probe's command. `$(VAR)` is replaced by a literal value in `env`; references (`valueFrom`) are not resolved. Throws
 * InvalidArgument for more than Linux takes.
 */
export function execCommand(command: readonly string[], container: Container): string[] {
  const size = new ExecSize(container);
  const values = new Map((container.env ?? []).map(({ name, value = '' }) => [name, value]));
  return command.map((part, index) =>
    size.word(`command[${index}] of a probe`, expandVariables(part, values)),
  );
}

/** Without a host in the handler, the address is `podIP`. Throws InvalidArgument if there is none, or the port is invalid. */
export function socketAddress(
  { host, port }: TCPSocketAction,
  container: Container,
  podIP: string | undefined,
): Address {
  return { host: hostOrPodIP(host, podIP), port: portNumber(port, container) };
}

/** Throws InvalidArgument, as `socketAddress` does. */
export function httpRequest(
  action: HTTPGetAction,
  container: Container,
  podIP: string | undefined,
  what: 'probe' | 'lifecycle',
): HTTPRequest {
  const address = socketAddress(action, container, podIP);
  return {
    ...address,
    scheme: action.scheme?.toLowerCase() === 'https' ? 'https' : 'http',
    path: goRequestURI(action.path ?? ''),
    ...requestHeaders(action.httpHeaders ?? [], address, what),
  };
}

/** `host:port`, an IPv6 address in brackets. */
export function hostPort({ host, port }: Address): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

export function requestURL(request: HTTPRequest): string {
  return `${request.scheme}://${hostPort(request)}${request.path}`;
}

export function hostOrPodIP(host: string | undefined, podIP: string | undefined): string {
  const found = host === undefined || host === '' ? podIP : host;
  if (found === undefined || found === '') {
    throw new StateletError('InvalidArgument', 'the pod has no address yet, and the handler names no host');
  }
  return found;
}

/** A port may be a number, a number as text, or the name of one of the container's ports. */
function portNumber(port: number | string, { name, ports = [] }: Container): number {
  const named = ports.find((candidate) => candidate.name !== undefined && candidate.name === port);
  const number = named?.containerPort ?? Number(port);
  if (Number.isInteger(number) && number > 0 && number <= PORT_MAX) return number;
  const cause =
    typeof port === 'string' && Number.isNaN(Number(port))
      ? `container ${name} has no port of the name "${port}"; name it in the container's ports`
      : `invalid port number: ${port}; give one from 1 to ${PORT_MAX}`;
  throw new StateletError('InvalidArgument', cause);
}

/** A handler that gives an empty `Accept` or `User-Agent` sends no such header. */
function requestHeaders(
  own: readonly HTTPHeader[],
  address: Address,
  what: 'probe' | 'lifecycle',
): Pick<HTTPRequest, 'hostHeader' | 'headers'> {
  const defaults = [
    { name: 'User-Agent', value: userAgent(what) },
    { name: 'Accept', value: '*/*' },
  ];
  const missing = defaults.filter(({ name }) => !own.some((header) => isNamed(header, name)));
  const isLeftOut = (header: HTTPHeader) =>
    isNamed(header, 'Host') || (header.value === '' && defaults.some(({ name }) => isNamed(header, name)));
  const host = own.find((header) => isNamed(header, 'Host') && header.value !== '');
  return {
    hostHeader: host?.value ?? hostPort(address),
    headers: [...missing, ...own.filter((header) => !isLeftOut(header))],
  };
}

export function isNamed(header: HTTPHeader, name: string): boolean {
  return header.name.toLowerCase() === name.toLowerCase();
}
