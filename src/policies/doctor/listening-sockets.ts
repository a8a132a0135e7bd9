/** Who listens on this machine, as `/proc/net/tcp` and `tcp6` say. */

export interface ListeningSocket {
  readonly port: number;
  /** Hexadecimal, as the kernel writes it. */
  readonly address: string;
  readonly isIPv6: boolean;
  readonly inode: string;
}

const LISTENING = '0A';
const INODE = 9;

/**
 * The sockets that listen. Lines that are not of the form of proc_pid_net(5) are left out:
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
