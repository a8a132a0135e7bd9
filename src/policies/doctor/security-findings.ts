/** AppArmor and SELinux: what the kernel enforces, and whether the runtime takes part in it. */
import { type Finding, findingsOf } from './finding.ts';

export interface SecurityFacts {
  readonly appArmor: boolean;
  /** Whether the program is there that loads profiles. */
  readonly hasParser: boolean;
  readonly selinux: 'off' | 'permissive' | 'enforcing';
  /** Undefined: the runtime does not say it. */
  readonly runtimeLabels: boolean | undefined;
}

export function securityFindings(facts: SecurityFacts): readonly Finding[] {
  return [appArmorFinding(facts), selinuxFinding(facts)];
}

function appArmorFinding({ appArmor, hasParser }: SecurityFacts): Finding {
  const { ok, warning } = findingsOf('apparmor');
  if (!appArmor) return ok('the kernel does not enforce it');
  if (hasParser) return ok('enforced');
  return warning(
    'the kernel enforces it, and there is no apparmor_parser: the runtime confines no container',
    'apt-get install apparmor',
  );
}

function selinuxFinding({ selinux, runtimeLabels }: SecurityFacts): Finding {
  const { ok, warning } = findingsOf('selinux');
  if (selinux !== 'enforcing' || runtimeLabels !== false) return ok(selinux);
  return warning(
    'enforcing, and containerd labels no container: volumes of pods may be refused',
    'set enable_selinux = true below [plugins."io.containerd.grpc.v1.cri"] in /etc/containerd/config.toml, then systemctl restart containerd',
  );
}
