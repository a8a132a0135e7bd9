/** The node authorizer: what a node may do follows from the pods that are bound to it. */
import type { ApiResource, Subresource } from '../../../src/agent/cluster/service/api-resources.ts';
import { type ApiVerb, NodeRights, noRelationship } from '../../../src/simulation/api/node-rights.ts';
import { referenceKey, referencesOf } from '../../../src/simulation/api/pod-references.ts';
import type { Pod } from '../../../src/types/kubernetes.ts';
import type { AnyObject, Store } from './context.ts';
import { allows, type Attributes, type PolicyRule, READ, rule } from './policy-rule.ts';

/** What every node may do with objects of these kinds, whatever its pods are. */
const NODE_RULES: readonly PolicyRule[] = [
  rule(['create'], 'authentication.k8s.io', 'tokenreviews'),
  rule(['create'], 'authorization.k8s.io', 'subjectaccessreviews', 'localsubjectaccessreviews'),
  rule(READ, '', 'services'),
  rule(['create', 'update', 'patch'], '', 'events'),
  rule(['create', 'update', 'patch'], 'events.k8s.io', 'events'),
  rule(['get'], '', 'endpoints'),
  rule(['create', ...READ], 'certificates.k8s.io', 'certificatesigningrequests'),
  rule(READ, 'certificates.k8s.io', 'clustertrustbundles'),
  rule(READ, 'node.k8s.io', 'runtimeclasses'),
  rule(READ, 'storage.k8s.io', 'csidrivers'),
];
/** Kinds with rules of their own, which the simulation has as well. */
const WITH_RIGHTS: ReadonlyMap<string, string> = new Map([
  ...['pods', 'nodes', 'configmaps', 'secrets'].map((resource) => [resource, ''] as const),
  ['leases', 'coordination.k8s.io'],
  ['volumeattachments', 'storage.k8s.io'],
]);

/** Admission refuses with the same words. */
export const NOT_OWN_CSI_NODE = 'can only access CSINode with the same name as the requesting node';

const POD_SUBRESOURCES: ReadonlySet<string> = new Set(['', 'status', 'eviction']);

export class NodeAuthorizer {
  readonly #store: Store;
  readonly #rights = new Map<string, NodeRights>();

  constructor(store: Store) {
    this.#store = store;
  }

  /** Undefined: the node may. Empty: it may not, and there is no more to say. */
  whyRefused(nodeName: string, attributes: Attributes): string | undefined {
    const { group, resource } = attributes;
    if (WITH_RIGHTS.get(resource) === group) return this.#whyNotByRights(nodeName, attributes);
    if (group === '') {
      if (resource.startsWith('persistentvolume')) return this.#whyNoVolume(nodeName, attributes);
      if (resource === 'serviceaccounts') return this.#whyNoToken(nodeName, attributes);
    }
    if (group === 'storage.k8s.io' && resource === 'csinodes') return whyNoCSINode(nodeName, attributes);
    if (group === 'resource.k8s.io' && resource === 'resourceclaims')
      return this.#whyNoResourceClaim(nodeName, attributes);
    if (group === 'resource.k8s.io' && resource === 'resourceslices')
      return this.#whyNoSlice(nodeName, attributes);
    return NODE_RULES.some((each) => allows(each, attributes)) ? undefined : '';
  }

