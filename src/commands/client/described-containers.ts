/** The containers of a pod, as `kubectl describe` shows them: lines with tabs between their cells. */
import { goQuote } from '../../agent/policies/formats/go-text.ts';
import { oneLine } from '../../agent/policies/formats/terminal-text.ts';
import type { Container, ContainerState, ContainerStatus } from '../../types/kubernetes.ts';

type Probe = NonNullable<Container['livenessProbe']>;

/** `Wed, 01 Jan 2030 00:00:00 +0000`. */
export function longTime(time: string | undefined): string {
  const parsed = new Date(time ?? '');
  return Number.isNaN(parsed.getTime()) ? '<unknown>' : parsed.toUTCString().replace('GMT', '+0000');
}

export function describedContainers(
  label: string,
  containers: readonly Container[],
  statuses: readonly ContainerStatus[] = [],
): readonly string[] {
  return [
    `${label}:`,
    ...containers.flatMap((container) => {
      const status = statuses.find(({ name }) => name === container.name);
      return [`  ${container.name}:`, ...describedContainer(container, status).map((line) => `    ${line}`)];
    }),
  ];
}

function describedContainer(container: Container, status: ContainerStatus | undefined): readonly string[] {
  const { image = '', command = [], args = [] } = container;
  return [
    ...(status ? [`Container ID:\t${oneLine(status.containerID ?? '')}`] : []),
    `Image:\t${oneLine(image)}`,
    ...(status ? [`Image ID:\t${oneLine(status.imageID)}`] : []),
    ...ports(container, 'Port', 'containerPort'),
    ...ports(container, 'Host Port', 'hostPort'),
    ...words('Command:', command),
    ...words('Args:', args),
    ...(status ? stateLines(status) : []),
    ...amounts('Limits:', container.resources?.limits),
    ...amounts('Requests:', container.resources?.requests),
    ...probe('Liveness', container.livenessProbe),
    ...probe('Readiness', container.readinessProbe),
    ...probe('Startup', container.startupProbe),
    ...sources(container),
    ...variables(container),
    ...mounts(container),
  ];
}

function ports(
  { ports = [] }: Container,
  label: string,
  member: 'containerPort' | 'hostPort',
): readonly string[] {
  const texts = ports.map(({ name, protocol = 'TCP', [member]: port = 0 }) =>
    name === undefined ? `${port}/${protocol}` : `${port}/${protocol} (${name})`,
  );
  return [`${label}${texts.length > 1 ? 's' : ''}:\t${texts.join(', ') || '<none>'}`];
}

function words(label: string, texts: readonly string[]): readonly string[] {
  if (texts.length === 0) return [];
  return [label, ...texts.flatMap((text) => text.split('\n')).map((text) => `  ${oneLine(text)}`)];
}

function stateLines({ state, lastState, ready, restartCount }: ContainerStatus): readonly string[] {
  return [
    ...described('State', state),
    ...(lastState?.terminated ? described('Last State', lastState) : []),
    `Ready:\t${ready ? 'True' : 'False'}`,
    `Restart Count:\t${restartCount}`,
  ];
}

function described(label: string, state: ContainerState | undefined): readonly string[] {
  const { running, waiting, terminated } = state ?? {};
  if (running) return [`${label}:\tRunning`, `  Started:\t${longTime(running.startedAt)}`];
  if (!terminated) return [`${label}:\tWaiting`, ...given('  Reason', waiting?.reason)];
  const { reason, message, exitCode, signal = 0, startedAt, finishedAt } = terminated;
  return [
    `${label}:\tTerminated`,
    ...given('  Reason', reason),
    ...given('  Message', message),
    `  Exit Code:\t${exitCode}`,
    ...(signal > 0 ? [`  Signal:\t${signal}`] : []),
    `  Started:\t${longTime(startedAt)}`,
    `  Finished:\t${longTime(finishedAt)}`,
  ];
}

