/** Reads a command line as the kubelet reads its own, before commander sees it. */
import type { Option } from 'commander';
import { idleFlags, type IdleFlags, isBoolean } from '../../config/kubelet/idle-flags.ts';
import { flagOrNot } from '../../config/setting.ts';
import { StateletError } from '../../types/errors.ts';

export interface KubeletArguments {
  /** For commander. */
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
 * Underscores of flags become hyphens, and flags without effect are taken out. Throws `InvalidArgument` where the value of such a flag is
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
  return { name: name.replaceAll('_', '-'), ...(value !== undefined && { value }) };
}

function written(name: string, value: string | undefined): string {
  return value === undefined ? `--${name}` : `--${name}=${value}`;
}

function isTruth(option: Option | undefined): boolean {
  return option?.flags.endsWith('[BOOL]') === true;
}
