/** The PersistentVolumeClaim of a pod's volume, and which PersistentVolume it leads to. Messages are the kubelet's. */
import { StateletError } from '../../../types/errors.ts';
import type { PersistentVolume, PersistentVolumeClaim, Pod } from '../../../types/kubernetes.ts';
import { usedVolumes, type Volume } from '../volume-source.ts';

/** The name of the claim; undefined for a volume that needs none. */
export function claimNameOf({ metadata }: Pod, volume: Volume): string | undefined {
  const { persistentVolumeClaim, ephemeral, name } = volume;
  return persistentVolumeClaim?.claimName ?? (ephemeral && `${metadata.name}-${name}`);
}

/** The volumes that the pod's containers use by a claim. */
export function claimsOf(pod: Pod): readonly Volume[] {
  return usedVolumes(pod).filter((volume) => claimNameOf(pod, volume) !== undefined);
}

/** The claim of an `ephemeral` volume is made for one pod. A claim that only has the same name may hold somebody's data. */
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
