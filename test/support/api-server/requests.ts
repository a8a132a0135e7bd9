/** Reads a request's method, path and query for the authorizer and the handlers. */
import { servedType, type ServedType } from './served-types.ts';
import { badRequest, methodNotAllowed, noSuchPath } from './status-error.ts';

export type Verb = 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'delete' | 'deletecollection';

export interface ResourceRequest {
  readonly verb: Verb;
  readonly type: ServedType;
  readonly namespace: string | undefined;
  /** Empty: a collection. */
  readonly name: string;
  readonly subresource: string;
  /** What follows `proxy/`. */
  readonly rest: string;
  readonly query: URLSearchParams;
}

const VERBS: Readonly<Record<string, Verb>> = { POST: 'create', PUT: 'update', PATCH: 'patch' };

/** Undefined for a path that is not of a resource. */
export function resourceRequest(method: string, url: URL): ResourceRequest | undefined {
  const parts = url.pathname.split('/').slice(1).map(decoded);
  const isCore = parts[0] === 'api';
  if (!isCore && parts[0] !== 'apis') return undefined;
  const [group, version] = isCore ? ['', parts[1]] : [parts[1], parts[2]];
  const rest = parts.slice(isCore ? 2 : 3);
  if (version === undefined || group === undefined || (rest[0] ?? '') === '') return undefined;
  // Old paths for watches: /api/v1/watch/pods.
  const isOldWatch = rest[0] === 'watch';
  if (isOldWatch) rest.shift();
  let namespace: string | undefined;
  if (rest[0] === 'namespaces' && rest.length > 2 && !['status', 'finalize'].includes(rest[2] ?? ''))
    [, namespace] = rest.splice(0, 2);
  const [plural = '', name = '', subresource = '', ...more] = rest;
  const type = servedType(group, version, plural);
  if (type === undefined || (namespace !== undefined && !type.namespaced)) throw noSuchPath();
  const isProxy = subresource === 'proxy';
  if (subresource !== '' && !type.subresources.includes(subresource)) throw noSuchPath();
  if (more.length > 0 && !isProxy) throw noSuchPath();
  const { searchParams: query } = url;
  const verb = verbOf(method, { name, subresource, query, isOldWatch });
  return { verb, type, namespace, name: nameOf(name, query, verb), subresource, rest: more.join('/'), query };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw badRequest(`the path is not encoded well: ${part}`);
  }
}

/** A list or a watch that asks for the one object of a name is of that object. */
function nameOf(name: string, query: URLSearchParams, verb: Verb): string {
  if (name !== '' || (verb !== 'list' && verb !== 'watch')) return name;
  return /(?:^|,)metadata\.name==?([^,]+)/.exec(query.get('fieldSelector') ?? '')?.[1] ?? '';
}

interface Place {
  readonly name: string;
  readonly subresource: string;
  readonly query: URLSearchParams;
  readonly isOldWatch: boolean;
}

function verbOf(method: string, { name, query, isOldWatch }: Place): Verb {
  if (method === 'GET' || method === 'HEAD') {
    if (isOldWatch || (query.has('watch') && isTrue(query.get('watch')))) return 'watch';
    return name === '' ? 'list' : 'get';
  }
  if (method === 'DELETE') return name === '' ? 'deletecollection' : 'delete';
  const verb = VERBS[method];
  if (verb === undefined || (name === '' && verb !== 'create')) throw methodNotAllowed();
  return verb;
}

export function isTrue(text: string | null): boolean {
  return text !== null && text !== 'false' && text !== '0';
}

/** How a refusal describes the request: `cannot get resource "pods/log" in API group "" in the namespace "default"`. */
export function attemptText({ verb, type, subresource, namespace }: ResourceRequest): string {
  const resource = subresource === '' ? type.plural : `${type.plural}/${subresource}`;
  const where = namespace === undefined ? 'at the cluster scope' : `in the namespace "${namespace}"`;
  return `cannot ${verb} resource "${resource}" in API group "${type.group}" ${where}`;
}
