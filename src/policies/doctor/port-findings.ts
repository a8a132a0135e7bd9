import { type Finding, findingsOf, type Reading } from './finding.ts';
import { isInTheWay, type ListeningSocket } from './listening-sockets.ts';

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
