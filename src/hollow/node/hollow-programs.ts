/** The simulated programs of containers and commands on hollow nodes, by their command lines. No process is started. */
import type { KeyedRandom } from '../../simulation/resources/growth.ts';
import { parseProgram, type Program } from '../../simulation/runtime/simulated-program.ts';

/** The command by which all probes are made: nothing listens at the addresses of hollow pods. */
const PROBE = 'hollow-probe';

const ENDS_ON_TERM = { takesMs: 0, exitCode: 143 };
const RUNS: Program = { exitCode: 0, onTerm: ENDS_ON_TERM };
const MAX_OUTPUT_CHARS = 64 * 1024;

export interface ProgramsOptions {
  readonly random: KeyedRandom;
  readonly now: () => number;
  readonly probeFailures: { readonly share: number; readonly windowMs: number };
}

export function probeCommand(uid: string, container: string, what: string): readonly string[] {
  return [PROBE, uid, container, what];
}

/** The program of a container, or of its probe or hook. Any command that is not known here runs until it is stopped. */
export function hollowProgram(words: readonly string[], options: ProgramsOptions): Program {
  const [name, uid = '', container = '', what = ''] = words;
  if (name === PROBE) return probe(`${uid}/${container}`, what, options);
  return knownProgram(words) ?? RUNS;
}

/** All probes of a container fail for a while, or none. */
function probe(key: string, what: string, { random, now, probeFailures }: ProgramsOptions): Program {
  const { share, windowMs } = probeFailures;
  if (share === 0) return { exitCode: 0, takesMs: 0 };
  const window = Math.floor(now() / windowMs + random(`probe/${key}`));
  const fails = random(`probe/${key}/${String(window)}`) < share;
  return { exitCode: fails ? 1 : 0, takesMs: 0, ...(fails && { stderr: `${what}: fails by plan` }) };
}

/** A program of the simulation (`run exit-after=5s`), or one of the usual commands of examples and tests. Undefined: any other. */
export function knownProgram([path = '', ...args]: readonly string[]): Program | undefined {
  const name = path.slice(path.lastIndexOf('/') + 1);
  switch (name) {
    case 'run':
    case 'succeed':
    case 'fail':
    case 'crash-at-start': {
      return parseProgram([name, ...args]);
    }
    case 'true':
    case 'exit': {
      return ends(Number(args[0] ?? 0) % 256 || 0);
    }
    case 'false': {
      return ends(1);
    }
    case 'echo': {
      return { ...ends(0), stdout: `${args.join(' ').slice(0, MAX_OUTPUT_CHARS)}\n` };
    }
    case 'sleep': {
      return sleeps(args);
    }
    case 'sh':
    case 'bash': {
      return args[0] === '-c' ? knownProgram((args[1] ?? '').trim().split(/\s+/u)) : undefined;
    }
    default: {
      return undefined;
    }
  }
}

const ends = (exitCode: number): Program => ({ exitCode, takesMs: 0, onTerm: ENDS_ON_TERM });

const SECONDS: Readonly<Record<string, number>> = { '': 1, s: 1, m: 60, h: 3600, d: 86_400 };

function sleeps(args: readonly string[]): Program | undefined {
  const [, amount, unit = ''] = /^(\d+(?:\.\d+)?)([smhd]?)$/u.exec(args[0] ?? '') ?? [];
  if (amount === undefined || args.length > 1) return undefined;
  return {
    exitCode: 0,
    takesMs: Math.round(Number(amount) * (SECONDS[unit] ?? 1) * 1000),
    onTerm: ENDS_ON_TERM,
  };
}
