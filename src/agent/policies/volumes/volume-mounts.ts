/** How a container mounts a volume: read-only or not, which mounts it shares with the node, which part of the volume. */
import type { MountPropagation } from '../../../types/cri.ts';
import type { Container, EphemeralContainer } from '../../../types/kubernetes.ts';
import { StateletError } from '../../../types/errors.ts';
import { expandVariables, referredNames } from '../cri/exec-size.ts';
import { namesOf } from './projected-files.ts';
import { VOLUME_KINDS, type VolumeKindName, type VolumeMount } from './volume-source.ts';

/** Linux' PATH_MAX, with the NUL at the end. The path of the volume comes before it. */
const PATH_BYTES_MAX = 4096;
const PATH_TOO_LONG = `the path in the volume must be shorter than ${PATH_BYTES_MAX} bytes`;

export interface MountPlan {
  readonly containerPath: string;
  readonly readonly: boolean;
  readonly recursiveReadOnly: boolean;
  readonly propagation: MountPropagation;
  /** The names in the path below the volume's root (none for `.`); undefined if the container mounts the whole volume. */
  readonly subPath: readonly string[] | undefined;
  /** Whether the volume belongs to the pod, so that it may get the pod's SELinux label. */
  readonly selinuxRelabel: boolean;
}

interface MountFacts {
  readonly container: Container | EphemeralContainer;
  readonly kind: VolumeKindName;
  /** The container's resolved environment. */
  readonly env: ReadonlyMap<string, string>;
  /** Whether the runtime can make a mount read-only together with all mounts below it. */
  readonly supportsRecursiveReadOnly: boolean;
}

/** Throws a StateletError of kind InvalidArgument for a mount that is not possible. */
export function mountPlan(mount: VolumeMount, facts: MountFacts): MountPlan {
  const { mountPath } = mount;
  return {
    containerPath: containerMountPath(mountPath),
    readonly: mount.readOnly === true || VOLUME_KINDS[facts.kind].isReadOnly === true,
    recursiveReadOnly: recursiveReadOnly(mount, facts),
    propagation: propagation(mount, facts.container),
    subPath: subPathNames(mount, facts.env),
    selinuxRelabel: facts.kind !== 'hostPath',
  };
}

/** The path for the runtime: a path in a container begins at its root. */
export function containerMountPath(mountPath: string): string {
  return mountPath.startsWith('/') ? mountPath : `/${mountPath}`;
}

function propagation(
  { name, mountPropagation }: VolumeMount,
  { securityContext }: MountFacts['container'],
): MountPropagation {
  switch (mountPropagation) {
    case undefined:
    case 'None':
      return 'PROPAGATION_PRIVATE';
    case 'HostToContainer':
      return 'PROPAGATION_HOST_TO_CONTAINER';
    case 'Bidirectional':
      if (securityContext?.privileged === true) return 'PROPAGATION_BIDIRECTIONAL';
      throw invalid(name, 'mountPropagation Bidirectional is only for privileged containers');
    default:
      throw invalid(name, `mountPropagation ${mountPropagation} is not known`);
  }
}

function recursiveReadOnly(mount: VolumeMount, { supportsRecursiveReadOnly }: MountFacts): boolean {
  const { name, recursiveReadOnly: mode = 'Disabled', mountPropagation = 'None' } = mount;
  if (mode === 'Disabled') return false;
  if (mount.readOnly !== true) throw invalid(name, `recursiveReadOnly ${mode} needs readOnly`);
  if (mountPropagation !== 'None') {
    throw invalid(
      name,
      `recursiveReadOnly ${mode} is not possible with mountPropagation ${mountPropagation}`,
    );
  }
  if (mode === 'IfPossible' || supportsRecursiveReadOnly) return supportsRecursiveReadOnly;
  const problem = `volume "${name}" requested recursive read-only mode, but it is not supported by the runtime`;
  throw new StateletError('InvalidArgument', `failed to resolve recursive read-only mode: ${problem}`);
}

function subPathNames(
  { name, subPath, subPathExpr }: VolumeMount,
  env: ReadonlyMap<string, string>,
): readonly string[] | undefined {
  const path = subPathExpr ? expanded(subPathExpr, name, env) : (subPath ?? '');
  if (path.length >= PATH_BYTES_MAX) throw invalid(name, PATH_TOO_LONG);
  if (path.startsWith('/')) throw invalid(name, `subPath ${path} must not be an absolute path`);
  if (path === '') return undefined;
  const names = namesOf(path);
  if (names.includes('..')) throw invalid(name, `subPath ${path} must not contain '..'`);
  if (path.includes('\0')) throw invalid(name, 'subPath must not have a NUL character');
  return names;
}

/** As with the kubelet, an empty variable counts as missing. */
function expanded(expression: string, volume: string, env: ReadonlyMap<string, string>): string {
  const missing = new Set<string>();
  for (const name of referredNames(expression)) if (!env.get(name)) missing.add(name);
  if (missing.size > 0)
    throw new StateletError('InvalidArgument', `missing value for ${[...missing].sort().join(', ')}`);
  const path = expandVariables(expression, env);
  if (path === undefined) throw invalid(volume, PATH_TOO_LONG);
  return path;
}

function invalid(volume: string, problem: string): StateletError {
  return new StateletError('InvalidArgument', `volumeMount ${volume}: ${problem}`);
}
