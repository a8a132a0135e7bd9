/** Opens a connection to the API server: TCP, through a proxy where there is one, and TLS. */
import http from 'node:http';
import https from 'node:https';
import { BlockList, connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls, getCACertificates, type TLSSocket } from 'node:tls';
import { errorMessage, invalid, StateletError } from '../../../types/errors.ts';
import type { ConnectionDetails } from '../service/api-server.ts';

/** Detects a peer that is gone without closing the connection, where no ping of HTTP/2 does. */
const TCP_KEEPALIVE_MS = 30_000;

/** Of the names of a server's certificate. */
const SHOWN_NAMES_LENGTH = 200;

export interface DialOptions {
  /** For ALPN, the preferred first. */
  readonly protocols: readonly string[];
  readonly signal: AbortSignal;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Resolves when requests can be sent. */
export async function dial(details: ConnectionDetails, options: DialOptions): Promise<Socket | TLSSocket> {
  const server = serverUrl(details.server);
  const proxy = proxyOf(server, details.proxyURL, options.env);
  const socket =
    proxy === undefined
      ? await opened(connectTcp(portOf(server), hostOf(server)), 'connect', options.signal)
      : await throughProxy(proxyUrl(proxy), server, options.signal);
  socket.setNoDelay(true).setKeepAlive(true, TCP_KEEPALIVE_MS);
  if (server.protocol === 'http:') return socket;
  return secure(socket, details, server, options);
}

export function serverUrl(server: string): URL {
  const url = URL.parse(server);
  if (url !== null && ['https:', 'http:'].includes(url.protocol)) return url;
  const wanted = 'it should be https://HOST:PORT';
  throw invalid(`the address of the API server is "${server}": ${wanted}`);
}

function proxyUrl(proxy: string): URL {
  const url = URL.parse(proxy);
  if (url !== null && ['http:', 'https:', 'socks5:', 'socks5h:'].includes(url.protocol)) return url;
  // Not the text itself: it may have a password.
  const wanted = 'it should begin with http://, https:// or socks5://';
  throw invalid(`the address of the proxy to the API server is wrong: ${wanted}`);
}

async function secure(
  socket: Socket,
  details: ConnectionDetails,
  server: URL,
  { protocols, signal }: DialOptions,
): Promise<TLSSocket> {
  const { ca, cert, key, tlsServerName, insecureSkipTLSVerify = false } = details;
  const host = hostOf(server);
  try {
    const tls = connectTls({
      socket,
      host: tlsServerName ?? host,
      servername: tlsServerName ?? (isIP(host) === 0 ? host : ''),
      ca: ca ?? [...getCACertificates('default'), ...getCACertificates('system')],
      // As in Go, a certificate of the kubeconfig is trusted even if it is no root.
      allowPartialTrustChain: true,
      cert,
      key,
      rejectUnauthorized: !insecureSkipTLSVerify,
      ALPNProtocols: [...protocols],
    });
    return await opened(tls, 'secureConnect', signal);
  } catch (error) {
    socket.destroy();
    throw error instanceof StateletError ? error : tlsError(error, server, tlsServerName);
  }
}

interface TlsFailure extends NodeJS.ErrnoException {
  /** Of the server, where its names are not the wanted one. */
  readonly cert?: { readonly subjectaltname?: string };
}

function tlsError(error: unknown, server: URL, tlsServerName: string | undefined): StateletError {
  const { code = '', cert } = error as TlsFailure;
  const wanted = tlsServerName ?? hostOf(server);
  const problem =
    code === 'ERR_TLS_CERT_ALTNAME_INVALID'
      ? otherName(cert?.subjectaltname ?? '', wanted)
      : tlsProblem(code, errorMessage(error));
  return new StateletError('Unavailable', `TLS with ${server.host}: ${problem}`, { cause: error });
}

function otherName(names: string, wanted: string): string {
  const shown = names.length > SHOWN_NAMES_LENGTH ? `${names.slice(0, SHOWN_NAMES_LENGTH)}…` : names;
  const found = shown === '' ? 'names no host' : `is for ${shown}`;
  return `the server's certificate ${found}, and not for ${wanted}: server of the kubeconfig, or its tls-server-name, should be a name that the certificate has`;
}

/** Node's message, and what would help. OpenSSL's own messages are of no help to a person. */
function tlsProblem(code: string, said: string): string {
  // Without the time: the same problem must have the same words at each try.
  if (['CERT_HAS_EXPIRED', 'CERT_NOT_YET_VALID'].includes(code))
    return `the server's ${said}, by the clock of this machine: one of the two should be renewed or set right`;
  if (UNTRUSTED.has(code))
    return `${said}: certificate-authority of the kubeconfig should be the one that signed the server's certificate`;
  if (['ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_SSL_PACKET_LENGTH_TOO_LONG'].includes(code))
    return 'the server does not speak TLS: an address that begins with https:// should be that of a server with a certificate';
  return said;
}

/** No certificate in the chain of the server's certificate is trusted. */
const UNTRUSTED: ReadonlySet<string> = new Set([
  'CERT_SIGNATURE_FAILURE',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

/** The socket, after the event; an error where the signal aborts first. */
async function opened<S extends Socket>(socket: S, event: string, signal: AbortSignal): Promise<S> {
  const { promise, resolve, reject } = Promise.withResolvers<S>();
  const abort = () => reject(signal.reason as Error);
  const close = () => reject(new Error('the connection was closed while it was being opened'));
  socket
    .once(event, () => resolve(socket))
    .once('error', reject)
    .once('close', close);
  signal.addEventListener('abort', abort, { once: true });
  if (signal.aborted) abort();
  try {
    return await promise;
  } catch (error) {
    // It may still fail: that error is ignored.
    socket.on('error', () => undefined).destroy();
    throw error;
  } finally {
    signal.removeEventListener('abort', abort);
    socket.off('error', reject).off('close', close);
  }
}

async function throughProxy(proxy: URL, server: URL, signal: AbortSignal): Promise<Socket> {
  try {
    return await (proxy.protocol.startsWith('socks') ? throughSocks : throughConnect)(proxy, server, signal);
  } catch (error) {
    const at = `proxy ${proxy.protocol}//${proxy.host}`;
    throw new StateletError('Unavailable', `${at}: ${errorMessage(error)}`, { cause: error });
  }
}

async function throughConnect(proxy: URL, server: URL, signal: AbortSignal): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const target = `${server.hostname}:${portOf(server)}`;
  const request = (proxy.protocol === 'https:' ? https : http).request({
    method: 'CONNECT',
    host: hostOf(proxy),
    port: portOf(proxy),
    path: target,
    headers: { host: target, ...proxyAuthorization(proxy) },
    agent: false,
    signal,
  });
  request.once('connect', (answer, socket) => {
    if (answer.statusCode === 200) {
      resolve(socket);
      return;
    }
    socket.destroy();
    reject(new Error(`it answered ${answer.statusCode ?? 0} ${answer.statusMessage ?? ''}`.trim()));
  });
  // A proxy that does not know CONNECT answers as to any other request.
  request.once('response', (answer) => {
    request.destroy();
    reject(new Error(`it answered ${answer.statusCode ?? 0} ${answer.statusMessage ?? ''}`.trim()));
  });
  request.on('error', reject).end();
  return promise;
}

function proxyAuthorization({ username, password }: URL): Record<string, string> {
  if (username === '') return {};
  const text = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { 'proxy-authorization': `Basic ${Buffer.from(text).toString('base64')}` };
}

/** The proxy resolves the name of the server. */
async function throughSocks(proxy: URL, server: URL, signal: AbortSignal): Promise<Socket> {
  const { SocksClient } = await import('socks');
  const connecting = SocksClient.createConnection({
    command: 'connect',
    destination: { host: hostOf(server), port: portOf(server) },
    proxy: {
      host: hostOf(proxy),
      port: proxy.port === '' ? 1080 : Number(proxy.port),
      type: 5,
      ...(proxy.username !== '' && {
        userId: decodeURIComponent(proxy.username),
        password: decodeURIComponent(proxy.password),
      }),
    },
  });
  const abandon = () => void connecting.then(({ socket }) => socket.destroy()).catch(() => undefined);
  signal.addEventListener('abort', abandon, { once: true });
  try {
    return (await connecting).socket;
  } finally {
    signal.removeEventListener('abort', abandon);
  }
}

type Environment = Readonly<Record<string, string | undefined>>;

/** The proxy of the kubeconfig, else that of the environment, by the rules of Go's net/http. Undefined: no proxy. */
export function proxyOf(server: URL, configured: string | undefined, env: Environment): string | undefined {
  if (configured !== undefined && configured !== '') return configured;
  // A variable that is empty counts as one that is not set.
  const read = (name: string) =>
    [env[name], env[name.toLowerCase()]].find((value) => value !== undefined && value !== '');
  const proxy = read(server.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY');
  if (proxy === undefined || isLoopback(hostOf(server)) || isExcluded(server, read('NO_PROXY') ?? ''))
    return undefined;
  return proxy.includes('://') ? proxy : `http://${proxy}`;
}

/** The host of the URL: an IPv6 address without its brackets. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/u, '$1');
}

export function portOf(url: URL): number {
  return url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/u.test(host);
}

/** `NO_PROXY`: `*`, or names (with their subdomains), `.names` (only those), addresses and networks, each with a port if wanted. */
function isExcluded(server: URL, noProxy: string): boolean {
  const rules = noProxy.split(',').map((rule) => rule.trim().toLowerCase());
  return rules.some((rule) => rule !== '' && excludes(rule, hostOf(server).toLowerCase(), portOf(server)));
}

function excludes(rule: string, host: string, port: number): boolean {
  if (rule === '*') return true;
  if (rule.includes('/')) return isIP(host) !== 0 && isInNetwork(rule, host);
  const [, bracketed, plain = rule, rulePort] = /^(?:\[(.+)\]|([^:]+)):(\d+)$/u.exec(rule) ?? [];
  if (rulePort !== undefined && Number(rulePort) !== port) return false;
  const name = (bracketed ?? plain).replace(/^\*(?=\.)/u, '');
  if (name.startsWith('.')) return host.endsWith(name);
  return host === name || (isIP(host) === 0 && host.endsWith(`.${name}`));
}

function isInNetwork(rule: string, host: string): boolean {
  const [network = '', bits = ''] = rule.split('/');
  const family = isIP(network);
  if (family === 0 || family !== isIP(host) || !/^\d+$/u.test(bits)) return false;
  if (Number(bits) > (family === 4 ? 32 : 128)) return false;
  const type = family === 4 ? 'ipv4' : 'ipv6';
  const list = new BlockList();
  list.addSubnet(network, Number(bits), type);
  return list.check(host, type);
}
