import { type Finding, findingsOf } from './finding.ts';

/** The oldest kernel with long-term support that Kubernetes 1.36 is checked with (system-validators). */
const OLDEST = [4, 19] as const;

/** `release`: as uname(2) has it, `6.12.41+deb13-amd64`. */
export function kernelFindings(release: string): readonly Finding[] {
  const { ok, warning, unknown } = findingsOf('kernel');
  const [, major, minor] = /^(\d+)\.(\d+)/u.exec(release) ?? [];
  if (major === undefined || minor === undefined) return [unknown(`the kernel calls itself "${release}"`)];
  const isOld = Number(major) < OLDEST[0] || (Number(major) === OLDEST[0] && Number(minor) < OLDEST[1]);
  if (!isOld) return [ok(`Linux ${release}`)];
  return [
    warning(
      `Linux ${release} is older than ${OLDEST.join('.')}, the oldest that Kubernetes is tested with`,
      'install a newer kernel (Debian: apt-get install linux-image-amd64) and reboot',
    ),
  ];
}
