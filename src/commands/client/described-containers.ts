/** The containers of a pod, as `kubectl describe` shows them: lines with tabs between their cells. */
import { goQuote } from '../../agent/policies/formats/go-text.ts';
import { oneLine } from '../../agent/policies/formats/terminal-text.ts';
import { compareTexts } from '../../agent/policies/formats/text-order.ts';
import { fileFieldValue, resourceFieldValue } from '../../agent/policies/volumes/downward-fields.ts';
import type {
  Container,
  ContainerState,
  ContainerStatus,
  EphemeralContainer,
  Pod,
} from '../../types/kubernetes.ts';
import { amountLines, given, longTime, seccompLines } from './described-parts.ts';

type AnyContainer = Container | EphemeralContainer;
type Probe = NonNullable<Container['livenessProbe']>;

export function describedContainers(
  label: string,
  pod: Pod,
  containers: readonly AnyContainer[],
  statuses: readonly ContainerStatus[] = [],
): readonly string[] {
  return [
    `${label}:`,
    ...containers.flatMap((container) => {
      const status = statuses.find(({ name }) => name === container.name);
      return [
        `  ${container.name}:`,
        ...describedContainer(pod, container, status).map((line) => `    ${line}`),
      ];
    }),
  ];
}

function describedContainer(
  pod: Pod,
  container: AnyContainer,
  status: ContainerStatus | undefined,
): readonly string[] {
  const { image = '', command = [], args = [] } = container;
  return [
    ...(status ? [`Container ID:\t${oneLine(status.containerID ?? '')}`] : []),
    `Image:\t${oneLine(image)}`,
    ...(status ? [`Image ID:\t${oneLine(status.imageID)}`] : []),
    ...ports(container, 'Port', 'containerPort'),
    ...ports(container, 'Host Port', 'hostPort'),
    ...seccompLines(container.securityContext, '  '),
    ...words('Command:', command),
    ...words('Args:', args),
    ...(status ? stateLines(status) : []),
    ...amountLines('Limits:', container.resources?.limits),
    ...amountLines('Requests:', container.resources?.requests),
    ...probe('Liveness', container.livenessProbe),
    ...probe('Readiness', container.readinessProbe),
    ...probe('Startup', container.startupProbe),
    ...sources(container),
    ...variables(pod, container),
    ...mounts(container),
    ...devices(container),
  ];
}

function ports(
  { ports = [] }: AnyContainer,
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
    const name = host.includes(':') ? `[${host}]` : host;
    return `http-get ${scheme.toLowerCase()}://${name}:${port}${encodeURI(path).replaceAll('?', '%3F').replaceAll('#', '%23')}`;
  }
  if (tcpSocket) return `tcp-socket ${tcpSocket.host ?? ''}:${tcpSocket.port}`;
  return grpc ? `grpc <pod>:${grpc.port} ${grpc.service ?? ''}` : 'unknown';
}

function sources({ envFrom = [] }: AnyContainer): readonly string[] {
  if (envFrom.length === 0) return [];
  const lines = envFrom.map(({ configMapRef, secretRef, prefix = '' }) => {
    const { name = '', optional = false } = configMapRef ?? secretRef ?? {};
    const kind = configMapRef ? 'ConfigMap' : 'Secret';
    return `  ${name}\t${kind}${prefix === '' ? '' : ` with prefix '${prefix}'`}\tOptional: ${optional}`;
  });
  return ['Environment Variables from:', ...lines];
}

function variables(pod: Pod, container: AnyContainer): readonly string[] {
  const { env = [] } = container;
  if (env.length === 0) return ['Environment:\t<none>'];
  const lines = env.flatMap(({ name, value = '', valueFrom }) => {
    if (valueFrom) return [`  ${name}:\t${reference(pod, container, valueFrom)}`];
    return value.split('\n').map((text, index) => `  ${index === 0 ? `${name}:` : ''}\t${oneLine(text)}`);
  });
  return ['Environment:', ...lines];
}

type Reference = NonNullable<NonNullable<Container['env']>[number]['valueFrom']>;

/** Values of ConfigMaps and Secrets are not repeated, and of fields of the pod those of its metadata alone, as in kubectl. */
function reference(
  pod: Pod,
  container: AnyContainer,
  { fieldRef, resourceFieldRef, secretKeyRef, configMapKeyRef }: Reference,
): string {
  if (fieldRef) {
    const value = unlessInvalid(() => fileFieldValue(pod, fieldRef.fieldPath));
    return `${oneLine(value)} (${fieldRef.apiVersion ?? 'v1'}:${fieldRef.fieldPath})`;
  }
  if (resourceFieldRef) {
    const { resource } = resourceFieldRef;
    const value = unlessInvalid(() => resourceFieldValue(pod, container, resourceFieldRef, {}));
    const isOfNode = value === '0' && /^limits\.(?:cpu|memory)$/u.test(resource);
    return `${isOfNode ? 'node allocatable' : value} (${resource})`;
  }
  const { key = '', name = '', optional = false } = secretKeyRef ?? configMapKeyRef ?? {};
  const place = secretKeyRef ? `in secret '${name}'` : `of config map '${name}'`;
  return `<set to the key '${key}' ${place}>\tOptional: ${optional}`;
}

/** kubectl shows nothing for a field that no container can read. */
function unlessInvalid(read: () => string): string {
  try {
    return read();
  } catch {
    return '';
  }
}

function mounts({ volumeMounts = [] }: AnyContainer): readonly string[] {
  if (volumeMounts.length === 0) return ['Mounts:\t<none>'];
  const sorted = volumeMounts.toSorted((a, b) => (a.mountPath < b.mountPath ? -1 : 1));
  const lines = sorted.map(({ mountPath, name, readOnly = false, subPath = '' }) => {
    const flags = [readOnly ? 'ro' : 'rw', ...(subPath === '' ? [] : [`path=${goQuote(subPath)}`])];
    return `  ${oneLine(mountPath)} from ${name} (${flags.join()})`;
  });
  return ['Mounts:', ...lines];
}

function devices({ volumeDevices = [] }: AnyContainer): readonly string[] {
  if (volumeDevices.length === 0) return [];
  const sorted = volumeDevices.toSorted((a, b) => compareTexts(a.devicePath, b.devicePath));
  return ['Devices:', ...sorted.map(({ devicePath, name }) => `  ${oneLine(devicePath)} from ${name}`)];
}
