/** Carries out a request for resources: which of the double's parts answers which. */
import { rfc3339 } from '../../../src/agent/policies/formats/time.ts';
import {
  type ApiObjects,
  type DeleteOptions,
  served,
  type Target,
  type WriteOptions,
} from './api-objects.ts';
import type { AnyObject, Draft, User } from './context.ts';
import { listPart } from './lists.ts';
import { decodedConfig, decodedObject, decodedPatched, knownPart } from './decoding.ts';
import { storedForm, viewed } from './event-views.ts';
import { applied, entriesAfter, type ManagedChange } from './fields/managed-fields.ts';
import { APPLY, patched, STRATEGIC } from './patches.ts';
import { bind, evict } from './pod-actions.ts';
import { requestToken, review, type ReviewHost } from './reviews.ts';
import type { ResourceRequest } from './requests.ts';
import { apiVersionOf, storeKey, typeOf } from './served-types.ts';
import {
  badRequest,
  invalidTwice,
  methodNotAllowed,
  noSuchPath,
  unsupportedMediaType,
} from './status-error.ts';
import { checkDeletion, checkWrite } from './write-options.ts';
import { table, wantsTable } from './tables.ts';

export interface Asked {
  readonly request: ResourceRequest;
  readonly user: User;
  readonly accept: string;
  readonly contentType: string;
  readonly userAgent: string;
  /** The decoded body; undefined: it is empty. */
  readonly body: unknown;
  /** The body in JSON as it was sent; empty in another format. */
  readonly text: string;
  /** Warnings about the sent object, which go with the answer. */
  readonly warnings: string[];
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
  ...['deviceclasses', 'resourceclaims', 'resourceclaimtemplates', 'resourceslices'],
]);
/** A subresource that is read and changed like the object itself. */
const VIEWS = new Set(['', 'status', 'approval', 'finalize', 'ephemeralcontainers', 'resize']);

const WRITES = { create: true, update: true, patch: true };

/** Throws the server's answer to a request that it does not carry out. */
export function handle(host: HandlerHost, asked: Asked): Answer {
  const { request } = asked;
  if (!request.type.verbs.includes(request.verb) && request.subresource === '') throw methodNotAllowed();
  if (request.verb in WRITES) checkWrite(request, asked.contentType === APPLY);
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
      return update(host, asked);
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

function writeOptions({ objects }: HandlerHost, asked: Asked): WriteOptions {
  const { query, subresource } = asked.request;
  const managers: WriteOptions['managers'] = (live, next) =>
    entriesAfter(changeBy(objects, asked, live), next);
  return { user: asked.user, subresource, dryRun: query.getAll('dryRun').includes('All'), managers };
}

const MANAGER_LENGTH_MAX = 128;

/** A client that does not name its manager gets the first word of its user agent. */
function changeBy(
  objects: ApiObjects,
  { request, userAgent }: Asked,
  live: AnyObject | undefined,
): ManagedChange {
  const { subresource, query } = request;
  const type = typeOf(storeKey(request.type));
  const named = query.get('fieldManager') ?? '';
  const manager = named === '' ? (userAgent.split('/')[0] ?? '').slice(0, MANAGER_LENGTH_MAX) : named;
  return { type, subresource, live, manager, at: rfc3339(objects.options.now()) };
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
  return {
    code: 200,
    body: { kind, apiVersion: apiVersionOf(type), metadata, items: items.map((item) => viewed(item, type)) },
  };
}

/** The body, which must be an object of the kind in the path. */
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
  return { ...object, metadata: { ...(object.metadata as Draft | undefined) } };
}

/** The group as the server's own types name it. */
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
    return { code: 201, body: act(objects, request, object, writeOptions(host, asked)) };
  }
  const object = objectOf(asked);
  if (REVIEWS.has(type.kind)) return { code: 201, body: review(host, type.kind, object, user) };
  if (type.namespaced && namespace === undefined) throw methodNotAllowed();
  if (type.kind === 'Binding') {
    const { pods, name } = { pods: host.objects, name: String(object.metadata.name) };
    const pod: Target = { type: { ...type, plural: 'pods', kind: 'Pod' }, namespace, name };
    return { code: 201, body: bind(pods, pod, object, writeOptions(host, asked)) };
  }
  const known = storedForm(decodedObject(asked, object), type);
  checkPlace(known, request);
  return shown(host, asked, objects.create({ type, namespace }, known, writeOptions(host, asked)), 201);
}

