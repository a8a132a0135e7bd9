/** Who else manages pods on this machine: a kubelet, or another Statelet. */
import { type Finding, findingsOf, type Reading } from './finding.ts';

export interface AgentFacts {
  readonly kubelets: readonly RunningAgent[];
  /** Daemons of Statelet with another root folder. */
  readonly others: readonly RunningAgent[];
  /** Whether a daemon has the lock of this root folder; its process ID where the file has it. */
  readonly lock: Reading<{ readonly isHeld: boolean; readonly holder: number | undefined }>;
  readonly rootDir: string;
  /** `embedded`, or `unix:///PATH`. Several agents with plain processes can run side by side. */
  readonly endpoint: string;
}

const { ok, warning, error, unread } = findingsOf('other-agents');

export function agentFindings(facts: AgentFacts): readonly Finding[] {
  const { kubelets, others, lock, endpoint, rootDir } = facts;
  const isEmbedded = endpoint === EMBEDDED;
  if ('problem' in lock)
    return [unread(rootDir, lock, 'give a folder that this user may write by --root-dir')];
  const problems = [
    ...kubelets.map((kubelet) => kubeletFinding(kubelet, isEmbedded)),
    ...(isEmbedded ? [] : others.flatMap((other) => otherFinding(other, endpoint))),
  ];
  if (problems.length > 0) return problems;
  const { isHeld, holder } = lock.value;
  if (!isHeld) return [ok('no kubelet and no other Statelet manages pods here')];
  return [
    ok(`Statelet runs with ${rootDir}${holder === undefined ? '' : ` (pid ${holder})`}, and no other agent`),
  ];
}

function kubeletFinding({ pid }: RunningAgent, isEmbedded: boolean): Finding {
  const mend = `systemctl disable --now kubelet (or end pid ${pid})`;
  if (isEmbedded) return warning(`a kubelet runs (pid ${pid}), with pods of its own`, mend);
  return error(
    `a kubelet runs (pid ${pid}): it would end the pods of Statelet, and both write kubepods`,
    mend,
  );
}

function otherFinding(agent: RunningAgent, endpoint: string): readonly Finding[] {
  const shares = sharesRuntime(agent, endpoint);
  if (shares === 'no') return [];
  const { pid, command } = agent;
  const shown = `another Statelet runs (pid ${pid}: ${command.slice(0, SHOWN_WORDS).join(' ')})`;
  const mend = `end pid ${pid}, or give each a runtime and a --cgroup-root of its own`;
  if (shares === 'yes')
    return [error(`${shown} with the same runtime: each ends the pods of the other`, mend)];
  return [warning(`${shown}: if it has the same runtime, each ends the pods of the other`, mend)];
}

const SHOWN_WORDS = 12;
const EMBEDDED = 'embedded';

export interface RunningAgent {
  readonly pid: number;
  /** The words of its command line. */
  readonly command: readonly string[];
}

const COMMANDS = ['run', 'run-once'];

export function isKubelet({ command: [program = ''] }: RunningAgent): boolean {
  return baseName(program) === 'kubelet';
}

/** A daemon, whether started as a script of Node, from the archive, or under the kubelet's name. */
export function isStatelet({ command }: RunningAgent): boolean {
  const script = command.findIndex((word) => /(?:^|\/)(?:statelet(?:\.js)?|kubelet)$/u.test(word));
  if (script < 1 || !baseName(command[0] ?? '').startsWith('node')) return false;
  return baseName(command[script] ?? '') === 'kubelet' || COMMANDS.includes(command[script + 1] ?? '');
}

/** What is left out may be the default, or stand in a file. */
export function rootDirOf(agent: RunningAgent): string | undefined {
  return valueOf('--root-dir', agent);
}

/** Of the same runtime, as far as the command line shows it: `unknown` where a file may name one. */
export function sharesRuntime(agent: RunningAgent, endpoint: string): 'yes' | 'no' | 'unknown' {
  const own = valueOf('--container-runtime-endpoint', agent);
  if (own !== undefined) return own === endpoint ? 'yes' : 'no';
  return valueOf('--config', agent) === undefined ? 'no' : 'unknown';
}

function valueOf(flag: string, { command }: RunningAgent): string | undefined {
  const at = command.findIndex((word) => word === flag || word.startsWith(`${flag}=`));
  const word = command[at];
  if (word === undefined) return undefined;
  return word === flag ? command[at + 1] : word.slice(flag.length + 1);
}

function baseName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
