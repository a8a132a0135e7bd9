/** Carries out a request for resources: which of the double's parts answers which. */
import { rfc3339 } from '../../../src/policies/formats/time.ts';
import {
  type ApiObjects,
  type DeleteOptions,
  served,
  type Target,
  type WriteOptions,
} from './api-objects.ts';
import type { AnyObject, Draft, User } from './context.ts';
import { listPart } from './lists.ts';
import { applied, APPLY, patched } from './patches.ts';
import { bind, evict } from './pod-actions.ts';
import { requestToken, review, type ReviewHost } from './reviews.ts';
import type { ResourceRequest } from './requests.ts';
import { apiVersionOf } from './served-types.ts';
import { badRequest, methodNotAllowed, modified, noSuchPath, StatusError } from './status-error.ts';
import { table, wantsTable } from './tables.ts';

export interface Asked {
  readonly request: ResourceRequest;
  readonly user: User;
  readonly accept: string;
  readonly contentType: string;
  /** What the body holds; undefined: it is empty. */
  readonly body: unknown;
}

export interface Answer {
  readonly code: number;
  readonly body: object;
}

export interface HandlerHost extends ReviewHost {
  readonly objects: ApiObjects;
}

const REVIEWS = new Set([
  'TokenReview',
  'SubjectAccessReview',
  'SelfSubjectAccessReview',
  'LocalSubjectAccessReview',
]).add('SelfSubjectReview');
const TOLD_WHEN_DELETED = new Set([
  ...['pods', 'services', 'serviceaccounts', 'podtemplates', 'resourcequotas', 'persistentvolumes'],
  ...['persistentvolumeclaims', 'csidrivers', 'csinodes', 'storageclasses', 'volumeattachments'],
]);
/** A subresource that is read and changed like the object itself. */
const VIEWS = new Set(['', 'status', 'approval', 'finalize', 'ephemeralcontainers', 'resize']);

/** Throws what the server answers to a request that it does not carry out. */
export function handle(host: HandlerHost, asked: Asked): Answer {
  const { request } = asked;
  if (!request.type.verbs.includes(request.verb) && request.subresource === '') throw methodNotAllowed();
  switch (request.verb) {
    case 'get':
      if (request.subresource === 'scale') throw noSuchPath();
      if (!VIEWS.has(request.subresource)) throw methodNotAllowed();
      return shown(host, asked, host.objects.get(request), 200);
    case 'list':
      return list(host, asked);
    case 'create':
      return create(host, asked);
    case 'update':
      return shown(host, asked, update(host, asked), 200);
    case 'patch':
      return patch(host, asked);
    case 'delete':
      return remove(host, asked);
    case 'deletecollection':
      return removeAll(host, asked);
    case 'watch':
      throw methodNotAllowed();
  }
}

function writeOptions({ request, user }: Asked): WriteOptions {
  const { query, subresource } = request;
  return { user, subresource, dryRun: query.getAll('dryRun').includes('All') };
}

function shown(
  { objects }: HandlerHost,
  { request, accept }: Asked,
  object: AnyObject,
  code: number,
): Answer {
  const { type, query } = request;
  if (!wantsTable(accept)) return { code, body: served(object, type) };
  const { resourceVersion } = object.metadata;
  return {
    code,
    body: table([object], { type, query, now: objects.options.now(), metadata: { resourceVersion } }),
  };
}

function list({ objects }: HandlerHost, { request, accept }: Asked): Answer {
  const { type, query } = request;
  const { metadata, items } = listPart(objects.store, request);
  if (wantsTable(accept))
    return { code: 200, body: table(items, { type, query, now: objects.options.now(), metadata }) };
  const kind = `${type.kind}List`;
  return { code: 200, body: { kind, apiVersion: apiVersionOf(type), metadata, items } };
}

/** The body, which has to be an object, and of the kind that the path says. */
function objectOf({ body, request }: Asked, kind = request.type.kind): Draft {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw badRequest(`couldn't get version/kind; json parse error: the body is no object of kind ${kind}`);
  const object = body as Draft;
  if (object.kind !== undefined && object.kind !== '' && object.kind !== kind)
    throw badRequest(
      `${String(object.kind)} in version "${String(object.apiVersion)}" cannot be handled as a ${kind}: converting (${String(object.apiVersion)}.${String(object.kind)}) to (${internalGroup(request.type.group)}.${kind}): unknown conversion`,
    );
  if (object.metadata !== undefined && (typeof object.metadata !== 'object' || object.metadata === null))
    throw badRequest(
      `${kind} in version "${String(object.apiVersion)}" cannot be handled as a ${kind}: metadata is no object`,
    );
  checkPlace(object, request);
  return { ...object, metadata: { ...(object.metadata as Draft | undefined) } };
}

/** As the server's own types name it. */
const internalGroup = (group: string): string => (group === '' ? 'core' : (group.split('.')[0] ?? ''));

function checkPlace({ metadata }: Draft, { namespace, name, verb }: ResourceRequest): void {
  const sent = (metadata ?? {}) as Draft;
  if (
    namespace !== undefined &&
    sent.namespace !== undefined &&
    sent.namespace !== '' &&
    sent.namespace !== namespace
  )
    throw badRequest(`the namespace of the provided object does not match the namespace sent on the request`);
  if (verb === 'update' && sent.name !== undefined && sent.name !== name)
    throw badRequest(
      `the name of the object (${String(sent.name)}) does not match the name on the URL (${name})`,
    );
}

