import { clockProblem } from '../node/lease-renewal.ts';
import { type Finding, findingsOf, type Reading } from './finding.ts';

export interface ApiServerFacts {
  readonly server: string;
  /** Where its address stands. */
  readonly kubeconfig: string;
  /** By how much the clock of this machine is ahead of the server's. */
  readonly differenceMs: Reading<number>;
}

/** Undefined: the node belongs to no cluster. */
export function apiServerFindings(facts: ApiServerFacts | undefined): readonly Finding[] {
  const { ok, error } = findingsOf('api-server');
  const clock = findingsOf('clock');
  if (facts === undefined) return [];
  const { server, kubeconfig, differenceMs } = facts;
  if ('problem' in differenceMs) {
    const mend = `check server and certificate-authority in ${kubeconfig}, and that the server runs`;
    return [
      error(`${server}: ${differenceMs.problem}`, mend),
      clock.unknown('the API server does not say the time'),
    ];
  }
  const problem = clockProblem(differenceMs.value);
  return [
    ok(`${server} answers, with a certificate that the kubeconfig's authority has signed`),
    problem === undefined
      ? clock.ok('as that of the API server')
      : clock.warning(problem, 'timedatectl set-ntp true (Debian: apt-get install systemd-timesyncd)'),
  ];
}
