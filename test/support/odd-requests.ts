/** Random requests to a node's server that no good client sends, and the answers in a form that can be compared. */
import { connect } from 'node:tls';
import type { SeededRandom } from '../../src/simulation/plan/seeded-random.ts';

export interface OddRequest {
  readonly method: string;
  /** `POD` and `UID` stand for those of the pod that runs. */
  readonly target: string;
  readonly headers: readonly string[];
}

const words = (text: string) => text.trim().split(/\s+/u);
const METHODS = words('GET GET GET POST POST POST PUT HEAD DELETE OPTIONS PATCH');
const KINDS = words('exec exec attach attach portForward portForward run containerLogs containerLogs logs');
const NAMESPACES = [
  '',
  ...words('default default default default other %64efault a%2Fb .. %2e%2e de%20fault %zz'),
];
const PODS = ['', 'x'.repeat(300), ...words('POD POD POD POD nope %00 a%2Fb')];
const CONTAINERS = [
  '',
  ...words('app app app nope app/ app%20 UID/nope wrong/app UID/app/more %61pp a%2Fpp .'),
];
const COMMAND =
  words(`output=1 input=1 error=1 tty=1 output=true output=0 command=a&command=b command=%zz command=a;b
  output=1&output=0 output=0&output=1 output =1 && stdout=1 output=%31 out%70ut=1 output=+1 command= %`);
const PORTS =
  words(`port=80 port=0 port=65536 port=-1 port= port port=80,81 port=80&port=81 port=a port=80, port=%38%30
  port=+80 port=08 ports=80 port=%zz port="80" port=80;81 port=99999999999999999999 port=%00 port=<b>`);
const LOGS =
  words(`previous=true tailLines=1 tailLines=-1 tailLines=a tailLines= tail=2 tail=all tail= limitBytes=10 limitBytes=0
  limitBytes=1e3 sinceSeconds=0 sinceSeconds=-5 sinceSeconds=9999999999999999999 sinceTime=yesterday sinceTime= sinceTime=null
  sinceTime=2020-01-01T00:00:00.5%2B02:00 stream=Stdout stream=stdout stream=All stream= container=x tailLines=1&tailLines=2
  unknown=1 %zz=1 tailLines=%31 limitBytes=9223372036854775808 tailLines=+1 tailLines=0x1 sinceTime=2020-01-01%2000:00:00Z`);
const SPDY = ['Connection: Upgrade', 'Upgrade: SPDY/3.1'];
const WEB_SOCKET = [
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
];
const UPGRADES = [[], SPDY, SPDY, [...WEB_SOCKET, 'Sec-WebSocket-Version: 13'], WEB_SOCKET];
const PROTOCOLS = [
  'v4.channel.k8s.io',
  'channel.k8s.io',
  'portforward.k8s.io',
  'nonsense',
  'v9, v4.channel.k8s.io',
  '',
];

const COMMAND_OF_POD = '/exec/default/POD/app?output=1&command=true';
const VERSION = 'Sec-WebSocket-Version: 13';

/** Odd requests that are not drawn at random. */
export const KNOWN_ODD_REQUESTS: readonly OddRequest[] = [
  ...['GET', 'POST', 'HEAD', 'OPTIONS', 'DELETE'].map((method) => ({ method, target: '*', headers: [] })),
  ...[
    [VERSION, VERSION],
    [VERSION, 'Sec-WebSocket-Version: 8'],
  ].map((versions) => ({ method: 'GET', target: COMMAND_OF_POD, headers: [...WEB_SOCKET, ...versions] })),
];