const SUBRESOURCE_KINDS: Readonly<Record<string, string>> = {
  binding: 'Binding',
  eviction: 'Eviction',
  token: 'TokenRequest',
};

function create(host: HandlerHost, asked: Asked): Answer {
  const { request, user } = asked;
  const { type, subresource, namespace } = request;
  const { objects } = host;
  if (subresource !== '') {
    const kind = SUBRESOURCE_KINDS[subresource];
    if (kind === undefined) throw methodNotAllowed();
    const object = objectOf(asked, kind);
    if (subresource === 'token') return { code: 201, body: requestToken(host, request, object, user) };
    const act = subresource === 'binding' ? bind : evict;
    return { code: 201, body: act(objects, request, object, writeOptions(asked)) };
  }
  const object = objectOf(asked);
  if (REVIEWS.has(type.kind)) return { code: 201, body: review(host, type.kind, object, user) };
  if (type.namespaced && namespace === undefined) throw methodNotAllowed();
  if (type.kind === 'Binding') {
    const { pods, name } = { pods: host.objects, name: String(object.metadata.name) };
    const pod: Target = { type: { ...type, plural: 'pods', kind: 'Pod' }, namespace, name };
    return { code: 201, body: bind(pods, pod, object, writeOptions(asked)) };
  }
  return shown(host, asked, objects.create({ type, namespace }, object, writeOptions(asked)), 201);
}

function update({ objects }: HandlerHost, asked: Asked): AnyObject {
  if (!VIEWS.has(asked.request.subresource)) throw methodNotAllowed();
  return objects.update(asked.request, objectOf(asked), writeOptions(asked));
}

function patch(host: HandlerHost, asked: Asked): Answer {
  const { objects } = host;
  const { request, contentType, body } = asked;
  if (!VIEWS.has(request.subresource)) throw methodNotAllowed();
  if (contentType === APPLY) return apply(host, asked);
  const before = objects.get(request);
  const after = patched(before, contentType, body);
  const { uid, resourceVersion, name } = (after.metadata ?? {}) as Draft;
  if (name !== before.metadata.name)
    throw badRequest(
      `the name of the object (${String(name)}) does not match the name on the URL (${before.metadata.name})`,
    );
  if (uid !== undefined && uid !== before.metadata.uid)
    throw new StatusError(
      409,
      'Conflict',
      `Precondition failed: UID in precondition: ${String(uid)}, UID in object meta: ${before.metadata.uid}`,
    );
  if (resourceVersion !== undefined && resourceVersion !== before.metadata.resourceVersion)
    throw modified(request);
  return shown(host, asked, objects.change(request, before, after, writeOptions(asked)), 200);
}

function apply(host: HandlerHost, asked: Asked): Answer {
  const { objects } = host;
  const { request } = asked;
  const manager = request.query.get('fieldManager') ?? '';
  if (manager === '')
    throw badRequest(
      'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch',
    );
  const sent = objectOf(asked);
  const before = objects.find(request);
  const force = request.query.get('force') === 'true';
  const after = applied(before, sent, { manager, force, at: rfc3339(objects.options.now()) });
  if (before !== undefined)
    return shown(host, asked, objects.change(request, before, after, writeOptions(asked)), 200);
  after.metadata.name ??= request.name;
  return shown(host, asked, objects.create(request, after, writeOptions(asked)), 201);
}

function deletionOf({ request, body }: Asked): DeleteOptions {
  const sent = (body ?? {}) as DeleteOptions;
  const { query } = request;
  const grace = query.get('gracePeriodSeconds');
  const policy = query.get('propagationPolicy');
  return {
    ...sent,
    ...(grace !== null && { gracePeriodSeconds: Number(grace) }),
    ...(policy !== null && { propagationPolicy: policy }),
  };
}

function remove(host: HandlerHost, asked: Asked): Answer {
  const { request } = asked;
  if (request.subresource !== '') throw methodNotAllowed();
  const before = host.objects.get(request);
  const { left, last } = host.objects.delete(request, deletionOf(asked), writeOptions(asked));
  if (left !== undefined) return shown(host, asked, left, 200);
  const { type } = request;
  // Some kinds are told as they were; of others, that they are gone.
  if (TOLD_WHEN_DELETED.has(type.plural)) return shown(host, asked, last ?? before, 200);
  const { name, uid } = before.metadata;
  const details = { name, ...(type.group !== '' && { group: type.group }), kind: type.plural, uid };
  return { code: 200, body: { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details } };
}

function removeAll(host: HandlerHost, asked: Asked): Answer {
  const { request } = asked;
  const { metadata, items } = listPart(host.objects.store, request);
  for (const { metadata: one } of items)
    host.objects.delete(
      { type: request.type, namespace: one.namespace, name: one.name },
      deletionOf(asked),
      writeOptions(asked),
    );
  const { kind } = request.type;
  return {
    code: 200,
    body: { kind: `${kind}List`, apiVersion: apiVersionOf(request.type), metadata, items },
  };
}
