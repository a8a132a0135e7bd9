/**
 * The rules of the API server's validation for volumes, their mounts and hostAliases that the schema cannot tell. That names
 * are not used twice, that mounts name a volume, and that a volume has one source, is told with the other names of a pod.
 */
import type { Container, EphemeralContainer, PodSpec } from '../../types/kubernetes.ts';
import type { FileKeyRef } from '../cri/container-env.ts';
import { isVolumeFieldPath, UNSUPPORTED_FIELD_PATH } from './downward-api-files.ts';
import { namesOf, pathProblem } from './projected-files.ts';
import { filesVolume } from './volume-source.ts';
import type { Volume, VolumeMount, VolumeProjection } from './volume-source.ts';

export interface VolumeProblem {
  /** `spec.volumes[0].downwardAPI.items[1].path` */
  readonly path: string;
  readonly message: string;
}

type Item = NonNullable<NonNullable<VolumeProjection['downwardAPI']>['items']>[number];

/** What is wrong with a spec that fits the schema. */
export function volumeProblems(spec: PodSpec): readonly VolumeProblem[] {
  return [
    ...each('spec.volumes', spec.volumes, (volume) => ofVolume(spec, volume)),
    ...each('spec.initContainers', spec.initContainers, (container) => ofContainer(spec, container)),
    ...each('spec.containers', spec.containers, (container) => ofContainer(spec, container)),
    ...each('spec.hostAliases', spec.hostAliases, ofHostAlias),
  ];
}

/** Paths are made whole on the way up. */
function each<T>(
  field: string,
  list: readonly T[] | undefined,
  check: (item: T) => readonly VolumeProblem[],
): VolumeProblem[] {
  return (list ?? []).flatMap((item, i) =>
    check(item).map(({ path, message }) => ({
      path: path === '' ? `${field}[${i}]` : `${field}[${i}].${path}`,
      message,
    })),
  );
}

function ofVolume(spec: PodSpec, volume: Volume): VolumeProblem[] {
  const { downwardAPI, projected } = volume;
  return [
    ...each('downwardAPI.items', downwardAPI?.items, (item) => ofItem(spec, item)),
    ...each('projected.sources', projected?.sources, (source) => ofProjection(spec, source)),
    ...((downwardAPI ?? projected) ? repeatedPaths(volume) : []),
  ];
}

function ofProjection(spec: PodSpec, source: VolumeProjection): VolumeProblem[] {
  const kinds = Object.keys(source);
  if (kinds.length === 0) return [{ path: '', message: 'must name a source' }];
  if (kinds.length > 1) return [{ path: '', message: `may have only one of ${kinds.join(', ')}` }];
  return each('downwardAPI.items', source.downwardAPI?.items, (item) => ofItem(spec, item));
}

function ofItem(spec: PodSpec, { path, fieldRef, resourceFieldRef }: Item): VolumeProblem[] {
  const problem = pathProblem(path);
  const problems = problem === undefined ? [] : [{ path: 'path', message: problem }];
  if ((fieldRef === undefined) === (resourceFieldRef === undefined)) {
    return [...problems, { path: '', message: 'must have one of fieldRef, resourceFieldRef' }];
  }
  if (fieldRef && !isVolumeFieldPath(fieldRef.fieldPath)) {
    return [...problems, { path: 'fieldRef.fieldPath', message: UNSUPPORTED_FIELD_PATH }];
  }
  if (!resourceFieldRef) return problems;
  const name = resourceFieldRef.containerName;
  const containers = [...spec.containers, ...(spec.initContainers ?? [])];
  if (containers.some((container) => container.name === name)) return problems;
  const message = name ? `there is no container "${name}"` : 'is required in a volume';
  return [...problems, { path: 'resourceFieldRef.containerName', message }];
}

/** Two files of one path, or a file where another one needs a folder. */
function repeatedPaths(volume: Volume): VolumeProblem[] {
  // Of two files of one path the later one counts, as with the kubelet; in a projected volume it is an error.
  const all = filesVolume(volume).sources.flatMap(pathsOf);
  const paths = volume.projected ? all : [...new Set(all)];
  const clash = pathThatLeadsToAnother(paths);
  return clash === undefined
    ? []
    : [
        {
          path: volume.projected ? 'projected' : 'downwardAPI',
          message: `has two files of the path ${clash}`,
        },
      ];
}

