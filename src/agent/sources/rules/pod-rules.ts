/** The rules of the API server's validation that concern several fields of a pod at once. */
import { compareQuantity, parseQuantity, type Quantity } from '../../policies/formats/quantity.ts';
import { dnsConfigProblems } from '../../policies/network/pod-dns.ts';
import { securityProblems } from '../../policies/security/security-rules.ts';
import type { ManifestProblem } from '../source.ts';
import { child, isTree, items, oneOf, pathOf, type Place, problemAt, repeated, text } from './place.ts';
import { affinity, tolerations, topology } from './scheduling-rules.ts';

type Rule = (place: Place) => Iterable<ManifestProblem>;

const HANDLERS = ['exec', 'httpGet', 'tcpSocket'];
const GRACE_PERIOD_SECONDS = 30;
const PROBES = ['livenessProbe', 'readinessProbe', 'startupProbe'];

/** The problems between fields of the pod. Tolerates a pod that breaks the schema. `nodeName`: where it will be appended to the name. */
export function ruleProblems(pod: unknown, nodeName: string | undefined): ManifestProblem[] {
  if (!isTree(pod)) return [];
  const root: Place = { path: '', value: pod };
  return [...metadataProblems(root, nodeName), ...specProblems(root)];
}

function specProblems(root: Place): ManifestProblem[] {
  return child(root, 'spec').flatMap((spec) => [
    ...SPEC_RULES.flatMap((rule) => [...rule(spec)]),
    ...allContainers(spec).flatMap((container) => CONTAINER_RULES.flatMap((rule) => [...rule(container)])),
  ]);
}

function allContainers(spec: Place): Place[] {
  return [...items(spec, 'initContainers'), ...items(spec, 'containers')];
}

function* names(spec: Place): Iterable<ManifestProblem> {
  yield* repeated(allContainers(spec), 'name');
  yield* repeated(items(spec, 'volumes'), 'name');
}

function* volumes(spec: Place): Iterable<ManifestProblem> {
  for (const volume of items(spec, 'volumes')) {
    const sources = Object.keys(volume.value).filter((field) => field !== 'name');
    yield* oneOf(volume, sources, { orNone: true });
  }
}

function* volumeReferences(spec: Place): Iterable<ManifestProblem> {
  const known = new Set(items(spec, 'volumes').map((volume) => text(volume, 'name')));
  for (const container of allContainers(spec)) {
    if (items(container, 'volumeDevices').length > 0)
      yield problemAt(
        container,
        'volumeDevices',
        'need a claim of a block device, which a pod of a file or URL cannot have',
      );
    for (const mount of items(container, 'volumeMounts')) {
      const name = text(mount, 'name');
      if (name !== undefined && !known.has(name))
        yield problemAt(mount, 'name', `there is no volume "${name}" in spec.volumes`);
    }
  }
}

function* lifecycles(spec: Place): Iterable<ManifestProblem> {
  const graceSeconds = spec.value.terminationGracePeriodSeconds ?? GRACE_PERIOD_SECONDS;
  const system = child(spec, 'os')[0]?.value.name;
  for (const lifecycle of allContainers(spec).flatMap((container) => child(container, 'lifecycle'))) {
    const hooks = ['postStart', 'preStop'].flatMap((field) => child(lifecycle, field));
    for (const sleep of hooks.flatMap((hook) => child(hook, 'sleep'))) {
      if (typeof sleep.value.seconds === 'number' && sleep.value.seconds > Number(graceSeconds))
        yield problemAt(
          sleep,
          'seconds',
          `must not exceed the grace period of the pod, ${Number(graceSeconds)}`,
        );
    }
    const signal = lifecycle.value.stopSignal;
    if (signal !== undefined && !system)
      yield problemAt(lifecycle, 'stopSignal', 'needs spec.os.name: signals differ between systems');
    else if (signal !== undefined && system === 'windows' && signal !== 'SIGTERM' && signal !== 'SIGKILL')
      yield problemAt(lifecycle, 'stopSignal', 'must be SIGTERM or SIGKILL where spec.os.name is windows');
  }
}

function* resizePolicies(spec: Place): Iterable<ManifestProblem> {
  for (const policy of allContainers(spec).flatMap((container) => items(container, 'resizePolicy'))) {
    if (policy.value.restartPolicy === '') yield problemAt(policy, 'restartPolicy', 'must not be empty');
    if (policy.value.restartPolicy === 'RestartContainer' && spec.value.restartPolicy === 'Never')
      yield problemAt(policy, 'restartPolicy', 'must be NotRequired where spec.restartPolicy is Never');
  }
}

