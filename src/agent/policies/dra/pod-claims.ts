/**
 * Which ResourceClaims a pod has, whether it may use them, and which of them a container has. Messages of errors are the
 * kubelet's.
 */
import { StateletError } from '../../../types/errors.ts';
import type { Container, EphemeralContainer, Pod, ResourceClaim } from '../../../types/kubernetes.ts';
import { isExtendedResourceName } from '../node/node-capacity.ts';
import { parseQuantity } from '../formats/quantity.ts';

/** A ResourceClaim that a pod names. */
export interface PodClaim {
  /** The name of the ResourceClaim, in the pod's namespace. */
  readonly name: string;
  /** It was made from a template for this pod, which owns it. */
  readonly isOwned: boolean;
}

type PodClaimEntry = NonNullable<Pod['spec']['resourceClaims']>[number];
type ClaimingContainer = Pick<Container | EphemeralContainer, 'name' | 'resources'>;

/** Devices of this class are asked for as an extended resource without a name of its own. */
const DEVICE_CLASS_PREFIX = 'deviceclass.resource.kubernetes.io/';

export function hasClaims({ spec, status }: Pod): boolean {
  return (spec.resourceClaims ?? []).length > 0 || status?.extendedResourceClaimStatus !== undefined;
}

/** The pod's claims, without those that were intentionally not made from their templates. Throws if one has not been made yet. */
export function podClaims(pod: Pod): readonly PodClaim[] {
  const own = (pod.spec.resourceClaims ?? []).flatMap((entry) => claimOf(pod, entry) ?? []);
  const { extendedResourceClaimStatus: extended } = pod.status ?? {};
  return extended === undefined ? own : [...own, { name: extended.resourceClaimName, isOwned: false }];
}

/** The name of the ResourceClaim for a claim of the pod. Undefined if it has not been made yet, or was intentionally not made. */
export function claimName({ spec, status }: Pod, name: string): string | undefined {
  const entry = spec.resourceClaims?.find((one) => one.name === name);
  const made = status?.resourceClaimStatuses?.find((one) => one.name === name);
  return entry && (entry.resourceClaimName ?? made?.resourceClaimName);
}

function claimOf(pod: Pod, entry: PodClaimEntry): PodClaim | undefined {
  const { name, resourceClaimName, resourceClaimTemplateName } = entry;
  if (resourceClaimName !== undefined) return { name: resourceClaimName, isOwned: false };
  const who = `pod "${pod.metadata.namespace}/${pod.metadata.name}"`;
  if (resourceClaimTemplateName === undefined)
    throw unusable(`${who}, spec.resourceClaim "${name}": none of the supported fields are set`);
  const made = (pod.status?.resourceClaimStatuses ?? []).find((status) => status.name === name);
  if (made === undefined) throw unusable(`${who}: ResourceClaim not created yet`);
  return made.resourceClaimName === undefined ? undefined : { name: made.resourceClaimName, isOwned: true };
}

/** The drivers of the devices that are allocated to the claim. Throws an error that says why the pod may not use it. */
export function usableClaimDrivers(
  pod: Pod,
  { name, isOwned }: PodClaim,
  claim: ResourceClaim,
): readonly string[] {
  const { uid, namespace, name: podName } = pod.metadata;
  const { metadata = {}, status = {} } = claim;
  const isOwner = metadata.ownerReferences?.some((owner) => owner.controller === true && owner.uid === uid);
  if (isOwned && isOwner !== true)
    throw unusable(
      `ResourceClaim ${namespace}/${name} was not created for Pod ${namespace}/${podName} (Pod is not owner)`,
    );
  if (status.reservedFor?.some((consumer) => consumer.uid === uid) !== true)
    throw unusable(
      `pod ${podName} (${uid}) is not allowed to use ResourceClaim ${name} (${metadata.uid ?? ''})`,
    );
  if (status.allocation === undefined) throw unusable(`ResourceClaim ${name}: not allocated`);
  return [...new Set((status.allocation.devices?.results ?? []).map(({ driver }) => driver))];
}

function unusable(message: string): StateletError {
  return new StateletError('FailedPrecondition', message);
}

/** By the names of the claims: the requests of the claim that the container uses, an empty one for all of them. */
export function containerClaims(
  pod: Pod,
  container: ClaimingContainer,
): ReadonlyMap<string, readonly string[]> {
  const claims = new Map<string, readonly string[]>();
  const add = (name: string, requests: readonly string[]) =>
    claims.set(name, [...(claims.get(name) ?? []), ...requests]);
  for (const { name, request = '' } of container.resources?.claims ?? []) {
    const claim = claimName(pod, name);
    if (claim !== undefined) add(claim, [request]);
  }
  const { extendedResourceClaimStatus: extended } = pod.status ?? {};
  const requests = (extended?.requestMappings ?? []).filter(
    ({ containerName, resourceName }) =>
      containerName === container.name && asksForExtended(container, resourceName),
  );
  if (extended && requests.length > 0)
    add(
      extended.resourceClaimName,
      requests.map(({ requestName }) => requestName),
    );
  return claims;
}

function asksForExtended({ resources }: ClaimingContainer, name: string): boolean {
  const amount = resources?.requests?.[name];
  if (amount === undefined || parseQuantity(amount).nanos === 0n) return false;
  return isExtendedResourceName(name) || name.startsWith(DEVICE_CLASS_PREFIX);
}