function update(host: HandlerHost, asked: Asked): Answer {
  const { request } = asked;
  if (!VIEWS.has(request.subresource)) throw methodNotAllowed();
  const object = storedForm(decodedObject(asked, objectOf(asked)), request.type);
  checkPlace(object, request);
  const options = writeOptions(host, asked);
  if (host.objects.isMadeByUpdate(request))
    return shown(host, asked, host.objects.create(request, object, options), 201);
  return shown(host, asked, host.objects.update(request, object, options), 200);
}

function patch(host: HandlerHost, asked: Asked): Answer {
  const { objects } = host;
  const { request, contentType, body } = asked;
  if (!VIEWS.has(request.subresource)) throw methodNotAllowed();
  if (contentType === APPLY) return apply(host, asked);
  if (contentType === STRATEGIC && request.type.isCustom === true) throw unsupportedMediaType();
  const before = objects.get(request);
  const made = patched(viewed(before, request.type), contentType, body);
  const after = storedForm(decodedPatched(asked, made), request.type);
  const { uid, name } = (after.metadata ?? {}) as Draft;
  if ((name ?? '') === '')
    throw badRequest(
      `the name of the object (${request.name} based on URL) was undeterminable: name must be provided`,
    );
  if (name !== before.metadata.name)
    throw badRequest(
      `the name of the object (${String(name)}) does not match the name on the URL (${before.metadata.name})`,
    );
  if (uid !== undefined && uid !== before.metadata.uid)
    throw invalidTwice(request, {
      field: 'metadata.uid',
      message: `Invalid value: ${JSON.stringify(uid)}: field is immutable`,
    });
  return shown(host, asked, objects.change(request, before, after, writeOptions(host, asked)), 200);
}

function apply(host: HandlerHost, asked: Asked): Answer {
  const { objects } = host;
  const { request } = asked;
  const sent = objectOf(asked);
  const before = objects.find(request);
  const force = request.query.get('force') === 'true';
  const config = storedForm(decodedConfig(request, sent), request.type);
  config.metadata.name ??= request.name;
  const { object: made, entries } = applied(changeBy(objects, asked, before), config, force);
  const object = knownPart(typeOf(storeKey(request.type)), made);
  const options = { ...writeOptions(host, asked), managers: () => entries };
  if (before === undefined) return shown(host, asked, objects.create(request, object, options), 201);
  return shown(host, asked, objects.change(request, before, object, options), 200);
}

function deletionOf({ request, body }: Asked): DeleteOptions {
  checkDeletion(request, body ?? {});
  // If there are a body and a query, the body counts.
  if (body !== undefined) return body as DeleteOptions;
  const grace = request.query.get('gracePeriodSeconds');
  const policy = request.query.get('propagationPolicy');
  return {
    ...(grace !== null && { gracePeriodSeconds: Number(grace) }),
    ...(policy !== null && { propagationPolicy: policy }),
  };
}

function deleteOptions(host: HandlerHost, asked: Asked): WriteOptions {
  const options = writeOptions(host, asked);
  const { dryRun = [] } = (asked.body ?? {}) as { dryRun?: readonly string[] };
  return asked.body === undefined ? options : { ...options, dryRun: dryRun.includes('All') };
}

function remove(host: HandlerHost, asked: Asked): Answer {
  const { request } = asked;
  if (request.subresource !== '') throw methodNotAllowed();
  const deletion = deletionOf(asked);
  const before = host.objects.get(request);
  const { left, last } = host.objects.delete(request, deletion, deleteOptions(host, asked));
  if (left !== undefined) return shown(host, asked, left, 200);
  const { type } = request;
  // For some kinds the answer is the deleted object, for others a Status.
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
      writeOptions(host, asked),
    );
  const { kind } = request.type;
  return {
    code: 200,
    body: { kind: `${kind}List`, apiVersion: apiVersionOf(request.type), metadata, items },
  };
}