function* hostPorts(spec: Place): Iterable<ManifestProblem> {
  // Init containers run one after another: only containers that run together can conflict.
  const groups = [
    ...items(spec, 'initContainers').map((container) => [container]),
    items(spec, 'containers'),
  ];
  for (const group of groups)
    yield* repeatedHostPorts(group.flatMap((container) => items(container, 'ports')));
  if (spec.value.hostNetwork !== true) return;
  for (const port of items(spec, 'containers').flatMap((container) => items(container, 'ports'))) {
    const { hostPort, containerPort } = port.value;
    if (hostPort !== undefined && hostPort !== 0 && hostPort !== containerPort)
      yield problemAt(port, 'hostPort', 'must equal containerPort when spec.hostNetwork is true');
  }
}

function* repeatedHostPorts(ports: readonly Place[]): Iterable<ManifestProblem> {
  yield* repeated(ports, 'hostPort', ({ value }) =>
    value.hostPort === undefined || value.hostPort === 0
      ? undefined
      : JSON.stringify([value.hostPort, value.protocol ?? 'TCP', value.hostIP ?? '']),
  );
}

function* initContainers(spec: Place): Iterable<ManifestProblem> {
  const plain = items(spec, 'initContainers').filter(({ value }) => value.restartPolicy !== 'Always');
  for (const container of plain) {
    for (const field of [...PROBES, 'lifecycle']) {
      if (container.value[field] !== undefined)
        yield problemAt(container, field, 'only an init container with restartPolicy Always may have it');
    }
  }
}

function* ephemeralContainers(spec: Place): Iterable<ManifestProblem> {
  if (items(spec, 'ephemeralContainers').length > 0)
    yield problemAt(
      spec,
      'ephemeralContainers',
      'can only be added to a running pod, through the API server',
    );
}

function* dns(spec: Place): Iterable<ManifestProblem> {
  for (const { path, message } of dnsConfigProblems(spec.value.dnsConfig)) yield { field: path, message };
  const servers = child(spec, 'dnsConfig').flatMap(({ value }) => value.nameservers ?? []);
  if (spec.value.dnsPolicy === 'None' && servers.length === 0)
    yield problemAt(spec, 'dnsConfig', 'must have nameservers when dnsPolicy is None');
}

function* containerNames(container: Place): Iterable<ManifestProblem> {
  yield* repeated(items(container, 'ports'), 'name');
  yield* repeated(items(container, 'volumeMounts'), 'mountPath');
}

function* environment(container: Place): Iterable<ManifestProblem> {
  for (const from of items(container, 'envFrom')) yield* oneOf(from, ['configMapRef', 'secretRef']);
  for (const variable of items(container, 'env')) {
    yield* oneOf(variable, ['value', 'valueFrom'], { orNone: true });
    for (const source of child(variable, 'valueFrom')) {
      yield* oneOf(source, ['fieldRef', 'resourceFieldRef', 'configMapKeyRef', 'secretKeyRef', 'fileKeyRef']);
      for (const ref of child(source, 'fieldRef')) {
        if (/^metadata\.(labels|annotations)$/.test(text(ref, 'fieldPath') ?? ''))
          yield problemAt(ref, 'fieldPath', "a variable holds one label or annotation: add ['KEY']");
      }
    }
  }
}

function* probes(container: Place): Iterable<ManifestProblem> {
  for (const field of PROBES) {
    for (const probe of child(container, field)) {
      yield* oneOf(probe, [...HANDLERS, 'grpc']);
      const threshold = probe.value.successThreshold;
      if (field !== 'readinessProbe' && typeof threshold === 'number' && threshold > 1)
        yield problemAt(probe, 'successThreshold', 'must be 1');
      if (field === 'readinessProbe' && probe.value.terminationGracePeriodSeconds !== undefined)
        yield problemAt(probe, 'terminationGracePeriodSeconds', 'a readiness probe ends nothing');
    }
  }
  for (const lifecycle of child(container, 'lifecycle')) {
    for (const hook of [...child(lifecycle, 'postStart'), ...child(lifecycle, 'preStop')])
      yield* oneOf(hook, [...HANDLERS, 'sleep']);
  }
}