function pathsOf({ downwardAPI, serviceAccountToken, configMap, secret }: VolumeProjection): string[] {
  const items: readonly { readonly path: string }[] = [
    ...(downwardAPI?.items ?? []),
    ...(configMap?.items ?? []),
    ...(secret?.items ?? []),
    ...(serviceAccountToken ? [serviceAccountToken] : []),
  ];
  return items.map(({ path }) => namesOf(path).join('/'));
}

/** Sorted by their names, a path comes right before what lies below it. */
function pathThatLeadsToAnother(paths: readonly string[]): string | undefined {
  const sorted = paths.map((path) => `${path}/`).sort();
  const found = sorted.find((path, i) => sorted[i + 1]?.startsWith(path));
  return found?.slice(0, -1);
}

function ofContainer(spec: PodSpec, container: Container | EphemeralContainer): VolumeProblem[] {
  return [
    ...each('env', container.env, ({ valueFrom }) => ofFileKeyRef(spec, valueFrom?.fileKeyRef)),
    ...each('volumeMounts', container.volumeMounts, (mount) => ofMount(mount, container)),
  ];
}

/** Variables are read from files that the pod itself has written, and not from those of the node. */
function ofFileKeyRef({ volumes = [] }: PodSpec, ref: FileKeyRef | undefined): VolumeProblem[] {
  if (ref === undefined) return [];
  const volume = volumes.find(({ name }) => name === ref.volumeName);
  const rules = [
    ['volumeName', volume ? undefined : `there is no volume "${ref.volumeName}"`],
    ['volumeName', volume && volumeKindOf(volume) !== 'emptyDir' ? 'must name an emptyDir' : undefined],
    ['path', fileKeyPathProblem(ref.path)],
    ['key', VARIABLE_NAME.test(ref.key) ? undefined : "must be printable ASCII characters without '='"],
  ] as const;
  return rules.flatMap(([field, message]) =>
    message === undefined ? [] : [{ path: `valueFrom.fileKeyRef.${field}`, message }],
  );
}

/** As the kubelet takes it: from the volume's root on, with or without a slash in front. */
function fileKeyPathProblem(path: string): string | undefined {
  const names = namesOf(path);
  if (names.length === 0) return 'must not be empty';
  return names.includes('..') ? "must not have '..'" : undefined;
}

const VARIABLE_NAME = /^[ -<>-~]+$/;

/** Other sources are told of elsewhere. */
function volumeKindOf(volume: Volume): string | undefined {
  return Object.keys(volume).find((field) => field !== 'name') ?? 'emptyDir';
}

function ofMount(mount: VolumeMount, { securityContext }: Container | EphemeralContainer): VolumeProblem[] {
  const { subPath, subPathExpr, mountPropagation = 'None', recursiveReadOnly = 'Disabled' } = mount;
  const recursive = recursiveReadOnly !== 'Disabled';
  const rules: readonly (readonly [boolean, string, string])[] = [
    [Boolean(subPath) && Boolean(subPathExpr), 'subPathExpr', 'cannot be given beside subPath'],
    [
      mountPropagation === 'Bidirectional' && securityContext?.privileged !== true,
      'mountPropagation',
      'Bidirectional is only for containers with securityContext.privileged',
    ],
    [recursive && mount.readOnly !== true, 'recursiveReadOnly', 'needs readOnly: true'],
    [recursive && mountPropagation !== 'None', 'recursiveReadOnly', 'needs mountPropagation None'],
  ];
  return rules.filter(([isBroken]) => isBroken).map(([, path, message]) => ({ path, message }));
}

const IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/;
/** Close enough: nothing but an address is written like this. */
const IPV6 = /^(?=.*:.*:)[\da-fA-F:]{2,39}(?:\d*\.[\d.]{5,14})?$/;
const DNS_SUBDOMAIN = /^(?=.{1,253}$)[a-z\d](?:[-a-z\d]*[a-z\d])?(?:\.[a-z\d](?:[-a-z\d]*[a-z\d])?)*$/;

function ofHostAlias({ ip, hostnames = [] }: NonNullable<PodSpec['hostAliases']>[number]): VolumeProblem[] {
  const address = IPV4.test(ip) || IPV6.test(ip) ? [] : [{ path: 'ip', message: 'must be an IP address' }];
  const names = each('hostnames', hostnames, (name) =>
    DNS_SUBDOMAIN.test(name) ? [] : [{ path: '', message: 'must be a DNS name in lower case' }],
  );
  return [...address, ...names];
}