  /** The rules of admission (NodeRestriction) for that node. */
  rightsOf(nodeName: string): NodeRights {
    const known = this.#rights.get(nodeName);
    if (known !== undefined) return known;
    const rights = new NodeRights({
      nodeName,
      isKnownHere: (namespace, name) => this.#podsOf(nodeName).some((pod) => isNamed(pod, namespace, name)),
      isReferredTo: (object) =>
        this.#podsOf(nodeName).some((pod) =>
          referencesOf(pod as unknown as Pod).some((one) => referenceKey(one) === referenceKey(object)),
        ),
      isAttachedHere: (name) => {
        const found = this.#store.get('volumeattachments.storage.k8s.io', { name }) as AnyObject | undefined;
        return found?.spec.nodeName === nodeName;
      },
      nodeUID: () => this.#store.get('nodes', { name: nodeName })?.metadata.uid,
    });
    this.#rights.set(nodeName, rights);
    return rights;
  }

  #podsOf(nodeName: string): AnyObject[] {
    return (this.#store.list('pods') as AnyObject[]).filter(({ spec }) => spec?.nodeName === nodeName);
  }

  #whyNotByRights(nodeName: string, attributes: Attributes): string | undefined {
    const { verb, resource, subresource, namespace, name, fieldSelector } = attributes;
    if (resource === 'pods' && !POD_SUBRESOURCES.has(subresource)) return '';
    if (resource === 'pods' && name !== '' && (verb === 'list' || verb === 'watch'))
      return this.#podsOf(nodeName).some((pod) => isNamed(pod, namespace ?? '', name))
        ? undefined
        : noRelationship(nodeName);
    if (resource === 'nodes') return this.#whyNoNode(nodeName, attributes);
    if (resource === 'secrets' && this.#isSecretOfVolume(nodeName, attributes)) return undefined;
    const isCollection = verb === 'list' || verb === 'watch' || name === '';
    const target = {
      resource: resource as ApiResource,
      ...(namespace !== undefined && { namespace }),
      ...(!isCollection && { name }),
      ...(subresource !== '' && { subresource: subresource as Subresource }),
    };
    const selector = fieldSelector ?? (name !== '' && isCollection ? `metadata.name=${name}` : '');
    const why = this.rightsOf(nodeName).whyRefused({
      verb: verb as ApiVerb,
      target: target,
      fieldSelector: selector,
    });
    return why?.startsWith('the node cannot ') === true ? '' : why;
  }

  /** Admission checks the name of a new or changed node. */
  #whyNoNode(nodeName: string, { verb, name, subresource }: Attributes): string | undefined {
    if (verb === 'create' || verb === 'update' || verb === 'patch')
      return subresource === '' || subresource === 'status' ? undefined : '';
    if (verb === 'delete' || verb === 'deletecollection' || subresource !== '') return '';
    if (name === nodeName) return undefined;
    return name === ''
      ? `node '${nodeName}' cannot read all nodes, only its own Node object`
      : `node '${nodeName}' cannot read '${name}', only its own Node object`;
  }

  #claimsOf(nodeName: string): string[] {
    return this.#podsOf(nodeName).flatMap(({ metadata, spec }) =>
      ((spec.volumes ?? []) as AnyObject[]).flatMap((volume) => {
        const { persistentVolumeClaim: claim } = volume as { persistentVolumeClaim?: { claimName: string } };
        const name =
          claim?.claimName ?? ('ephemeral' in volume ? `${metadata.name}-${String(volume.name)}` : undefined);
        return name === undefined ? [] : [`${metadata.namespace ?? ''}/${name}`];
      }),
    );
  }

  #volumesOf(nodeName: string): AnyObject[] {
    const claims = new Set(this.#claimsOf(nodeName));
    return (this.#store.list('persistentvolumes') as AnyObject[]).filter(({ spec }) =>
      claims.has(`${String(spec.claimRef?.namespace)}/${String(spec.claimRef?.name)}`),
    );
  }

  #isSecretOfVolume(nodeName: string, { namespace, name }: Attributes): boolean {
    return this.#volumesOf(nodeName).some(({ spec }) => {
      const { nodePublishSecretRef, nodeStageSecretRef, nodeExpandSecretRef } = (spec.csi ?? {}) as Record<
        string,
        { namespace: string; name: string } | undefined
      >;
      const secrets = [nodePublishSecretRef, nodeStageSecretRef, nodeExpandSecretRef];
      return secrets.some((secret) => secret?.namespace === namespace && secret?.name === name);
    });
  }

  #whyNoVolume(nodeName: string, attributes: Attributes): string | undefined {
    const { verb, subresource, resource, namespace, name } = attributes;
    const isStatus = resource === 'persistentvolumeclaims' && subresource === 'status';
    const isWritten = verb === 'update' || verb === 'patch';
    const whyNot = isStatus && !isWritten ? 'can only get/update/patch this type' : undefined;
    const isKnown =
      resource === 'persistentvolumes'
        ? this.#volumesOf(nodeName).some(({ metadata }) => metadata.name === name)
        : this.#claimsOf(nodeName).includes(`${namespace ?? ''}/${name}`);
    return (isStatus ? whyNot : whyNoGet(attributes)) ?? (isKnown ? undefined : noRelationship(nodeName));
  }

  #whyNoResourceClaim(nodeName: string, attributes: Attributes): string | undefined {
    const { namespace, name } = attributes;
    const isUsed = this.#podsOf(nodeName).some(({ metadata, spec, status }) => {
      const pod = { metadata, spec, status } as unknown as Pod;
      return metadata.namespace === namespace && claimNames(pod).includes(name);
    });
    return whyNoGet(attributes) ?? (isUsed ? undefined : noRelationship(nodeName));
  }

  /** Admission also refuses slices of other nodes. */
  #whyNoSlice(nodeName: string, { verb, subresource, name, fieldSelector }: Attributes): string | undefined {
    if (subresource !== '') return 'cannot authorize ResourceSlice subresources';
    if (verb === 'create') return undefined;
    if (verb === 'list' || verb === 'watch' || verb === 'deletecollection')
      return (fieldSelector ?? '').split(',').includes(`spec.nodeName=${nodeName}`)
        ? undefined
        : 'can only list/watch/deletecollection resourceslices with nodeName field selector';
    const slice = this.#store.get('resourceslices.resource.k8s.io', { name }) as AnyObject | undefined;
    return slice?.spec.nodeName === nodeName ? undefined : noRelationship(nodeName);
  }

  #whyNoToken(nodeName: string, { verb, subresource, namespace, name }: Attributes): string | undefined {
    const isGet = verb === 'get' && subresource === '';
    if (!isGet && (verb !== 'create' || name === ''))
      return 'can only create tokens for individual service accounts';
    if (!isGet && subresource !== 'token') return 'can only create token subresource of serviceaccount';
    const isUsed = this.#podsOf(nodeName).some(
      ({ metadata, spec }) => metadata.namespace === namespace && (spec.serviceAccountName ?? '') === name,
    );
    return isUsed ? undefined : noRelationship(nodeName);
  }
}

