/** Looks at everything that a node with this configuration needs. Nothing is changed, and nothing is kept open. */
import { release } from 'node:os';
import { EMBEDDED, type StateletConfig } from '../agent/config/config.ts';
import { diagnosis } from './policies/diagnosis.ts';
import type { Finding } from './policies/finding.ts';
import { systemClock } from '../system/timer.ts';
import { apiServerFacts, certificateReport } from './api-server-facts.ts';
import { agentFacts, holdersOf, limitFacts, runningProcesses } from './process-facts.ts';
import { securePort } from '../agent/config/load-server-settings.ts';
import type { RunningAgent } from './policies/agent-findings.ts';
import { isInTheWay, listeningSockets, type PortFacts, type WantedPort } from './policies/port-findings.ts';
import { kernelText, mapped, valueOr } from './reading.ts';

export async function examine(config: StateletConfig): Promise<readonly Finding[]> {
  const { containerRuntimeEndpoint: endpoint, rootDir, maxPods } = config;
  const isEmbedded = endpoint === EMBEDDED;
  const processes = await runningProcesses();
  const agents = await agentFacts(rootDir, endpoint, processes);
  const ownPid = 'value' in agents.lock && agents.lock.value.isHeld ? agents.lock.value.holder : undefined;
  const report = await certificateReport(config);
  const [ports, limits, apiServer, real] = await Promise.all([
    portFacts(config, processes, ownPid),
    limitFacts(maxPods),
    report.kubeconfig && apiServerFacts(report.kubeconfig),
    isEmbedded ? undefined : realContainers(config),
  ]);
  return diagnosis({
    isRoot: process.getuid?.() === 0,
    kernelRelease: release(),
    runtime: { endpoint, answer: real?.answer },
    containers: real?.containers,
    ports,
    certificates: { ...report, nowMs: systemClock.now() },
    apiServer,
    limits,
    agents,
  });
}

/** Loaded only with a CRI runtime. */
async function realContainers(config: StateletConfig) {
  const { askRuntime, containerFacts } = await import('./cri-facts.ts');
  const answers = await askRuntime(config.containerRuntimeEndpoint, config.node.imageServiceEndpoint);
  try {
    return { answer: answers.answer, containers: await containerFacts(config, answers) };
  } finally {
    answers.close();
  }
}

/** `ownPid`: the daemon that has the lock of the root folder. */
async function portFacts(
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
