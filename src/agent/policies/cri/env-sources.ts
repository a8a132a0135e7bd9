/** Where variables of containers come from besides objects: files in the kubelet's format (`NAME='value'` on each line), and services. */
import type { KnownServices } from '../../../types/api-objects.ts';
import { invalid, StateletError } from '../../../types/errors.ts';
import type { Pod, Service } from '../../../types/kubernetes.ts';
import { isStaticPod } from '../pod/pod-kinds.ts';

/** The kubelet does not read longer lines. */
const LINE_MAX_LENGTH = 65_535;

/** Reads no more of a file than its variables take, and none of it twice. */
export class EnvFileReader {
  readonly #source: Lines;
  /** The first value of each name in the lines that have been read. */
  readonly #values = new Map<string, string>();

  constructor(text: string) {
    this.#source = new Lines(text);
  }

  /**
   * The value of the first variable of that name; undefined if it is empty or missing. Values may have several lines; no character in
   * them has a special meaning. Throws a StateletError of kind InvalidArgument that names the line and does not repeat what the file
   * holds, for a line before the variable that is broken.
   */
  value(name: string): string | undefined {
    while (!this.#values.has(name)) {
      const variable = this.#next();
      if (variable === undefined) return undefined;
      if (!this.#values.has(variable.name)) this.#values.set(variable.name, variable.value);
    }
    const value = this.#values.get(name);
    return value === '' ? undefined : value;
  }

  #next(): Variable | undefined {
    const source = this.#source;
    while (!source.isAtEnd) {
      const line = source.next().replace(/^[ \t]+/, '');
      if (line !== '' && !line.startsWith('#')) return variableOf(line, source);
    }
    return undefined;
  }
}

interface Variable {
  readonly name: string;
  readonly value: string;
}

class Lines {
  readonly #text: string;
  #offset = 0;
  /** The number of the line that was read last. */
  number = 0;

  constructor(text: string) {
    this.#text = text;
  }

  get isAtEnd(): boolean {
    return this.#offset > this.#text.length;
  }

  next(): string {
    const end = this.#text.indexOf('\n', this.#offset);
    const line = this.#text.slice(this.#offset, end < 0 ? undefined : end);
    this.#offset = (end < 0 ? this.#text.length : end) + 1;
    this.number += 1;
    if (line.length <= LINE_MAX_LENGTH) return line.replace(/\r$/, '');
    throw problem(this.number, `is longer than ${LINE_MAX_LENGTH} characters`);
  }
}

function variableOf(line: string, source: Lines): Variable {
  const equals = line.indexOf('=');
  if (equals < 0) throw problem(source.number, "has no '='");
  const name = line.slice(0, equals);
  if (name === '') throw problem(source.number, "has no name before the '='");
  if (/[ \t]$/.test(name)) throw problem(source.number, "has a blank before the '='");
  const value = line.slice(equals + 1);
  // As in a shell, a blank after the '=' makes the value empty.
  if (/^[ \t]/.test(value)) return { name, value: '' };
  if (!value.startsWith("'")) throw problem(source.number, 'has a value that is not in single quotes');
  return { name, value: quotedValue(value.slice(1), source) };
}

/** `text`: the part of the line after the opening quote. */
function quotedValue(text: string, source: Lines): string {
  const begunAt = source.number;
  const parts: string[] = [];
  let line = text;
  while (!line.includes("'")) {
    parts.push(line);
    if (source.isAtEnd) throw problem(begunAt, 'has a value whose quote is not closed');
    line = source.next();
  }
  const quote = line.indexOf("'");
  if (!/^[ \t]*(?:#|$)/.test(line.slice(quote + 1))) {
    throw problem(source.number, 'has something behind the closing quote that is no comment');
  }
  return [...parts, line.slice(0, quote)].join('\n');
}

function problem(line: number, what: string): StateletError {
  return invalid(`line ${line} ${what}`);
}

// The variables by which containers find the services of a cluster: `NAME_SERVICE_HOST`, `NAME_PORT`, …

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
    throw invalid('nil pod.spec.enableServiceLinks encountered, cannot construct envvars');
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
