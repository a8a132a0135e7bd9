/** The admission plugin NodeRestriction: what a node may write, beyond what its authorizer can decide by a request's path. */
import type { Node, Pod } from '../../../src/types/kubernetes.ts';
import { type AnyObject, type Draft, nodeOf, type Store, type User } from './context.ts';
import { NodeAuthorizer, NOT_OWN_CSI_NODE } from './node-authorizer.ts';
import { requestSubject } from './sign-request.ts';
import type { ServedType } from './served-types.ts';
import { forbidden } from './status-error.ts';

interface Target {
  readonly type: ServedType;
  readonly name: string;
}

const authorizers = new WeakMap<Store, NodeAuthorizer>();

function rightsOf(nodeName: string, store: Store) {
  const known = authorizers.get(store) ?? new NodeAuthorizer(store);
  authorizers.set(store, known);
  return known.rightsOf(nodeName);
}

function refuse({ type, name }: Target, why: string | undefined): void {
  if (why !== undefined) throw forbidden(type, name, why);
}

export function restrictCreation(user: User, target: Target, object: Draft, store: Store): void {
  const nodeName = nodeOf(user);
  if (nodeName === undefined) return;
  const rights = rightsOf(nodeName, store);
  const { plural } = target.type;
  if (plural === 'pods') refuse(target, rights.whyNotCreated(object as Pod));
  if (plural === 'nodes') {
    refuse(target, whyOtherNode(nodeName, target.name));
    refuse(target, rights.whyNoSuchNode(undefined, object as Node));
  }
  if (plural === 'leases' && target.name !== nodeName)
    refuse(target, 'can only access node lease with the same name as the requesting node');
  if (plural === 'csinodes' && target.name !== nodeName) refuse(target, NOT_OWN_CSI_NODE);
  if (plural === 'certificatesigningrequests') refuse(target, whyNoRequest(nodeName, object));
}

export function restrictChange(
  user: User,
  target: Target,
  change: { readonly before: AnyObject; readonly after: AnyObject; readonly subresource: string },
  store: Store,
): void {
  const nodeName = nodeOf(user);
  if (nodeName === undefined) return;
  const rights = rightsOf(nodeName, store);
  const { before, after, subresource } = change;
  if (target.type.plural === 'pods' && subresource === 'status')
    refuse(target, rights.whyNotChanged(before as unknown as Pod, after as unknown as Pod));
  if (target.type.plural !== 'nodes') return;
  refuse(target, whyOtherNode(nodeName, target.name));
  refuse(target, rights.whyNoSuchNode(before, after));
}

export function restrictDeletion(user: User, target: Target, before: AnyObject, store: Store): void {
  const nodeName = nodeOf(user);
  if (nodeName === undefined || target.type.plural !== 'pods') return;
  refuse(target, rightsOf(nodeName, store).whyNotChanged(before as unknown as Pod));
}

export function restrictEviction(user: User, target: Target, pod: AnyObject): void {
  const nodeName = nodeOf(user);
  if (nodeName !== undefined && pod.spec.nodeName !== nodeName)
    refuse(target, `node ${nodeName} can only evict pods with spec.nodeName set to itself`);
}

function whyOtherNode(nodeName: string, name: string): string | undefined {
  return name === nodeName ? undefined : `node "${nodeName}" is not allowed to modify node "${name}"`;
}

/** A node may only request certificates for itself. */
function whyNoRequest(nodeName: string, { spec }: Draft): string | undefined {
  const signers = ['kubernetes.io/kubelet-serving', 'kubernetes.io/kube-apiserver-client-kubelet'];
  if (!signers.includes(String(spec?.signerName))) return undefined;
  try {
    const { commonName } = requestSubject(Buffer.from(String(spec.request), 'base64').toString());
    if (commonName === `system:node:${nodeName}`) return undefined;
  } catch (error) {
    return `unable to parse csr: ${String(error)}`;
  }
  return `can only create a node CSR with CN=system:node:${nodeName}`;
}
