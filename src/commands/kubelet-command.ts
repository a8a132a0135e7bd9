/** The kubelet's command line: that of `statelet run` and `statelet run-once`, and that of a link named `kubelet`. */
import type { Command, Option } from 'commander';
import type { RunFlags } from '../agent/config/config.ts';
import { idleFlags, type IdleFlags, isBoolean } from '../agent/config/kubelet/idle-flags.ts';
import { flagOrNot } from '../agent/config/setting.ts';
import { KUBELET_VERSION } from '../agent/policies/node/node-software.ts';
import { print } from '../system/terminal.ts';
import { StateletError } from '../types/errors.ts';
import { ownVersion } from '../version.ts';
import { addRunFlags } from './run-flags.ts';

/** Reads the words with the command's flags and the kubelet's, and runs it, or prints what `--version` asks for. */
export async function parseAsKubelet(
  command: Command,
  words: readonly string[],
  isStrict = false,
): Promise<void> {
  const { words: own, idle, version } = kubeletArguments(words, command.options, { isStrict });
  const printed = version === undefined ? undefined : kubeletVersion(version);
  if (printed !== undefined) {
    print(printed);
    return;
  }
  command.setOptionValue('idle', idle);
  await command.parseAsync(own, { from: 'user' });
}

/** The command of a link named `kubelet`: it has no subcommands, and the kubelet's defaults. */
export function kubeletCommand(command: Command): Command {
  return addRunFlags(command, { asKubelet: true })
    .description('Run the daemon in the place of the kubelet: with its command line and its defaults')
    .helpOption('-h, --help', 'show this help')
    .allowExcessArguments(false)
    .addHelpText('after', idleHelp)
    .action(async (flags: RunFlags) => {
      const { run } = await import('./run.ts');
      await run({ ...flags, asKubelet: true });
    });
}

function idleHelp(): string {
  const names = [...idleFlags().keys()].map((name) => `  --${name}`);
  return `\nFlags of the kubelet that have no effect:\n${names.join('\n')}\n\n--version prints the version of Kubernetes.`;
}

/** What `--version=GIVEN` prints, as the kubelet does, since installers read it; undefined where nothing is to be printed. Throws `InvalidArgument` for another text. */
export function kubeletVersion(given: string): string | undefined {
  if (given === 'raw') return `${rawVersion()}\n`;
  // The kubelet would report the given version as its own. Here it is accepted and changes nothing.
  if (given.startsWith('v')) {
    checkRelease(given);
    return undefined;
  }
  const isWanted = flagOrNot.fromText(given);
  if (isWanted === undefined)
    throw invalid(`must be true, false, raw, or ${KUBELET_VERSION} with a suffix (got "${given}")`);
  return isWanted ? `Kubernetes ${KUBELET_VERSION}\n` : undefined;
}

function checkRelease(given: string): void {
  const [release = ''] = /^v\d+\.\d+\.\d+/u.exec(given) ?? [];
  if (release === KUBELET_VERSION) return;
  throw invalid(`version "${given}" must match major/minor/patch of default version "${KUBELET_VERSION}"`);
}

function rawVersion(): string {
  const [major = '', minor = ''] = KUBELET_VERSION.slice(1).split('.');
  const members = {
    Major: major,
    Minor: minor,
    EmulationMajor: '',
    EmulationMinor: '',
    MinCompatibilityMajor: '',
    MinCompatibilityMinor: '',
    GitVersion: KUBELET_VERSION,
    GitCommit: '',
    GitTreeState: '',
    BuildDate: '',
    GoVersion: '',
    Compiler: `statelet ${ownVersion()}`,
    Platform: `${process.platform}/${process.arch === 'x64' ? 'amd64' : process.arch}`,
  };
  const written = Object.entries(members).map(([name, text]) => `${name}:${JSON.stringify(text)}`);
  return `version.Info{${written.join(', ')}}`;
}

function invalid(message: string): StateletError {
  return new StateletError('InvalidArgument', `--version: ${message}`);
}

export interface KubeletArguments {
  readonly words: readonly string[];
  /** Of flags that have no effect. */
  readonly idle: IdleFlags;
  /** The value of `--version`, `true` where it has none. */
  readonly version: string | undefined;
}

interface Reading {
  /** As Go's flags: a truth value is given as `--flag=false`, never as a word of its own. */
  readonly isStrict: boolean;
}

/**
 * Reads a command line as the kubelet does, before commander gets it: underscores of flags become hyphens, and flags without effect are
 * taken out. Throws `InvalidArgument` where the value of such a flag is
 * missing.
 */
export function kubeletArguments(
  args: readonly string[],
  options: readonly Option[],
  { isStrict }: Reading,
): KubeletArguments {
  const own = new Map(options.map((option) => [option.long ?? '', option]));
  const short = new Map(options.map((option) => [option.short ?? '', option]));
  const words: string[] = [];
  const idle: Record<string, string[]> = {};
  let version: string | undefined;
  for (let at = 0; at < args.length; at++) {
    const word = args[at] ?? '';
    if (word === '--') {
      words.push(...args.slice(at));
      break;
    }
    const { name, value } = parts(word);
    if (name === undefined) {
      words.push(word);
      if (short.get(word)?.required === true) words.push(...args.slice(++at, at + 1));
      continue;
    }
    const flag = idleFlags().get(name);
    if (flag !== undefined) {
      const given = value ?? (isBoolean(flag) ? 'true' : args[++at]);
      if (given === undefined) throw new StateletError('InvalidArgument', `--${name}: needs a value`);
      (idle[name] ??= []).push(given);
    } else if (name === 'version') {
      version = value ?? 'true';
    } else if (name === 'help') {
      if (flagOrNot.fromText(value ?? 'true') !== false) words.push('--help');
    } else {
      const option = own.get(`--${name}`);
      words.push(written(name, value ?? (isStrict && isTruth(option) ? 'true' : undefined)));
      if (value === undefined && option?.required === true) words.push(...args.slice(++at, at + 1));
    }
  }
  return { words, idle, version };
}

function parts(word: string): { readonly name?: string; readonly value?: string } {
  const [, name, value] = /^--([^=]+)(?:=(.*))?$/su.exec(word) ?? [];
  if (name === undefined) return {};
  return { name: name.replaceAll('_', '-'), value };
}

function written(name: string, value: string | undefined): string {
  return value === undefined ? `--${name}` : `--${name}=${value}`;
}

function isTruth(option: Option | undefined): boolean {
  return option?.flags.endsWith('[BOOL]') === true;
}