/** A line for a text that is there. */
export function given(label: string, text: string | undefined): readonly string[] {
  return text === undefined || text === '' ? [] : [`${label}:\t${oneLine(text)}`];
}

function amounts(label: string, list: Readonly<Record<string, string>> | undefined): readonly string[] {
  const entries = Object.entries(list ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
  return entries.length === 0 ? [] : [label, ...entries.map(([name, amount]) => `  ${name}:\t${amount}`)];
}

function probe(label: string, own: Probe | undefined): readonly string[] {
  if (own === undefined) return [];
  const { initialDelaySeconds = 0, timeoutSeconds = 1, periodSeconds = 10 } = own;
  const { successThreshold = 1, failureThreshold = 3 } = own;
  const figures = `delay=${initialDelaySeconds}s timeout=${timeoutSeconds}s period=${periodSeconds}s #success=${successThreshold} #failure=${failureThreshold}`;
  return [`${label}:\t${oneLine(`${attempt(own)} ${figures}`)}`];
}

function attempt({ exec, httpGet, tcpSocket, grpc }: Probe): string {
  if (exec) return `exec [${(exec.command ?? []).join(' ')}]`;
  if (httpGet) {
    const { scheme = 'HTTP', host = '', port, path = '' } = httpGet;
    return `http-get ${scheme.toLowerCase()}://${host}:${port}${path}`;
  }
  if (tcpSocket) return `tcp-socket ${tcpSocket.host ?? ''}:${tcpSocket.port}`;
  return grpc ? `grpc <pod>:${grpc.port} ${grpc.service ?? ''}` : 'unknown';
}

function sources({ envFrom = [] }: Container): readonly string[] {
  if (envFrom.length === 0) return [];
  const lines = envFrom.map(({ configMapRef, secretRef, prefix = '' }) => {
    const { name = '', optional = false } = configMapRef ?? secretRef ?? {};
    const kind = configMapRef ? 'ConfigMap' : 'Secret';
    return `  ${name}\t${kind}${prefix === '' ? '' : ` with prefix '${prefix}'`}\tOptional: ${optional}`;
  });
  return ['Environment Variables from:', ...lines];
}

function variables({ env = [] }: Container): readonly string[] {
  if (env.length === 0) return ['Environment:\t<none>'];
  const lines = env.flatMap(({ name, value = '', valueFrom }) => {
    if (valueFrom) return [`  ${name}:\t${reference(valueFrom)}`];
    return value.split('\n').map((text, index) => `  ${index === 0 ? `${name}:` : ''}\t${oneLine(text)}`);
  });
  return ['Environment:', ...lines];
}

type Reference = NonNullable<NonNullable<Container['env']>[number]['valueFrom']>;

/** Values that the agent takes from elsewhere are not repeated. */
function reference({ fieldRef, resourceFieldRef, secretKeyRef, configMapKeyRef }: Reference): string {
  if (fieldRef) return ` (${fieldRef.apiVersion ?? 'v1'}:${fieldRef.fieldPath})`;
  if (resourceFieldRef) return ` (${resourceFieldRef.resource})`;
  const { key = '', name = '', optional = false } = secretKeyRef ?? configMapKeyRef ?? {};
  const place = secretKeyRef ? `in secret '${name}'` : `of config map '${name}'`;
  return `<set to the key '${key}' ${place}>\tOptional: ${optional}`;
}

function mounts({ volumeMounts = [] }: Container): readonly string[] {
  if (volumeMounts.length === 0) return ['Mounts:\t<none>'];
  const sorted = volumeMounts.toSorted((a, b) => (a.mountPath < b.mountPath ? -1 : 1));
  const lines = sorted.map(({ mountPath, name, readOnly = false, subPath = '' }) => {
    const flags = [readOnly ? 'ro' : 'rw', ...(subPath === '' ? [] : [`path=${goQuote(subPath)}`])];
    return `  ${oneLine(mountPath)} from ${name} (${flags.join()})`;
  });
  return ['Mounts:', ...lines];
}
