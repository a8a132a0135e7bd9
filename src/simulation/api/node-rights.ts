/** What a node may do at the API server: the rules of the node authorizer and of the admission plugin NodeRestriction. */
import type { Collection, ObjectReference } from '../../agent/cluster/service/api-resources.ts';
import { equalJson } from '../../agent/policies/formats/canonical-json.ts';
import { CONFIG_MIRROR_ANNOTATION } from '../../agent/policies/pod/pod-kinds.ts';
import type { Node, Pod } from '../../types/kubernetes.ts';
import { nameSelected } from './field-selectors.ts';
import type { ContentReference, ContentResource } from './pod-references.ts';

export type ApiVerb = 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'delete';

/** A request that has not been carried out yet. */
export interface Attempt {
  readonly verb: ApiVerb;
  readonly target: Collection | ObjectReference;
  readonly fieldSelector?: string | undefined;
}

export interface NodeRightsOptions {
  readonly nodeName: string;
  /** Whether the authorizer knows that a pod of that name is bound to the node. It learns that later than watches do. */
  readonly isKnownHere: (namespace: string, name: string) => boolean;
  /** Whether the authorizer knows a pod on the node that refers to the object. */
  readonly isReferredTo: (object: ContentReference) => boolean;
  /** Whether there is a VolumeAttachment of that name for the node. */
  readonly isAttachedHere: (name: string) => boolean;
  /** The UID of the node's object, if there is one. */
  readonly nodeUID: () => string | undefined;
}

/** Labels of Kubernetes that a node may set on itself. */
const OWN_LABELS =
  /^(?:(?:beta\.)?kubernetes\.io\/(?:hostname|os|arch|instance-type)|(?:failure-domain\.beta|topology)\.kubernetes\.io\/(?:zone|region)|node\.kubernetes\.io\/instance-type|(?:.+\.)?(?:kubelet|node)\.kubernetes\.io\/.+)$/;
const RESERVED_LABELS = /^(?:.+\.)?(?:kubernetes|k8s)\.io\//;

export class NodeRights {
  readonly #options: NodeRightsOptions;

  constructor(options: NodeRightsOptions) {
    this.#options = options;
  }

  /** Why the request is refused before anything is read, if so. */
  whyRefused(attempt: Attempt): string | undefined {
    switch (attempt.target.resource) {
      case 'pods':
        return this.#whyNoPod(attempt);
      case 'nodes':
        return this.#whyNoNode(attempt);
      case 'leases':
        return this.#whyNoLease(attempt);
      case 'runtimeclasses':
        return isRead(attempt.verb) ? undefined : cannot(attempt);
      case 'events':
        return /^(?:create|update|patch)$/.test(attempt.verb) ? undefined : cannot(attempt);
      case 'certificatesigningrequests':
        return isRead(attempt.verb) || attempt.verb === 'create' ? undefined : cannot(attempt);
      case 'services':
        return isRead(attempt.verb) ? undefined : cannot(attempt);
      case 'configmaps':
      case 'secrets':
        return this.#whyNoContent(attempt, attempt.target.resource);
      case 'volumeattachments':
        return this.#whyNoAttachment(attempt);
      case 'csidrivers':
      case 'persistentvolumeclaims':
      case 'persistentvolumes':
      case 'resourceclaims':
        return attempt.verb === 'get' ? undefined : cannot(attempt);
      case 'csinodes':
        return this.#whyNoCSINode(attempt);
      case 'resourceslices':
        return attempt.verb === 'list' || attempt.verb === 'delete' ? undefined : cannot(attempt);
      // No simulated pod asks for a token or has trust bundles, and no simulated node has clients to review. Katalyst's objects are not simulated.
      // The user that writes taints reads budgets.
      case 'adminqosconfigurations':
      case 'authconfigurations':
      case 'customnodeconfigs':
      case 'customnoderesources':
      case 'customresourcedefinitions':
      case 'clustertrustbundles':
      case 'poddisruptionbudgets':
      case 'serviceaccounts':
      case 'tokenreviews':
      case 'subjectaccessreviews':
        return cannot(attempt);
    }
  }

