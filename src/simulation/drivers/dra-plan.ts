/** Which ResourceClaims the cluster of a simulated node has, and which pods use them. */
import type { Container, PodSpec } from '../../types/kubernetes.ts';
import { pick } from '../plugins/plugins-plan.ts';
import type { KeyedRandom } from '../resources/growth.ts';

export interface DraPlan {
  readonly driver: string;
  /** In the namespace of all pods. */
  readonly claims: readonly string[];
}

const SHARE = 0.9;
const USES = 0.6;
const HAS_OWN = 0.4;
const ENTRY = 'gpu';
const TEMPLATE = 'gpu-template';

/** Undefined for a node without DRA drivers. */
export function drawnDra(random: KeyedRandom): DraPlan | undefined {
  if (random('dra') >= SHARE) return undefined;
  return { driver: 'gpus.dra.example', claims: ['claim-1', 'claim-2', 'claim-3'] };
}

/** The spec of a pod of the API server on such a node. */
export function withClaim(spec: PodSpec, uid: string, plan: DraPlan, random: KeyedRandom): PodSpec {
  const drawn = (what: string) => random(`dra/pod/${uid}/${what}`);
  const [first, ...others] = spec.containers;
  if (first === undefined || drawn('uses') >= USES) return spec;
  const claiming: Container = { ...first, resources: { ...first.resources, claims: [{ name: ENTRY }] } };
  const source =
    drawn('own') < HAS_OWN
      ? { resourceClaimTemplateName: TEMPLATE }
      : { resourceClaimName: pick(plan.claims, drawn('claim')) };
  return { ...spec, containers: [claiming, ...others], resourceClaims: [{ name: ENTRY, ...source }] };
}

/** The pod's entry for a claim that is made for it alone. */
export function ownClaimEntry({ resourceClaims = [] }: PodSpec): string | undefined {
  return resourceClaims.find(({ resourceClaimTemplateName }) => resourceClaimTemplateName !== undefined)
    ?.name;
}