function* restartRules(container: Place): Iterable<ManifestProblem> {
  if (items(container, 'restartPolicyRules').length > 0 && container.value.restartPolicy === undefined)
    yield problemAt(container, 'restartPolicy', 'is required where there are restartPolicyRules');
}

function* resources(container: Place): Iterable<ManifestProblem> {
  for (const place of child(container, 'resources')) {
    const limits = child(place, 'limits')[0]?.value ?? {};
    for (const requests of child(place, 'requests')) {
      for (const [name, request] of Object.entries(requests.value)) {
        if (exceeds(request, limits[name])) yield problemAt(requests, name, 'must not exceed the limit');
      }
    }
  }
}

function exceeds(request: unknown, limit: unknown): boolean {
  const [asked, most] = [quantity(request), quantity(limit)];
  return asked !== undefined && most !== undefined && compareQuantity(asked, most) > 0;
}

/** Undefined for an invalid quantity: the schema validation reports it. */
function quantity(value: unknown): Quantity | undefined {
  if (typeof value !== 'string' && typeof value !== 'number') return undefined;
  try {
    return parseQuantity(value);
  } catch {
    return undefined;
  }
}

function* security(spec: Place): Iterable<ManifestProblem> {
  for (const { path, message } of securityProblems(spec.value)) yield { field: path, message };
}

const SPEC_RULES: readonly Rule[] = [
  security,
  names,
  volumes,
  volumeReferences,
  hostPorts,
  initContainers,
  ephemeralContainers,
  dns,
  lifecycles,
  resizePolicies,
  affinity,
  tolerations,
  topology,
];
const CONTAINER_RULES: readonly Rule[] = [containerNames, environment, probes, restartRules, resources];

type Problems = Iterable<ManifestProblem>;

const NAME_LENGTH_MAX = 253;

const ANNOTATION_BYTES_MAX = 256 * 1024;

const STANDARD_FINALIZERS = ['kubernetes', 'orphan', 'foregroundDeletion'];

const APPARMOR = 'container.apparmor.security.beta.kubernetes.io/';

const APPARMOR_PROFILE = /^(unconfined|runtime\/default|localhost\/.+)?$/;

export function* metadataProblems(root: Place, nodeName: string | undefined): Problems {
  for (const metadata of child(root, 'metadata')) {
    if (metadata.value.name === undefined) yield problemAt(metadata, 'name', 'is required');
    const lengthMax = NAME_LENGTH_MAX - (nodeName === undefined ? 0 : nodeName.length + 1);
    const { length } = text(metadata, 'name') ?? '';
    if (length > lengthMax && length <= NAME_LENGTH_MAX)
      yield problemAt(
        metadata,
        'name',
        `must be at most ${lengthMax} characters: "-${nodeName ?? ''}" is appended`,
      );
    yield* annotations(metadata, root);
    yield* finalizers(metadata);
    if (items(metadata, 'ownerReferences').filter(({ value }) => value.controller === true).length > 1)
      yield problemAt(metadata, 'ownerReferences', 'must name only one controller');
  }
}

function* annotations(metadata: Place, root: Place): Problems {
  for (const place of child(metadata, 'annotations')) {
    const texts = Object.entries(place.value)
      .flat()
      .filter((text) => typeof text === 'string');
    if (texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0) > ANNOTATION_BYTES_MAX)
      yield problemAt(metadata, 'annotations', 'must have no more than 256 KiB together');
    for (const [key, profile] of Object.entries(place.value).filter(([key]) => key.startsWith(APPARMOR))) {
      const name = key.slice(APPARMOR.length);
      if (!containers(root).some(({ value }) => value.name === name))
        yield problemAt(place, key, `there is no container "${name}"`);
      if (typeof profile === 'string' && !APPARMOR_PROFILE.test(profile))
        yield problemAt(place, key, 'must be unconfined, runtime/default or localhost/PROFILE');
    }
  }
}

function containers(root: Place): Place[] {
  return child(root, 'spec').flatMap((spec) => [
    ...items(spec, 'initContainers'),
    ...items(spec, 'containers'),
  ]);
}

function* finalizers(metadata: Place): Problems {
  const { finalizers } = metadata.value;
  if (!Array.isArray(finalizers)) return;
  for (const [index, name] of finalizers.entries()) {
    if (typeof name === 'string' && !name.includes('/') && !STANDARD_FINALIZERS.includes(name))
      yield {
        field: `${pathOf(metadata, 'finalizers')}[${index}]`,
        message: 'must be a name with a domain such as example.com/finalizer',
      };
  }
}
