/** Who sends a request to the node's server (the bearer token), and what it asks for, in the terms of a SubjectAccessReview. */

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

export interface TokenHeaders {
  readonly authorization?: string | undefined;
  readonly connection?: string | undefined;
  readonly upgrade?: string | undefined;
  readonly 'sec-websocket-protocol'?: string | undefined;
}

export interface FoundToken {
  /** A secret: never logged. */
  readonly token: string;
  /** For a token among the subprotocols of a WebSocket: the others, with which the request goes on. */
  readonly otherProtocols?: string;
}

/** A client that cannot send headers sends its token as the name of a protocol of this form. */
export const TOKEN_PROTOCOL = 'base64url.bearer.authorization.k8s.io.';

/** Undefined where there is none. Throws an Error for one that cannot be read; its message has nothing of the token. */
export function bearerToken(headers: TokenHeaders): FoundToken | undefined {
  return headerToken(headers.authorization ?? '') ?? protocolToken(headers);
}

function headerToken(authorization: string): FoundToken | undefined {
  const [scheme = '', token = ''] = authorization.trim().split(' ');
  return scheme.toLowerCase() === 'bearer' && token !== '' ? { token } : undefined;
}

/** Browsers cannot set the header `Authorization` of a WebSocket. */
function protocolToken(headers: TokenHeaders): FoundToken | undefined {
  if (!isWebSocket(headers)) return undefined;
  const protocols = (headers['sec-websocket-protocol'] ?? '').split(',').map((protocol) => protocol.trim());
  const others = protocols.filter((protocol) => !protocol.startsWith(TOKEN_PROTOCOL));
  const [encoded, ...more] = protocols.flatMap((protocol) =>
    protocol.startsWith(TOKEN_PROTOCOL) ? [protocol.slice(TOKEN_PROTOCOL.length)] : [],
  );
  if (encoded === undefined) return undefined;
  if (more.length > 0) throw new Error('there are several tokens among the subprotocols');
  const token = decoded(encoded);
  if (token === '') return undefined;
  if (others.every((protocol) => protocol === ''))
    throw new Error('there is no subprotocol besides the one with the token');
  return { token, otherProtocols: others.join(',') };
}

function isWebSocket({ connection = '', upgrade = '' }: TokenHeaders): boolean {
  return /(?:^|,)\s*upgrade\s*(?:,|$)/iu.test(connection) && upgrade.toLowerCase() === 'websocket';
}

const BASE64URL = /^[\w-]*$/u;

function decoded(text: string): string {
  try {
    if (!BASE64URL.test(text)) throw new Error('no base64url');
    const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
    const bytes = Uint8Array.from(binary, (char) => char.charCodeAt(0));
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new Error('the token among the subprotocols is no text in base64url');
  }
}
