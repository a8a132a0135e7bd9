/**
 * Recognises requests that a browser may have sent for a foreign page. Any web page can send requests to this machine, and a
 * foreign host name can resolve to it (DNS rebinding): then `Host` or `Origin` has the foreign name. Only browsers send `Origin`.
 */
import { isIP } from 'node:net';

export interface Requested {
  readonly host?: string | undefined;
  readonly origin?: string | undefined;
}

/** `names`: host names of this machine besides localhost. IP addresses are never foreign: no other site can have them as its name. */
export function isForeign({ host, origin }: Requested, names: readonly string[]): boolean {
  if (host !== undefined && !isOwnHost(host, names)) return true;
  return origin !== undefined && origin !== '' && !isOwnOrigin(origin, host ?? '', names);
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

/** Whether only programs of this machine can reach that address. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^(?:::ffff:)?127\./iu.test(host);
}
