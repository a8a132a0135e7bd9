/** What may be typed next on a command line: commands, flags, their values, and the pods of the daemon. */
import type { Argument, Command, Option } from 'commander';
import type { Pod } from '../../types/kubernetes.ts';
import { withCommandFirst } from './kubectl-words.ts';
import { isTypeWord, OBJECT_TYPES, type ObjectType, typeOf } from './named-objects.ts';

export interface Candidate {
  readonly value: string;
  readonly description: string;
}

/** What the daemon of a root folder answers; empty lists where none does. */
export interface Asked {
  pods(rootDir: string | undefined): Promise<readonly Pod[]>;
  /** Of nodes, ConfigMaps and the like. */
  names(type: ObjectType, rootDir: string | undefined): Promise<readonly ObjectName[]>;
}

export interface ObjectName {
  readonly name: string;
  /** A node has none. */
  readonly namespace?: string | undefined;
}

/** The words before the one that is completed, in their roles. */
interface Typed {
  readonly command: Command;
  /** The last word is the value of this option. */
  readonly option: Option | undefined;
  readonly positionals: readonly string[];
  /** By the long name of the option. */
  readonly values: ReadonlyMap<string, string>;
  /** The words follow `--`: they belong to the command in the container. */
  readonly isAfterDashes: boolean;
}

/** `words`: after the name of the program, up to the cursor; the last one may be empty. */
export async function completions(
  root: Command,
  words: readonly string[],
  asked: Asked,
): Promise<readonly Candidate[]> {
  const given = words.flatMap(apart);
  const current = given.at(-1) ?? '';
  const [name = '', ...before] = withCommandFirst(given.slice(0, -1));
  const candidates =
    given.length <= 1 ? commandsOf(root) : await within(root, name, { before, current, asked });
  return candidates.filter(({ value }) => value.startsWith(current));
}

/** `--flag=value` is two words. bash makes three of it. */
function apart(word: string): readonly string[] {
  if (word === '=') return [];
  const [, flag, value] = /^(--[^=]+)=(.*)$/u.exec(word) ?? [];
  return flag === undefined || value === undefined ? [word] : [flag, value];
}

function commandsOf(root: Command): readonly Candidate[] {
  const shown = root.createHelp().visibleCommands(root);
  return shown.map((command) => ({ value: command.name(), description: command.description() }));
}

interface Place {
  readonly before: readonly string[];
  readonly current: string;
  readonly asked: Asked;
}

async function within(
  root: Command,
  name: string,
  { before, current, asked }: Place,
): Promise<readonly Candidate[]> {
  const command = root.commands.find((own) => own.name() === name);
  if (command === undefined) return name === 'help' ? commandsOf(root) : [];
  if (command.commands.length > 0) {
    const [inner, ...words] = before;
    return inner === undefined
      ? commandsOf(command)
      : within(command, inner, { before: words, current, asked });
  }
  const typed = typedWords(command, before);
  if (typed.isAfterDashes) return [];
  const pods = () => asked.pods(typed.values.get('--root-dir'));
  if (typed.option !== undefined) return optionValues(typed.option, typed, pods);
  if (current.startsWith('-')) return flagsOf(command);
  const argument =
    command.registeredArguments[typed.positionals.length] ?? command.registeredArguments.at(-1);
  const isMore = typed.positionals.length < command.registeredArguments.length;
  return argument !== undefined && (isMore || argument.variadic)
    ? argumentValues(argument, { typed, current, asked }, pods)
    : [];
}

function typedWords(command: Command, before: readonly string[]): Typed {
  const [positionals, values] = [[] as string[], new Map<string, string>()];
  let option: Option | undefined;
  for (const word of before) {
    if (option !== undefined) {
      values.set(option.long ?? '', word);
      option = undefined;
    } else if (word === '--') {
      return { command, option, positionals, values, isAfterDashes: true };
    } else if (word.startsWith('-') && word !== '-') {
      const found = optionOf(command, word);
      // A flag that may have no value takes none here: the next word may be anything.
      option = found?.required === true ? found : undefined;
    } else {
      positionals.push(word);
    }
  }
  return { command, option, positionals, values, isAfterDashes: false };
}

/** Of several short flags in one word, the last may take a value. */
function optionOf(command: Command, word: string): Option | undefined {
  const short = `-${word.at(-1) ?? ''}`;
  return command.options.find((option) =>
    word.startsWith('--') ? option.long === word : option.short === short,
  );
}

