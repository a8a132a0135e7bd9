/** Whether the container runtime answers and is ready, has the image of its sandboxes, and confines containers. */
import type { RuntimeCondition } from '../../types/cri.ts';
import { type Finding, findingsOf, type Reading } from './finding.ts';

export interface RuntimeFacts {
  /** `embedded`, or `unix:///PATH`. */
  readonly endpoint: string;
  /** Undefined for the embedded runtime. */
  readonly answer: Reading<RuntimeAnswer> | undefined;
}

export interface RuntimeAnswer {
  readonly name: string;
  readonly version: string;
  readonly conditions: readonly RuntimeCondition[];
}

const { ok, warning, error, unread } = findingsOf('runtime');
const network = findingsOf('runtime-network');

/** The oldest containerd that speaks CRI v1. */
const OLDEST_CONTAINERD = [1, 6] as const;

export function runtimeFindings({ endpoint, answer }: RuntimeFacts): readonly Finding[] {
  if (answer === undefined) return [ok('embedded: containers are processes of this machine')];
  const socket = endpoint.replace(/^unix:\/\//u, '');
  if ('problem' in answer) {
    return [unread(socket, answer, startText(socket))];
  }
  const { name, version, conditions } = answer.value;
  const notReady = conditions.filter(({ status }) => !status);
  const ready = notReady.find(({ type }) => type === 'RuntimeReady');
  const noNetwork = notReady.find(({ type }) => type === 'NetworkReady');
  return [
    ready
      ? error(`${name} ${version} is not ready: ${reasonOf(ready)}`, logText(name))
      : versionFinding(name, version, endpoint),
    noNetwork
      ? network.error(
          `${name} has no network for pods: ${reasonOf(noNetwork)}`,
          'put a CNI configuration into the folder of the runtime, see the finding of cni; examples/systemd has one',
        )
      : network.ok('ready'),
  ];
}

function reasonOf({ reason, message }: RuntimeCondition): string {
  return [reason, message].filter((text) => text !== '').join(': ');
}

function versionFinding(name: string, version: string, endpoint: string): Finding {
  const [, major, minor] = /^v?(\d+)\.(\d+)/u.exec(version) ?? [];
  const [oldMajor, oldMinor] = OLDEST_CONTAINERD;
  const isOld =
    name === 'containerd' &&
    (Number(major) < oldMajor || (Number(major) === oldMajor && Number(minor) < oldMinor));
  if (!isOld) return ok(`${name} ${version} at ${endpoint}, ready`);
  return warning(
    `${name} ${version} is older than ${OLDEST_CONTAINERD.join('.')}, the oldest that Statelet is tested with`,
    'install a newer containerd',
  );
}

function startText(socket: string): string {
  const program = serviceOf(socket);
  return `systemctl enable --now ${program} (Debian: apt-get install ${program}), or name its socket by --container-runtime-endpoint`;
}

function logText(name: string): string {
  return `journalctl -u ${serviceOf(name)} says why`;
}

function serviceOf(text: string): string {
  return /crio|cri-o/u.test(text) ? 'crio' : 'containerd';
}

export interface SandboxImageFacts {
  /** Undefined: the runtime does not say it. */
  readonly image: string | undefined;
  /** Undefined: the runtime does not answer. */
  readonly isPresent: boolean | undefined;
  /** Whether the runtime is containerd, which has `ctr`. */
  readonly isContainerd: boolean;
}

export function sandboxImageFindings({
  image,
  isPresent,
  isContainerd,
}: SandboxImageFacts): readonly Finding[] {
  const { ok, warning, unknown } = findingsOf('sandbox-image');
  if (image === undefined) return [unknown('the runtime does not say which image its sandboxes have')];
  if (isPresent === undefined) return [unknown(`${image}; the runtime does not say whether it is there`)];
  if (isPresent) return [ok(image)];
  const pull = isContainerd ? `ctr --namespace k8s.io images pull ${image}` : `crictl pull ${image}`;
  return [warning(`${image} is not there: the first pod waits until it has been pulled`, pull)];
}

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
