/** Whether the ports that the node opens are free. */
import { type Finding, findingsOf, type Reading } from './finding.ts';

export interface WantedPort {
  /** What is served there. */
  readonly what: string;
  /** The flag that gives another one. */
  readonly flag: string;
  readonly host: string;
  readonly port: number;
}

export interface PortFacts {
  readonly wanted: readonly WantedPort[];
  readonly sockets: Reading<readonly ListeningSocket[]>;
  /** By the inode of the socket: who has it open, as far as this user may see. */
  readonly holders: ReadonlyMap<string, Holder>;
  /** The daemon that runs on this root folder, which has its ports already. */
  readonly ownPid: number | undefined;
}

export interface Holder {
  readonly pid: number;
  readonly command: string;
}

const { ok, error, unread } = findingsOf('ports');

export function portFindings({ wanted, sockets, holders, ownPid }: PortFacts): readonly Finding[] {
  if ('problem' in sockets) return [unread('/proc/net/tcp', sockets, 'mount /proc')];
  if (wanted.length === 0) return [ok('none is opened')];
  const taken = wanted.flatMap((port) => {
    const inTheWay = sockets.value.filter((socket) => isInTheWay(socket, port.host, port.port));
    const holder = inTheWay.map(({ inode }) => holders.get(inode)).find((one) => one !== undefined);
    // A daemon that runs here may hide from another user who holds its ports.
    const isOwn = ownPid !== undefined && (holder === undefined || holder.pid === ownPid);
    return inTheWay.length === 0 || isOwn ? [] : [takenPort(port, holder)];
  });
  const shown = wanted.map(({ what, port }) => `${port} (${what})`).join(', ');
  return taken.length > 0 ? taken : [ok(ownPid === undefined ? `free: ${shown}` : `Statelet has ${shown}`)];
}

function takenPort({ what, flag, host, port }: WantedPort, holder: Holder | undefined): Finding {
  const who = holder === undefined ? 'another process' : `${holder.command} (pid ${holder.pid})`;
  const find =
    holder === undefined ? `ss -ltnp "sport = :${port}" as root says who` : `end pid ${holder.pid}`;
  return error(
    `${who} has ${host}:${port}, which is for ${what}`,
    `${find}, or give another port by ${flag}`,
  );
}

interface ListeningSocket {
  readonly port: number;
  /** Hexadecimal, as the kernel writes it. */
  readonly address: string;
  readonly isIPv6: boolean;
  readonly inode: string;
}

const LISTENING = '0A';

const INODE = 9;

/**
 * The sockets that listen, from `/proc/net/tcp` or `tcp6`. Lines that are not of the form of proc_pid_net(5) are left out:
 *
 *       sl  local_address rem_address   st tx_queue:rx_queue tr:tm->when retrnsmt   uid  timeout inode
 *        0: 0100007F:2808 00000000:0000 0A …
 */
export function listeningSockets(text: string, { isIPv6 }: { readonly isIPv6: boolean }): ListeningSocket[] {
  return text.split('\n').flatMap((line) => {
    const fields = line.trim().split(/\s+/u);
    const [address = '', port] = fields[1]?.split(':') ?? [];
    if (fields[3] !== LISTENING || port === undefined) return [];
    return [{ port: parseInt(port, 16), address, isIPv6, inode: fields[INODE] ?? '' }];
  });
}

/** Whether a socket at this address keeps another one from listening at the host and port. Names of hosts count as any address. */
export function isInTheWay(socket: ListeningSocket, host: string, port: number): boolean {
  if (socket.port !== port) return false;
  const wanted = hexOf(host);
  if (wanted === undefined || /^0+$/u.test(wanted) || /^0+$/u.test(socket.address)) return true;
  return socket.address === wanted;
}

/** Only of IPv4; undefined for anything else. */
function hexOf(host: string): string | undefined {
  const parts = /^(\d+)\.(\d+)\.(\d+)\.(\d+)$/u.exec(host)?.slice(1).map(Number);
  return parts
    ?.reverse()
    .map((part) => part.toString(16).padStart(2, '0').toUpperCase())
    .join('');
}
