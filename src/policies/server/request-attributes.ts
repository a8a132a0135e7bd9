/** What a request to the node's server asks for, in the terms of a SubjectAccessReview. */

/** In the shape of `ResourceAttributes`. */
export interface RequestAttributes {
  /** Empty for a method that has no verb: no rule fits it but one for all verbs. */
  readonly verb: string;
  readonly version: 'v1';
  readonly resource: 'nodes';
  readonly subresource: string;
  /** Of the node. */
  readonly name: string;
}

const VERBS: ReadonlyMap<string, string> = new Map([
  ['GET', 'get'],
  ['POST', 'create'],
  ['PUT', 'update'],
  ['PATCH', 'patch'],
  ['DELETE', 'delete'],
]);

/** By the beginning of the path. A subresource of its own suffices; so does `proxy` where it is named, or where no line fits. */
const SUBRESOURCES: readonly (readonly [string, readonly string[]])[] = [
  ['/stats', ['stats']],
  ['/metrics', ['metrics']],
  ['/logs', ['log']],
  ['/checkpoint', ['checkpoint']],
  ['/statusz', ['statusz']],
  ['/flagz', ['configz']],
  ['/pods', ['pods', 'proxy']],
  ['/runningpods', ['pods', 'proxy']],
  ['/healthz', ['healthz', 'proxy']],
  ['/configz', ['configz', 'proxy']],
];

/** In the order in which they are asked for: the request is allowed when one of them is. `path` is decoded, and not cleaned. */
export function requestAttributes(
  method: string,
  path: string,
  nodeName: string,
): readonly RequestAttributes[] {
  const verb = VERBS.get(method) ?? '';
  const [, subresources] = SUBRESOURCES.find(([prefix]) => isBelow(path, prefix)) ?? ['', ['proxy']];
  return subresources.map((subresource) => ({
    verb,
    version: 'v1',
    resource: 'nodes',
    subresource,
    name: nodeName,
  }));
}

function isBelow(path: string, prefix: string): boolean {
  return path === prefix || path.startsWith(`${prefix}/`);
}
