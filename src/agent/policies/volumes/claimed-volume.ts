/** What a claim gives a pod on this node: a PersistentVolume of `hostPath`, `local` or a CSI driver. */
import { errorKind, errorMessage, StateletError } from '../../../types/errors.ts';
import type { PersistentVolume, PersistentVolumeClaim, Pod } from '../../../types/kubernetes.ts';
import { matchesNodeTerms } from '../admission/node-affinity.ts';
import { type CsiSource, csiSource } from './csi-source.ts';
import {
  podContainers,
  qualifiedPlugin,
  usedVolumes,
  type Volume,
  volumeKind,
  type VolumeKindName,
} from './volume-source.ts';

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
      }
    | CsiSource;
  /** Containers get it as a device, not as files. */
  readonly isBlock?: true;
  /** The pod's containers may only read this volume. */
  readonly readOnly: boolean;
  /** No other pod may use it at the same time: its only access mode is ReadWriteOncePod. */
  readonly isExclusive: boolean;
  /** A group that owns the volume, and that every container of the pod gets. */
  readonly group?: number;
}

export interface VolumeSource {
  readonly volume: Volume;
  /** What its claim leads to; undefined for a volume without a claim. */
  readonly claimed: ClaimedVolume | undefined;
}

/** Throws what `volumeKind` throws. */
export function kindName({ volume, claimed }: VolumeSource): VolumeKindName {
  return claimed?.source.kind ?? volumeKind(volume);
}

/** As the kubelet's metrics name it. Throws what `volumeKind` throws. */
export function pluginOf(source: VolumeSource): string {
  const { volume, claimed } = source;
  const driver = claimed?.source.kind === 'csi' ? claimed.source.driver : volume.csi?.driver;
  return qualifiedPlugin(kindName(source), driver);
}

const SUPPORTED = 'hostPath, local, csi';
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
    ...(isBlock(persistentVolume) && { isBlock: true }),
    readOnly: isReadOnly(volume),
    isExclusive: accessModes.length === 1 && accessModes[0] === 'ReadWriteOncePod',
    ...(group >= 0 && { group }),
  };
}

function isBlock({ spec }: PersistentVolume): boolean {
  return spec?.volumeMode === 'Block';
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
  const { hostPath, local, csi, mountOptions = [] } = spec;
  if (hostPath === undefined && local === undefined && csi === undefined) throw unsupported(name, spec);
  if (hostPath && isBlock({ spec })) {
    const problem = 'a PersistentVolume of hostPath cannot have volumeMode Block; use one of local';
    throw failedStep('MapVolume.SetUpDevice', name, new StateletError('Unimplemented', problem));
  }
  if (csi) return csiSource({ spec }, csi, isOnlyRead, isBlock({ spec }) ? name : undefined);
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
    if (typeof name !== 'string' || !source || !isRecordedSource(source)) return undefined;
    return { readOnly: false, isExclusive: false, ...flags, name, source };
  } catch {
    return undefined;
  }
}

function isRecordedSource(source: Partial<Record<keyof CsiSource | 'path', unknown>>): boolean {
  const { kind, path, driver, handle } = source;
  if (kind === 'csi') return typeof driver === 'string' && typeof handle === 'string';
  return (kind === 'hostPath' || kind === 'local') && typeof path === 'string';
}

function unsupported(name: string, spec: NonNullable<PersistentVolume['spec']>): MountProblem {
  const kind = Object.keys(spec).find((field) => !NO_SOURCES.has(field)) ?? 'an unknown kind';
  const message = `a PersistentVolume of ${kind} is not supported; there are ${SUPPORTED}`;
  return failedStep('MountVolume.SetUp', name, new StateletError('Unimplemented', message));
}

// The PersistentVolumeClaim of a pod's volume, and which PersistentVolume it leads to. Messages are the kubelet's.

/** The name of the claim; undefined for a volume that needs none. */
export function claimNameOf({ metadata }: Pod, volume: Volume): string | undefined {
  const { persistentVolumeClaim, ephemeral, name } = volume;
  return persistentVolumeClaim?.claimName ?? (ephemeral && `${metadata.name}-${name}`);
}

/** The volumes that the pod's containers use by a claim. */
export function claimsOf(pod: Pod): readonly Volume[] {
  return usedVolumes(pod).filter((volume) => claimNameOf(pod, volume) !== undefined);
}

