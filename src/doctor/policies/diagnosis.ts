/** All findings, from all facts. */
import { type AgentFacts, agentFindings } from './agent-findings.ts';
import {
  type ApiServerFacts,
  apiServerFindings,
  type CertificateFacts,
  certificateFindings,
} from './certificate-findings.ts';
import { type CgroupFacts, cgroupFindings } from './cgroup-findings.ts';
import { type CNIFacts, cniFindings } from './cni-findings.ts';
import { type DriverFacts, driverFindings } from './driver-findings.ts';
import { CHECKS, type Finding, findingsOf } from './finding.ts';
import {
  type RuntimeFacts,
  runtimeFindings,
  type SandboxImageFacts,
  sandboxImageFindings,
  type SecurityFacts,
  securityFindings,
} from './runtime-findings.ts';
import {
  kernelFindings,
  type LimitFacts,
  limitFindings,
  type SwapFacts,
  swapFindings,
} from './machine-findings.ts';
import { type PortFacts, portFindings } from './port-findings.ts';

export interface DoctorFacts {
  readonly isRoot: boolean;
  readonly kernelRelease: string;
  readonly runtime: RuntimeFacts;
  /** Of a CRI runtime alone. */
  readonly containers?:
    | {
        readonly cgroups: CgroupFacts;
        readonly driver: DriverFacts;
        /** Undefined: the runtime has its network from elsewhere. */
        readonly cni: CNIFacts | undefined;
        readonly sandboxImage: SandboxImageFacts;
        readonly swap: SwapFacts;
        readonly security: SecurityFacts;
      }
    | undefined;
  readonly ports: PortFacts;
  readonly certificates: CertificateFacts;
  readonly apiServer: ApiServerFacts | undefined;
  readonly limits: LimitFacts;
  readonly agents: AgentFacts;
}

/** In the order of the checks. */
export function diagnosis(facts: DoctorFacts): readonly Finding[] {
  const { containers } = facts;
  const findings = [
    ...(containers
      ? [
          ...userFindings(facts.isRoot),
          ...cgroupFindings(containers.cgroups),
          ...driverFindings(containers.driver),
          ...(containers.cni ? cniFindings(containers.cni) : []),
          ...sandboxImageFindings(containers.sandboxImage),
          ...swapFindings(containers.swap),
          ...securityFindings(containers.security),
        ]
      : []),
    ...kernelFindings(facts.kernelRelease),
    ...runtimeFindings(facts.runtime),
    ...portFindings(facts.ports),
    ...certificateFindings(facts.certificates),
    ...apiServerFindings(facts.apiServer),
    ...limitFindings(facts.limits),
    ...agentFindings(facts.agents),
  ];
  return inOrder(findings);
}

export function inOrder(findings: readonly Finding[]): readonly Finding[] {
  return findings.toSorted((one, other) => CHECKS.indexOf(one.check) - CHECKS.indexOf(other.check));
}

/** Whether something is wrong that keeps the node from working. */
export function hasErrors(findings: readonly Finding[]): boolean {
  return findings.some(({ status }) => status === 'error');
}

function userFindings(isRoot: boolean): readonly Finding[] {
  const { ok, unknown } = findingsOf('user');
  if (isRoot) return [ok('root')];
  return [unknown('not root: not everything can be seen, and a CRI runtime needs it', 'run it as root')];
}
