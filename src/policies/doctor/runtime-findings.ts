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