function flagsOf(command: Command): readonly Candidate[] {
  return command
    .createHelp()
    .visibleOptions(command)
    .map(({ long, short, description }) => ({ value: long ?? short ?? '', description }));
}

async function optionValues(
  { long, argChoices }: Option,
  typed: Typed,
  pods: () => Promise<readonly Pod[]>,
): Promise<readonly Candidate[]> {
  if (argChoices !== undefined) return argChoices.map(plain);
  switch (long) {
    case '--namespace':
      return unique((await pods()).map(({ metadata }) => metadata.namespace)).map(plain);
    case '--container':
      return containersOf((await pods()).find((pod) => isNamed(pod, typed.positionals[0], typed)));
    case '--for':
      return podNames(await pods(), typed).map(({ value, description }) => ({
        value: value.includes('/') ? value : `pod/${value}`,
        description,
      }));
    case undefined:
    default:
      return [];
  }
}

async function argumentValues(
  argument: Argument,
  { typed, current, asked }: { readonly typed: Typed; readonly current: string; readonly asked: Asked },
  pods: () => Promise<readonly Pod[]>,
): Promise<readonly Candidate[]> {
  if (argument.argChoices !== undefined) return argument.argChoices.map(plain);
  const [, type] = /^([^/]+\/)/u.exec(current) ?? [];
  const isOfType = type !== undefined && isTypeWord(type.slice(0, -1));
  if (argument.name() === 'TYPE' && !isOfType) return OBJECT_TYPES.map(plain);
  const [first = ''] = typed.positionals;
  if (['TYPE', 'NAME', 'POD'].includes(argument.name())) {
    const word = isOfType ? type.slice(0, -1) : first;
    const wanted = isTypeWord(word) ? typeOf(word) : 'pods';
    const names =
      wanted === 'pods'
        ? podNames(await pods(), typed)
        : objectNames(await asked.names(wanted, typed.values.get('--root-dir')), typed);
    const shown = isOfType ? names.map((one) => ({ ...one, value: type + one.value })) : names;
    return shown.filter(({ value }) => !typed.positionals.includes(value));
  }
  if (argument.name() !== 'PORT') return [];
  const pod = (await pods()).find((one) => isNamed(one, typed.positionals[0], typed));
  return portsOf(pod);
}

/** Of the namespace in which the command would look. */
function objectNames(objects: readonly ObjectName[], { values }: Typed): readonly Candidate[] {
  const wanted = values.get('--namespace') ?? 'default';
  return objects.filter(({ namespace = wanted }) => namespace === wanted).map(({ name }) => plain(name));
}

/** Without `--namespace`, pods of other namespaces than the default one are offered with theirs. */
function podNames(pods: readonly Pod[], { values }: Typed): readonly Candidate[] {
  const namespace = values.get('--namespace');
  const wanted = pods.filter(({ metadata }) => namespace === undefined || metadata.namespace === namespace);
  return wanted.map(({ metadata, status }) => ({
    value:
      namespace !== undefined || metadata.namespace === 'default'
        ? metadata.name
        : `${metadata.namespace}/${metadata.name}`,
    description: status?.phase ?? '',
  }));
}

function isNamed({ metadata, spec }: Pod, text: string | undefined, { values }: Typed): boolean {
  if (text === undefined) return false;
  const [first = '', second] = text.replace(/^(?:pods?|po)\//u, '').split('/');
  const [namespace, name] =
    second === undefined ? [values.get('--namespace') ?? 'default', first] : [first, second];
  const full = `${name}-${spec.nodeName?.toLowerCase() ?? ''}`;
  return metadata.namespace === namespace && (metadata.name === name || metadata.name === full);
}

function containersOf(pod: Pod | undefined): readonly Candidate[] {
  const { containers = [], initContainers = [] } = pod?.spec ?? {};
  return [...containers, ...initContainers].map(({ name, image = '' }) => ({
    value: name,
    description: image,
  }));
}

function portsOf(pod: Pod | undefined): readonly Candidate[] {
  const ports = pod?.spec.containers.flatMap((container) => container.ports ?? []) ?? [];
  return ports.map(({ containerPort, name = '' }) => ({ value: String(containerPort), description: name }));
}

function unique(values: readonly string[]): readonly string[] {
  return [...new Set(values)];
}

function plain(value: string): Candidate {
  return { value, description: '' };
}
