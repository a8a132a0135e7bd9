/** Whether the certificates of the node are valid, and whether the API server answers. */
import { rfc3339 } from '../../agent/policies/formats/time.ts';
import { clockProblem } from '../../agent/policies/node/lease-renewal.ts';
import { type Finding, findingsOf, type Reading } from './finding.ts';

export interface CertificateFileFacts {
  /** `serving certificate`, `client certificate`, … */
  readonly what: string;
  /** A file, or a file and the field in it. */
  readonly path: string;
  readonly certificate: Reading<{ readonly notBefore: number; readonly notAfter: number }>;
  /** How to get a new one. */
  readonly mend: string;
  /** Statelet asks for another one in time. */
  readonly renews: boolean;
}

export interface CertificateFacts {
  readonly certificates: readonly CertificateFileFacts[];
  /** Of the kubeconfig itself, and what else cannot be read at all. */
  readonly problems: readonly {
    readonly path: string;
    readonly problem: string;
    readonly isForbidden: boolean;
  }[];
  readonly nowMs: number;
}

const { ok, warning, error, unread } = findingsOf('certificates');
const DAY_MS = 24 * 60 * 60_000;
const SOON_MS = 7 * DAY_MS;

export function certificateFindings({ certificates, problems, nowMs }: CertificateFacts): readonly Finding[] {
  const found = [
    ...problems.map((unreadable) =>
      unread(unreadable.path, unreadable, `give a file that is right (docs/cluster.md has the forms)`),
    ),
    ...certificates.flatMap((one) => problemOf(one, nowMs) ?? []),
  ];
  if (found.length > 0) return found;
  return [ok(certificates.map(validText).join('; ') || 'none is given')];
}

function problemOf(one: CertificateFileFacts, nowMs: number): Finding | undefined {
  const { what, path, certificate, mend, renews } = one;
  if ('problem' in certificate) return unread(`${what} ${path}`, certificate, mend);
  const { notBefore, notAfter } = certificate.value;
  if (nowMs > notAfter) return error(`${what} ${path} expired at ${rfc3339(notAfter)}`, mend);
  if (nowMs < notBefore) {
    const message = `${what} ${path} is valid from ${rfc3339(notBefore)} only, by the clock of this machine`;
    return error(message, `set the clock right (timedatectl set-ntp true), or: ${mend}`);
  }
  if (notAfter - nowMs < SOON_MS && !renews)
    return warning(`${what} ${path} expires at ${rfc3339(notAfter)}`, mend);
  return undefined;
}

function validText({ what, certificate }: CertificateFileFacts): string {
  return 'value' in certificate ? `${what} until ${rfc3339(certificate.value.notAfter)}` : what;
}

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
