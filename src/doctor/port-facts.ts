import type { StateletConfig } from '../agent/config/config.ts';
import { securePort } from '../agent/config/load-server-settings.ts';
import type { RunningAgent } from './policies/agent-findings.ts';
import { isInTheWay, listeningSockets, type PortFacts, type WantedPort } from './policies/port-findings.ts';
import { holdersOf } from './process-facts.ts';
import { kernelText, mapped, valueOr } from './reading.ts';

/** `ownPid`: the daemon that has the lock of the root folder. */
export async function portFacts(
  config: StateletConfig,
  processes: readonly RunningAgent[],
  ownPid: number | undefined,
): Promise<PortFacts> {
  const wanted = wantedPorts(config);
  const [four, six] = await Promise.all(['/proc/net/tcp', '/proc/net/tcp6'].map(kernelText));
  const sockets = mapped(four ?? { problem: 'does not exist', isForbidden: false }, (text) => [
    ...listeningSockets(text, { isIPv6: false }),
    // A machine without IPv6 has no such file.
    ...listeningSockets(valueOr(six ?? { value: '' }, ''), { isIPv6: true }),
  ]);
  const inTheWay = valueOr(sockets, []).filter((socket) =>
    wanted.some(({ host, port }) => isInTheWay(socket, host, port)),
  );
  const inodes = new Set(inTheWay.map(({ inode }) => inode));
  return { wanted, sockets, holders: await holdersOf(inodes, processes), ownPid };
}

/** Without those for which any free port will do. */
function wantedPorts(config: StateletConfig): readonly WantedPort[] {
  const { healthz, ui, inspect, server } = config;
  const secure = server.enableServer ? securePort(config) : undefined;
  const ports = [
    healthz && { what: 'healthz', flag: '--healthz-port', ...healthz },
    secure !== undefined && { what: "the node's server", flag: '--port', host: server.address, port: secure },
    server.enableServer && {
      what: 'the read-only port',
      flag: '--read-only-port',
      host: server.address,
      port: server.readOnlyPort,
    },
    ui && { what: 'the page', flag: '--ui', ...ui },
    inspect && { what: 'the inspector', flag: '--inspect', ...inspect },
  ];
  return ports.flatMap((port) => (port && port.port !== 0 ? port : []));
}
