/**
 * Recognises requests that a browser may have sent for a foreign page. Any web page can send requests to this machine, and a
 * foreign host name can resolve to it (DNS rebinding): then `Host` or `Origin` has the foreign name. Only browsers send `Origin` and
 * `Sec-Fetch-Site`.
 */
import { isIP } from 'node:net';
import { RequestError } from './routes/route.ts';

export interface Requested {
  readonly host?: string | undefined;
  readonly origin?: string | undefined;
  readonly 'sec-fetch-site'?: string | string[] | undefined;
  readonly 'sec-fetch-mode'?: string | string[] | undefined;
  readonly 'sec-fetch-dest'?: string | string[] | undefined;
}

/** `names`: host names of this machine besides localhost. IP addresses are never foreign: no other site can have them as its name. */
export function isForeign(headers: Requested, names: readonly string[]): boolean {
  const { host, origin } = headers;
  if (host !== undefined && !isOwnHost(host, names)) return true;
  if (isOfAnotherSite(headers)) return true;
  return origin !== undefined && origin !== '' && !isOwnOrigin(origin, host ?? '', names);
}

/**
 * A page on another port of this machine is `same-site`. Links from other sites may be followed: the user sees the answer, but the page
 * that has the link does not.
 */
function isOfAnotherSite(headers: Requested): boolean {
  const { 'sec-fetch-site': site, 'sec-fetch-mode': mode, 'sec-fetch-dest': destination } = headers;
  if (site !== 'cross-site' && site !== 'same-site') return false;
  return mode !== 'navigate' || (destination ?? 'document') !== 'document';
}

function isOwnOrigin(origin: string, host: string, names: readonly string[]): boolean {
  if (!URL.canParse(origin)) return false;
  const { host: originHost } = new URL(origin);
  return originHost === host && isOwnHost(originHost, names);
}

function isOwnHost(host: string, names: readonly string[]): boolean {
  const url = `http://${host}`;
  if (!URL.canParse(url)) return false;
  const name = new URL(url).hostname.replace(/^\[|\]$|\.$/gu, '');
  if (isIP(name) !== 0 || name === 'localhost' || name.endsWith('.localhost')) return true;
  return names.some((own) => own.toLowerCase() === name);
}

/** The answer to such a request. */
export const FOREIGN = new RequestError(
  403,
  'refused: Host must be an address or a name of this machine, Origin the same where there is one, and no page of another site may ask\n',
);

/** Whether only programs of this machine can reach that address. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^(?:::ffff:)?127\./iu.test(host);
}
