/** Looks at everything that a node with this configuration needs. Nothing is changed, and nothing is kept open. */
import { release } from 'node:os';
import { EMBEDDED, type StateletConfig } from '../agent/config/config.ts';
import { diagnosis } from './policies/diagnosis.ts';
import type { Finding } from './policies/finding.ts';
import { systemClock } from '../system/timer.ts';
import { apiServerFacts, certificateReport } from './api-server-facts.ts';
import { agentFacts, limitFacts, runningProcesses } from './process-facts.ts';
import { portFacts } from './port-facts.ts';

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