function whyNoGet({ verb, subresource }: Attributes): string | undefined {
  if (verb !== 'get') return 'can only get individual resources of this type';
  return subresource === '' ? undefined : 'cannot get subresource';
}

/** Admission checks the name of a new CSINode. */
function whyNoCSINode(nodeName: string, { verb, subresource, name }: Attributes): string | undefined {
  if (!['get', 'create', 'update', 'patch', 'delete'].includes(verb))
    return 'can only get, create, update, patch, or delete a CSINode';
  if (subresource !== '') return 'cannot authorize CSINode subresources';
  return verb === 'create' || name === nodeName ? undefined : NOT_OWN_CSI_NODE;
}

/** The names of its ResourceClaims that are known. */
function claimNames({ spec, status }: Pod): readonly string[] {
  const own = (spec.resourceClaims ?? []).map(
    ({ name, resourceClaimName }) =>
      resourceClaimName ??
      status?.resourceClaimStatuses?.find((made) => made.name === name)?.resourceClaimName,
  );
  return [...own, status?.extendedResourceClaimStatus?.resourceClaimName].filter(
    (name) => name !== undefined,
  );
}

function isNamed({ metadata }: AnyObject, namespace: string, name: string): boolean {
  return metadata.namespace === namespace && metadata.name === name;
}