  /** Why the node may not create the pod: it may create mirror pods of its own. */
  whyNotCreated({ metadata, spec }: Pod): string | undefined {
    const { nodeName } = this.#options;
    const me = `node "${nodeName}"`;
    if (metadata.annotations?.[CONFIG_MIRROR_ANNOTATION] === undefined)
      return `pod does not have "${CONFIG_MIRROR_ANNOTATION}" annotation, ${me} can only create mirror pods`;
    if (spec.nodeName !== nodeName) return `${me} can only create pods with spec.nodeName set to itself`;
    const [owner, ...more] = metadata.ownerReferences ?? [];
    if (owner === undefined || more.length > 0 || owner.kind !== 'Node' || owner.name !== nodeName)
      return `${me} can only create pods with an owner reference set to itself`;
    if (owner.controller !== true)
      return `${me} can only create pods with a controller owner reference set to itself`;
    if (owner.blockOwnerDeletion === true)
      return `${me} must not set blockOwnerDeletion on an owner reference`;
    const uid = this.#options.nodeUID();
    if (owner.uid !== uid)
      return `node ${nodeName} UID mismatch: expected ${owner.uid} got ${uid ?? 'nothing'}`;
    const reference = referenceOf(spec);
    return reference && `${me} can not create pods that reference ${reference}`;
  }

  /** Why the node may not delete that pod, or change its status to that. */
  whyNotChanged(before: Pod, after?: Pod): string | undefined {
    const me = `node "${this.#options.nodeName}"`;
    const isHere = before.spec.nodeName === this.#options.nodeName;
    if (after === undefined)
      return isHere ? undefined : `${me} can only delete pods with spec.nodeName set to itself`;
    if (!isHere) return `${me} can only update pod status for pods with spec.nodeName set to itself`;
    if (!equalJson(before.metadata.labels ?? {}, after.metadata.labels ?? {}))
      return `${me} cannot update labels through pod status`;
    if (!equalJson(before.status?.resourceClaimStatuses ?? [], after.status?.resourceClaimStatuses ?? []))
      return `${me} cannot update resource claim statuses`;
    return undefined;
  }

  /** Why the node may not create its object like this, or change it to this. */
  whyNoSuchNode(before: Node | undefined, after: Node): string | undefined {
    const me = `node "${this.#options.nodeName}"`;
    if (before !== undefined && !equalJson(before.spec?.taints ?? [], after.spec?.taints ?? []))
      return `${me} is not allowed to modify taints`;
    if (!equalJson(before?.metadata.ownerReferences ?? [], after.metadata.ownerReferences ?? []))
      return `${me} is not allowed to modify ownerReferences`;
    const changed = changedKeys(before?.metadata.labels ?? {}, after.metadata.labels ?? {});
    const labels = changed.filter((label) => RESERVED_LABELS.test(label) && !OWN_LABELS.test(label));
    if (labels.length === 0) return undefined;
    const what =
      before === undefined
        ? `${me} is not allowed to set the following labels`
        : 'is not allowed to modify labels';
    return `${what}: ${labels.sort().join(', ')}`;
  }