export function oddRequest(random: SeededRandom): OddRequest {
  const kind = random.pick(KINDS);
  const [namespace, pod, container] = [NAMESPACES, PODS, CONTAINERS].map((names) => random.pick(names));
  const upgrade = random.next() < 0.5 ? random.pick(UPGRADES) : [];
  // Without a protocol, the kubelet passes on the words of its runtime.
  const protocol =
    upgrade.length > 0 || random.next() < 0.5 ? [`X-Stream-Protocol-Version: ${random.pick(PROTOCOLS)}`] : [];
  const path = {
    portForward: `${namespace}/${pod}${random.pick(['', '', '/', '/UID', '/wrong', '/UID/x'])}`,
    logs: random.pick(['nope', '..', '%2e%2e/etc', 'a//b']),
  };
  const own = Object.hasOwn(path, kind)
    ? path[kind as keyof typeof path]
    : `${namespace}/${pod}/${container}`;
  return {
    method: random.pick(METHODS),
    target: `/${kind}/${own}${query(kind, random)}`,
    headers: [...upgrade, ...protocol],
  };
}

function query(kind: string, random: SeededRandom): string {
  const parts = {
    portForward: PORTS,
    containerLogs: LOGS,
    run: ['cmd', 'cmd=', 'cmd=%zz'],
    logs: ['a', '%zz'],
  };
  const known = Object.hasOwn(parts, kind) ? parts[kind as keyof typeof parts] : COMMAND;
  if (random.next() < 0.15) return random.pick(['', '?', '?&', '?;']);
  return `?${Array.from({ length: random.integer(1, 3) }, () => random.pick(known)).join('&')}`;
}

/** Headers that differ from one request to the next, or in which servers may differ. */
const LEFT_OUT =
  /^(?:date|content-length|transfer-encoding|connection|keep-alive|cache-control|sec-websocket-accept):.*\n/gimu;
const ID = /[0-9a-f]{64}/gu;

/** The status, the headers that matter, and the body; of an upgrade only the head. */
export async function answerOf(
  { port, pod, uid }: { readonly port: number; readonly pod: string; readonly uid: string },
  { method, target, headers }: OddRequest,
): Promise<string> {
  const lines = [
    `${method} ${target.replaceAll('POD', pod).replaceAll('UID', uid)} HTTP/1.1`,
    'Host: node',
    ...headers,
  ];
  if (method === 'POST') lines.push('Content-Length: 0');
  if (!headers.some((header) => header.startsWith('Connection'))) lines.push('Connection: close');
  const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false });
  socket.write(`${lines.join('\r\n')}\r\n\r\n`);
  let text = '';
  try {
    for await (const piece of socket) {
      text += (piece as Buffer).toString('latin1');
      if (isWhole(text, method)) break;
    }
  } finally {
    socket.destroy();
  }
  const answer = method === 'HEAD' ? text.replace(/\r\n\r\n.*$/su, '\r\n\r\n') : text;
  return shown(answer).replaceAll(uid, 'UID').replaceAll(pod, 'POD').replaceAll(ID, 'ID');
}

function isWhole(text: string, method: string): boolean {
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) return false;
  if (text.startsWith('HTTP/1.1 101') || method === 'HEAD' || text.endsWith('\r\n0\r\n\r\n')) return true;
  const length = /\r\ncontent-length: (\d+)\r\n/iu.exec(text)?.[1];
  return length !== undefined && text.length - end - 4 >= Number(length);
}

function shown(text: string): string {
  const [head = '', ...rest] = text.split('\r\n\r\n');
  const [status = '', ...headers] = head.split('\r\n');
  const kept = headers.map((header) => `${header}\n`.replace(/^[^:]+/u, (name) => name.toLowerCase()));
  const isUpgrade = status.includes(' 101 ');
  const isChunked = headers.some((header) => /^transfer-encoding: chunked/iu.test(header));
  const body = isUpgrade ? '' : rest.join('\r\n\r\n');
  const lines = kept.sort().join('').replaceAll(LEFT_OUT, '');
  return `${status.slice(0, 12)}\n${lines}\n${isChunked ? unchunked(body) : body}`;
}

function unchunked(body: string): string {
  const end = body.indexOf('\r\n');
  const length = Number.parseInt(body.slice(0, end), 16);
  if (end < 0 || !(length > 0)) return '';
  return body.slice(end + 2, end + 2 + length) + unchunked(body.slice(end + 4 + length));
}
