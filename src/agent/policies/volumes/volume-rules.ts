/**
 * The rules of the API server's validation for volumes, their mounts and hostAliases that the schema cannot express. The rules
 * about names (used twice, not known) and about volumes of several sources are in src/agent/sources/rules, with those of other fields.
 */
import type { Container, PodSpec } from '../../../types/kubernetes.ts';
import type { FileKeyRef } from '../cri/container-env.ts';
import type { SpecProblem } from '../security/security-rules.ts';
import { isVolumeFieldPath, UNSUPPORTED_FIELD_PATH } from './downward-fields.ts';
import { namesOf, pathProblem } from './projected-files.ts';
import { fileSources, type Volume, type VolumeMount, type VolumeProjection } from './volume-source.ts';
import { named } from '../formats/lookups.ts';

type Problems = Iterable<SpecProblem>;
type Item = NonNullable<NonNullable<VolumeProjection['downwardAPI']>['items']>[number];
type HostAlias = NonNullable<PodSpec['hostAliases']>[number];

/** What is wrong with a spec that fits the schema. */
export function volumeProblems(spec: PodSpec): readonly SpecProblem[] {
  const ofContainer = (path: string, container: Container) => containerProblems(path, container, spec);
  return [
    ...each('spec.volumes', spec.volumes, (path, volume) => ofVolume(path, volume, spec)),
    ...each('spec.initContainers', spec.initContainers, ofContainer),
    ...each('spec.containers', spec.containers, ofContainer),
    ...each('spec.hostAliases', spec.hostAliases, hostAliasProblems),
  ];
}

function* each<T>(
  path: string,
  list: readonly T[] | undefined,
  rule: (path: string, item: T) => Problems,
): Problems {
  for (const [index, item] of (list ?? []).entries()) yield* rule(`${path}[${index}]`, item);
}

function* ofVolume(path: string, volume: Volume, spec: PodSpec): Problems {
  const { downwardAPI, projected } = volume;
  const ofItem = (place: string, item: Item) => itemProblems(place, item, spec);
  yield* each(`${path}.downwardAPI.items`, downwardAPI?.items, ofItem);
  yield* each(`${path}.projected.sources`, projected?.sources, function* (place, source) {
    yield* sourceProblems(place, source);
    if (hasOneKind(source)) yield* each(`${place}.downwardAPI.items`, source.downwardAPI?.items, ofItem);
  });
  if (downwardAPI ?? projected) yield* repeatedPathProblems(path, volume);
}

function hasOneKind(source: VolumeProjection): boolean {
  return Object.keys(source).length === 1;
}

function* sourceProblems(path: string, source: VolumeProjection): Problems {
  const kinds = Object.keys(source);
  if (kinds.length === 0) yield { path, message: 'must name a source' };
  if (kinds.length > 1) yield { path, message: `may have only one of ${kinds.join(', ')}` };
}

function* itemProblems(path: string, item: Item, { containers, initContainers = [] }: PodSpec): Problems {
  const { fieldRef, resourceFieldRef } = item;
  const problem = pathProblem(item.path);
  if (problem !== undefined) yield { path: `${path}.path`, message: problem };
  if ((fieldRef === undefined) === (resourceFieldRef === undefined))
    yield { path, message: 'must have one of fieldRef, resourceFieldRef' };
  else if (fieldRef && !isVolumeFieldPath(fieldRef.fieldPath))
    yield { path: `${path}.fieldRef.fieldPath`, message: UNSUPPORTED_FIELD_PATH };
  else if (resourceFieldRef) {
    const { containerName = '' } = resourceFieldRef;
    if (named(containers, containerName) ?? named(initContainers, containerName)) return;
    const message = containerName ? `there is no container "${containerName}"` : 'is required in a volume';
    yield { path: `${path}.resourceFieldRef.containerName`, message };
  }
}

/** Two files have the same path, or a file has the path of a folder that another file needs. */
function* repeatedPathProblems(path: string, volume: Volume): Problems {
  const all = fileSources(volume).flatMap(filePaths);
  // Two files with the same path are an error in a projected volume; elsewhere the later file counts, as with the kubelet.
  const clash = clashingPath(volume.projected ? all : [...new Set(all)]);
  if (clash === undefined) return;
  const field = volume.projected ? 'projected' : 'downwardAPI';
  yield { path: `${path}.${field}`, message: `has two files of the path ${clash}` };
}