  #whyNoPod(attempt: Attempt): string | undefined {
    const { verb, target, fieldSelector = '' } = attempt;
    const { nodeName, isKnownHere } = this.#options;
    if (verb === 'list' || verb === 'watch') {
      const isOwn = fieldSelector.split(',').includes(`spec.nodeName=${nodeName}`);
      return isOwn ? undefined : 'can only list/watch pods with spec.nodeName field selector';
    }
    const { namespace = '', name, subresource } = nameOf(target);
    if (subresource === 'status')
      return verb === 'patch' || verb === 'update' ? undefined : cannot(attempt, 'pods/status');
    if (verb === 'create' || verb === 'delete') return undefined;
    if (verb !== 'get') return cannot(attempt);
    return isKnownHere(namespace, name) ? undefined : noRelationship(nodeName);
  }

  #whyNoAttachment({ verb, target }: Attempt): string | undefined {
    const { nodeName, isAttachedHere } = this.#options;
    if (verb !== 'get') return 'can only get individual resources of this type';
    const { name, subresource } = nameOf(target);
    if (subresource !== undefined) return 'cannot get subresource';
    return isAttachedHere(name) ? undefined : noRelationship(nodeName);
  }

  /** A list or a watch must name one object. */
  #whyNoContent(attempt: Attempt, resource: ContentResource): string | undefined {
    const { verb, target, fieldSelector = '' } = attempt;
    const { nodeName, isReferredTo } = this.#options;
    if (!isRead(verb)) return 'can only read resources of this type';
    const { namespace } = target;
    if (namespace === undefined) return 'can only read namespaced object of this type';
    const name = 'name' in target ? target.name : nameSelected(fieldSelector);
    if (name === undefined) return 'No Object name found';
    return isReferredTo({ resource, namespace, name }) ? undefined : noRelationship(nodeName);
  }

  #whyNoNode(attempt: Attempt): string | undefined {
    const { verb, target, fieldSelector = '' } = attempt;
    const { nodeName } = this.#options;
    const onlyOwn = `only its own Node object`;
    if (verb === 'list' || verb === 'watch') {
      const isOwn = fieldSelector.split(',').includes(`metadata.name=${nodeName}`);
      return isOwn ? undefined : `node '${nodeName}' cannot read all nodes, ${onlyOwn}`;
    }
    if (verb === 'delete') return cannot(attempt);
    const { name } = nameOf(target);
    if (verb === 'create' || name === nodeName) return undefined;
    if (verb === 'get') return `node '${nodeName}' cannot read '${name}', ${onlyOwn}`;
    return `node "${nodeName}" is not allowed to modify node "${name}"`;
  }

  /** A node may only use the CSINode of its own name. */
  #whyNoCSINode(attempt: Attempt): string | undefined {
    const { verb, target } = attempt;
    if (verb === 'create') return undefined;
    const isOwn = nameOf(target).name === this.#options.nodeName;
    return isOwn && /^(?:get|update|patch)$/.test(verb) ? undefined : cannot(attempt);
  }

  #whyNoLease({ verb, target }: Attempt): string | undefined {
    if (target.namespace !== 'kube-node-lease')
      return 'can only access leases in the "kube-node-lease" system namespace';
    if (verb === 'list' || verb === 'watch')
      return 'can only get, create, update, patch, or delete a node lease';
    if (verb === 'create' || nameOf(target).name === this.#options.nodeName) return undefined;
    return 'can only access node lease with the same name as the requesting node';
  }
}

const isRead = (verb: ApiVerb): boolean => verb === 'get' || verb === 'list' || verb === 'watch';

const cannot = ({ verb, target }: Attempt, what: string = target.resource): string =>
  `the node cannot ${verb} resource "${what}"`;

export const noRelationship = (nodeName: string): string =>
  `no relationship found between node '${nodeName}' and this object`;

function nameOf(target: Collection | ObjectReference): Partial<ObjectReference> & { readonly name: string } {
  return 'name' in target ? target : { ...target, name: '' };
}

function changedKeys(
  one: Readonly<Record<string, string>>,
  other: Readonly<Record<string, string>>,
): string[] {
  return [...new Set([...Object.keys(one), ...Object.keys(other)])].filter((key) => one[key] !== other[key]);
}

/** The first kind of objects of the API that a mirror pod refers to, and must not. */
function referenceOf({ serviceAccountName = '', volumes = [] }: Pod['spec']): string | undefined {
  if (serviceAccountName !== '') return 'serviceaccounts';
  for (const { secret, configMap, persistentVolumeClaim, projected } of volumes) {
    if (secret !== undefined) return 'secrets';
    if (configMap !== undefined) return 'configmaps';
    if (persistentVolumeClaim !== undefined) return 'persistentvolumeclaims';
    if (projected?.sources?.some((source) => source.serviceAccountToken !== undefined) === true)
      return 'serviceaccounts';
  }
  return undefined;
}
