/** What a claim gives a pod on this node: a folder of a PersistentVolume of `hostPath` or `local`. */
import { StateletError } from '../../../types/errors.ts';
import type { PersistentVolume, Pod } from '../../../types/kubernetes.ts';
import { matchesNodeTerms } from '../../admission/node-affinity.ts';
import { podContainers, type Volume } from '../volume-source.ts';
import { claimNameOf } from './claim.ts';
import { failedStep, type MountProblem } from './mount-problems.ts';

/** JSON: it is recorded, so that a later agent need not ask for it again. */
export interface ClaimedVolume {
  /** The name of the PersistentVolume. */
  readonly name: string;
  readonly source:
    | { readonly kind: 'hostPath'; readonly path: string; readonly type: string }
    | {
        readonly kind: 'local';
        readonly path: string;
        readonly mountOptions: readonly string[];
        readonly isReadOnly: boolean;
      };
  /** The pod's containers may only read this volume. */
  readonly readOnly: boolean;
  /** No other pod may use it at the same time: its only access mode is ReadWriteOncePod. */
  readonly isExclusive: boolean;
  /** A group that owns the volume, and that every container of the pod gets. */
  readonly group?: number;
}

const SUPPORTED = 'hostPath, local';
const GROUP_ANNOTATION = 'pv.beta.kubernetes.io/gid';

/** The fields of a PersistentVolume's spec that are no source. */
const NO_SOURCES: ReadonlySet<string> = new Set([
  'accessModes',
  'capacity',
  'claimRef',
  'mountOptions',
  'nodeAffinity',
  'persistentVolumeReclaimPolicy',
  'storageClassName',
  'volumeAttributesClassName',
  'volumeMode',
]);

/** Throws where the containers use the volume as files and it is a block device, or the other way round. */
export function checkVolumeMode({ spec }: Pod, { name }: Volume, { spec: own }: PersistentVolume): void {
  const { volumeMode = 'Filesystem' } = own ?? {};
  const containers = podContainers(spec);
  const isMounted = containers.some(({ volumeMounts = [] }) => volumeMounts.some((use) => use.name === name));
  const isDevice = containers.some(({ volumeDevices = [] }) =>
    volumeDevices.some((use) => use.name === name),
  );
  const wrong =
    isMounted && volumeMode !== 'Filesystem'
      ? 'volumeMounts'
      : isDevice && volumeMode !== 'Block'
        ? 'volumeDevices'
        : undefined;
  if (wrong === undefined) return;
  const message = `volume ${name} has volumeMode ${volumeMode}, but is specified in ${wrong}`;
  throw new StateletError('FailedPrecondition', message);
}

/** Throws a MountProblem for a PersistentVolume that this node cannot mount, or must not. */
export function claimedVolume(
  pod: Pod,
  volume: Volume,
  persistentVolume: PersistentVolume,
  nodeLabels: Readonly<Record<string, string>>,
): ClaimedVolume {
  const { name = '', annotations } = persistentVolume.metadata ?? {};
  const { accessModes = [] } = persistentVolume.spec ?? {};
  const group = Number.parseInt(annotations?.[GROUP_ANNOTATION] ?? '', 10);
  checkNodeAffinity(name, persistentVolume, nodeLabels);
  return {
    name,
    source: sourceOf(name, persistentVolume, isOnlyRead(pod, volume)),
    readOnly: isReadOnly(volume),
    isExclusive: accessModes.length === 1 && accessModes[0] === 'ReadWriteOncePod',
    ...(group >= 0 && { group }),
  };
}

/** As with the kubelet, only the labels of the node count. */
function checkNodeAffinity(
  name: string,
  { spec }: PersistentVolume,
  labels: Readonly<Record<string, string>>,
): void {
  const terms = spec?.nodeAffinity?.required?.nodeSelectorTerms;
  if (terms === undefined || matchesNodeTerms(terms, { name: '', labels: new Map(Object.entries(labels)) }))
    return;
  const problem = new StateletError('FailedPrecondition', 'no matching NodeSelectorTerms');
  throw failedStep('MountVolume.NodeAffinity check', name, problem);
}

/** Two volumes of a pod may have one claim, which is mounted once. */
function isOnlyRead(pod: Pod, volume: Volume): boolean {
  const claim = claimNameOf(pod, volume);
  return (pod.spec.volumes ?? []).every((other) => claimNameOf(pod, other) !== claim || isReadOnly(other));
}

function isReadOnly({ persistentVolumeClaim }: Volume): boolean {
  return persistentVolumeClaim?.readOnly === true;
}

function sourceOf(
  name: string,
  { spec = {} }: PersistentVolume,
  isOnlyRead: boolean,
): ClaimedVolume['source'] {
  const { hostPath, local, mountOptions = [], volumeMode } = spec;
  if (hostPath === undefined && local === undefined) throw unsupported(name, spec);
  if (volumeMode === 'Block') {
    const problem = 'block devices (volumeDevices) are not supported; use a claim of volumeMode Filesystem';
    throw failedStep('MountVolume.SetUp', name, new StateletError('Unimplemented', problem));
  }
  if (local) return { kind: 'local', path: local.path, mountOptions, isReadOnly: isOnlyRead };
  if (mountOptions.length > 0) {
    const problem = new StateletError(
      'FailedPrecondition',
      'mount options are not supported for this volume type',
    );
    throw failedStep('MountVolume.MountOptionSupport check', name, problem);
  }
  return { kind: 'hostPath', path: hostPath?.path ?? '', type: hostPath?.type ?? '' };
}

/** Throws where another pod of the node uses a volume that only one pod may use. */
export function checkExclusive({ name, isExclusive }: ClaimedVolume, isUsedByOther: boolean): void {
  if (!isExclusive || !isUsedByOther) return;
  const problem = 'volume uses the ReadWriteOncePod access mode and is already in use by another pod';
  throw failedStep('MountVolume.SetUp', name, new StateletError('FailedPrecondition', problem));
}

/** What an agent has recorded; undefined for any other text, such as the empty file that a crash of the machine can leave. */
export function recordedVolume(text: string): ClaimedVolume | undefined {
  try {
    const { name, source, ...flags } = JSON.parse(text) as Partial<ClaimedVolume>;
    const { kind, path } = (source ?? {}) as Partial<ClaimedVolume['source']>;
    const isKnown = kind === 'hostPath' || kind === 'local';
    if (typeof name !== 'string' || !isKnown || typeof path !== 'string' || !source) return undefined;
    return { readOnly: false, isExclusive: false, ...flags, name, source };
  } catch {
    return undefined;
  }
}

function unsupported(name: string, spec: NonNullable<PersistentVolume['spec']>): MountProblem {
  const kind = Object.keys(spec).find((field) => !NO_SOURCES.has(field)) ?? 'an unknown kind';
  const driver = spec.csi === undefined ? '' : ` (driver ${spec.csi.driver})`;
  const message = `a PersistentVolume of ${kind}${driver} is not supported; there are ${SUPPORTED}`;
  return failedStep('MountVolume.SetUp', name, new StateletError('Unimplemented', message));
}