/** The claim of an `ephemeral` volume is made for one pod. A claim that only has the same name may hold other data. */
function isMadeFor({ metadata }: Pod, claim: PersistentVolumeClaim): boolean {
  const owner = claim.metadata?.ownerReferences?.find(({ controller }) => controller === true);
  return owner?.uid === metadata.uid && claim.metadata?.namespace === metadata.namespace;
}

/**
 * The name of the PersistentVolume that the claim is bound to. Throws a StateletError where a pod cannot use the claim, or not yet.
 * `claim` is undefined where there is none.
 */
export function boundVolume(pod: Pod, volume: Volume, claim: PersistentVolumeClaim | undefined): string {
  const name = claimNameOf(pod, volume) ?? '';
  if (claim === undefined) {
    const message = `failed to fetch PVC from API server: persistentvolumeclaims "${name}" not found`;
    throw aboutClaim(pod, name, new StateletError('NotFound', message));
  }
  const problem = bindingProblem(claim);
  if (problem !== undefined) throw aboutClaim(pod, name, new StateletError('FailedPrecondition', problem));
  if (volume.ephemeral && !isMadeFor(pod, claim)) {
    const { namespace, name: podName } = pod.metadata;
    const message = `PVC ${namespace}/${name} was not created for pod ${namespace}/${podName} (pod is not owner)`;
    throw new StateletError('FailedPrecondition', message);
  }
  return claim.spec?.volumeName ?? '';
}

function bindingProblem({ metadata, spec, status }: PersistentVolumeClaim): string | undefined {
  if (metadata?.deletionTimestamp !== undefined) return 'PVC is being deleted';
  if (status?.phase !== 'Bound') return 'PVC is not bound';
  return spec?.volumeName ? undefined : 'PVC has empty pvc.Spec.VolumeName';
}

/** Throws where the PersistentVolume does not exist or is bound to another claim: one of the same name that is gone, for example. */
export function checkBinding(
  pod: Pod,
  claim: PersistentVolumeClaim,
  name: string,
  persistentVolume: PersistentVolume | undefined,
): asserts persistentVolume is PersistentVolume {
  const { name: claimName = '', uid = '' } = claim.metadata ?? {};
  const problem = volumeProblem(name, uid, persistentVolume);
  if (problem !== undefined) throw aboutClaim(pod, claimName, problem);
}

function volumeProblem(
  name: string,
  claimUID: string,
  persistentVolume: PersistentVolume | undefined,
): StateletError | undefined {
  if (persistentVolume === undefined) {
    const message = `failed to get PV ${name} from API server: persistentvolumes "${name}" not found`;
    return new StateletError('NotFound', message);
  }
  const ref = persistentVolume.spec?.claimRef;
  const found = `found PV object ${name} but`;
  if (ref === undefined) {
    const message = `${found} it has a nil pv.Spec.ClaimRef indicating it is not yet bound to the claim`;
    return new StateletError('FailedPrecondition', message);
  }
  if (ref.uid === claimUID) return undefined;
  const message = `${found} its pv.Spec.ClaimRef.UID ${ref.uid ?? ''} does not point to claim.UID ${claimUID}`;
  return new StateletError('FailedPrecondition', message);
}

/** The same problem, with the claim that it is about. */
export function aboutClaim({ metadata }: Pod, claimName: string, problem: StateletError): StateletError {
  const message = `error processing PVC ${metadata.namespace}/${claimName}: ${problem.message}`;
  return new StateletError(problem.kind, message, { cause: problem });
}

/** A problem whose message names the volume and what failed: nothing has to be added to it. */
export class MountProblem extends StateletError {
  constructor(message: string, cause: unknown) {
    super(errorKind(cause), message, { cause });
  }
}

export function failedStep(step: string, volumeName: string, cause: unknown): MountProblem {
  return new MountProblem(`${step} failed for volume "${volumeName}" : ${errorMessage(cause)}`, cause);
}

/** It is not known yet what is to be mounted. `volume`: its name in the pod. */
export function unprocessed(volume: string, cause: unknown): MountProblem {
  const lists = `unmounted volumes=[${volume}], unattached volumes=[], failed to process volumes=[${volume}]`;
  return new MountProblem(`Unable to attach or mount volumes: ${lists}: ${errorMessage(cause)}`, cause);
}

/** The message of the event about a volume that cannot be set up. */
export function mountFailure({ name }: { readonly name: string }, error: unknown): string {
  return error instanceof MountProblem ? error.message : failedStep('MountVolume.SetUp', name, error).message;
}