function filePaths({ downwardAPI, serviceAccountToken, configMap, secret }: VolumeProjection): string[] {
  const items: readonly { readonly path: string }[] = [
    ...(downwardAPI?.items ?? []),
    ...(configMap?.items ?? []),
    ...(secret?.items ?? []),
    ...(serviceAccountToken ? [serviceAccountToken] : []),
  ];
  return items.map(({ path }) => namesOf(path).join('/'));
}

/** A path that is equal to another one, or the folder of another one. In sorted order the other one follows it. */
function clashingPath(paths: readonly string[]): string | undefined {
  const sorted = paths.map((path) => `${path}/`).sort();
  const found = sorted.find((path, index) => sorted[index + 1]?.startsWith(path));
  return found?.slice(0, -1);
}

function* containerProblems(path: string, container: Container, spec: PodSpec): Problems {
  yield* each(`${path}.env`, container.env, (place, { valueFrom }) =>
    fileKeyRefProblems(`${place}.valueFrom.fileKeyRef`, valueFrom?.fileKeyRef, spec),
  );
  yield* each(`${path}.volumeMounts`, container.volumeMounts, (place, mount) =>
    mountProblems(place, mount, container),
  );
}

const VARIABLE_NAME = /^[ -<>-~]+$/;

/** A file of variables must be one that the pod itself has written, not a file of the node. */
function* fileKeyRefProblems(path: string, ref: FileKeyRef | undefined, { volumes = [] }: PodSpec): Problems {
  if (ref === undefined) return;
  const volume = named(volumes, ref.volumeName);
  if (volume === undefined)
    yield { path: `${path}.volumeName`, message: `there is no volume "${ref.volumeName}"` };
  else if (sourceOf(volume) !== 'emptyDir')
    yield { path: `${path}.volumeName`, message: 'must name an emptyDir' };
  const problem = fileKeyPathProblem(ref.path);
  if (problem !== undefined) yield { path: `${path}.path`, message: problem };
  if (!VARIABLE_NAME.test(ref.key))
    yield { path: `${path}.key`, message: "must be printable ASCII characters without '='" };
}

/** As the kubelet takes it: from the volume's root on, with or without a slash in front. */
function fileKeyPathProblem(path: string): string | undefined {
  const names = namesOf(path);
  if (names.length === 0) return 'must not be empty';
  return names.includes('..') ? "must not contain '..'" : undefined;
}

/** Unlike `volumeKind`, also for sources that are not supported: those are reported elsewhere. */
function sourceOf(volume: Volume): string {
  return Object.keys(volume).find((field) => field !== 'name') ?? 'emptyDir';
}

function* mountProblems(path: string, mount: VolumeMount, { securityContext }: Container): Problems {
  const { subPath, subPathExpr, mountPropagation = 'None', recursiveReadOnly = 'Disabled' } = mount;
  if (subPath && subPathExpr)
    yield { path: `${path}.subPathExpr`, message: 'cannot be given beside subPath' };
  if (mountPropagation === 'Bidirectional' && securityContext?.privileged !== true)
    yield {
      path: `${path}.mountPropagation`,
      message: 'Bidirectional is only for containers with securityContext.privileged',
    };
  if (recursiveReadOnly === 'Disabled') return;
  if (mount.readOnly !== true) yield { path: `${path}.recursiveReadOnly`, message: 'needs readOnly: true' };
  if (mountPropagation !== 'None')
    yield { path: `${path}.recursiveReadOnly`, message: 'needs mountPropagation None' };
}

const IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/;
/** Not exact, but no other text that is likely to be given looks like this. */
const IPV6 = /^(?=.*:.*:)[\da-fA-F:]{2,39}(?:\d*\.[\d.]{5,14})?$/;
const DNS_SUBDOMAIN = /^(?=.{1,253}$)[a-z\d](?:[-a-z\d]*[a-z\d])?(?:\.[a-z\d](?:[-a-z\d]*[a-z\d])?)*$/;

function* hostAliasProblems(path: string, { ip, hostnames = [] }: HostAlias): Problems {
  if (!IPV4.test(ip) && !IPV6.test(ip)) yield { path: `${path}.ip`, message: 'must be an IP address' };
  for (const [index, name] of hostnames.entries()) {
    if (!DNS_SUBDOMAIN.test(name))
      yield { path: `${path}.hostnames[${index}]`, message: 'must be a DNS name in lower case' };
  }
}
