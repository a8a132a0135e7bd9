/** Tells agents by the command lines of processes. */

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

/** Of the same runtime, as far as the command line tells: `unknown` where a file may name one. */
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
