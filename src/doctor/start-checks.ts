/** The checks that cost so little that a daemon for real containers does them at each start. */
import type { StateletConfig } from '../agent/config/config.ts';
import { agentFindings } from './policies/agent-findings.ts';
import { cgroupFindings } from './policies/cgroup-findings.ts';
import type { Finding } from './policies/finding.ts';
import { limitFindings } from './policies/machine-findings.ts';
import { cgroupFacts } from './cgroup-facts.ts';
import { agentFacts, limitFacts, runningProcesses } from './process-facts.ts';

/** What is wrong. Of cgroups only what keeps pods from running: which version they have is no news at each start. */
export async function startChecks(config: StateletConfig): Promise<readonly Finding[]> {
  const { containerRuntimeEndpoint: endpoint, rootDir, maxPods } = config;
  const limits = limitFindings(await limitFacts(maxPods)).filter(({ status }) => status === 'warning');
  const others = [
    ...cgroupFindings(await cgroupFacts(config)),
    ...agentFindings(await agentFacts(rootDir, endpoint, await runningProcesses())),
  ];
  return [...limits, ...others.filter(({ status }) => status === 'error')];
}
