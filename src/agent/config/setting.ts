/**
 * A setting is a row with its flag, its field of KubeletConfiguration and its default. The command line, the reader of the file
 * and the test of the documentation use the tables of rows.
 */
import { resolve } from 'node:path';
import { StateletError } from '../../types/errors.ts';
import { isGoTrue } from '../policies/formats/go-text.ts';
import { quantityValue, quantityIn } from '../policies/formats/quantity.ts';
import { goDuration, MAX_DURATION_MS, parseDuration, shortDuration } from '../policies/formats/duration.ts';

export interface Setting<T = unknown> {
  /** In commander's notation; undefined where the kubelet has no flag. */
  readonly flag?: string;
  /** The field of KubeletConfiguration, with dots where it is in an object; undefined where there is none. */
  readonly field?: string;
  readonly default: T;
  readonly description: string;
  readonly kind: Kind<T>;
  /** For a value out of range: the end of the sentence "must be …". */
  readonly problem?: (value: T) => string | undefined;
}

export interface Kind<T> {
  /** Undefined for a text that is not valid. */
  readonly fromText: (text: string) => T | undefined;
  /** `value` has been checked by the schema. Undefined means not given. */
  readonly fromField: (value: unknown) => T | undefined;
  readonly expects: string;
  readonly show: (value: T) => string;
  /** The value in the notation of the file. Without it, the value is written as it is. */
  readonly toField?: (value: T) => unknown;
  /** Whether 0 of a flag stands for the default, as it does in the file. */
  readonly isUnsetByZero?: boolean;
  /** Combines the values of a flag that is given several times. Without it, the last value counts. */
  readonly merge?: (previous: T, value: T) => T;
}

export const text: Kind<string> = {
  fromText: (given) => given,
  fromField: (value) => (value === '' ? undefined : (value as string)),
  expects: 'a text',
  show: (value) => value,
};
/** Of a flag that is given several times, the last value counts. */
export const oneList: Kind<readonly string[]> = {
  fromText: (given) => given.split(',').filter((item) => item !== ''),
  fromField: (value) => value as readonly string[],
  expects: 'a list with commas between',
  show: (value) => value.join(','),
};
/** The items of all flags count. */
export const list: Kind<readonly string[]> = {
  ...oneList,
  merge: (previous, value) => [...previous, ...value],
};
const FALSE: readonly string[] = ['0', 'f', 'F', 'false', 'FALSE', 'False'];

/** A truth value is written as Go writes it. */
export const flagOrNot: Kind<boolean> = {
  fromText: (given) => (isGoTrue(given) ? true : FALSE.includes(given) ? false : undefined),
  fromField: (value) => value as boolean,
  expects: 'true or false',
  show: String,
};
export const number: Kind<number> = {
  fromText: (given) => (/^-?\d+$/u.test(given) ? Number(given) : undefined),
  fromField: (value) => value as number,
  expects: 'a whole number',
  show: String,
};
/** As with the kubelet, 0 means the default. */
export const positive: Kind<number> = { ...number, fromField: (value) => unlessZero(value as number) };
/** As `positive`, for flags too. */
export const burst: Kind<number> = { ...positive, isUnsetByZero: true };
export const duration: Kind<number> = {
  fromText: parseDuration,
  fromField: (value) => unlessZero(parseDuration(value as string)),
  expects: 'a duration such as 1m30s',
  show: shortDuration,
  toField: goDuration,
};
export const bytes: Kind<number> = {
  fromText: quantityBytes,
  fromField: (value) => (value === '' ? undefined : (quantityBytes(value as string) ?? NaN)),
  expects: 'a size such as 10Mi',
  show: shownBytes,
  toField: shownBytes,
};

function shownBytes(value: number): string {
  return value % 2 ** 20 === 0 ? `${value / 2 ** 20}Mi` : String(value);
}

/** `NAME=TEXT,…`; the pairs of all flags are combined. */
export function texts(separator: string, expects: string): Kind<Readonly<Record<string, string>>> {
  return {
    fromText: (given) => {
      const pairs = given.split(',').filter((pair) => pair !== '');
      const halves = pairs.map((pair) => [pair.indexOf(separator), pair] as const);
      if (halves.some(([at]) => at < 0)) return undefined;
      return Object.fromEntries(
        halves.map(([at, pair]) => [pair.slice(0, at).trim(), pair.slice(at + 1).trim()]),
      );
    },
    fromField: (value) => value as Readonly<Record<string, string>>,
    expects,
    show: (value) =>
      Object.entries(value)
        .map(([name, text]) => `${name}${separator}${text}`)
        .join(','),
    merge: (previous, value) => ({ ...previous, ...value }),
  };
}

function unlessZero(value: number | undefined): number | undefined {
  return value === 0 ? undefined : value;
}

function quantityBytes(given: string): number | undefined {
  const quantity = quantityIn(given);
  return quantity && Number(quantityValue(quantity));
}

export const between = (least: number, most: number) => (value: number) =>
  value >= least && value <= most ? undefined : `from ${least} to ${most}`;
export const atLeast = (least: number) => (value: number) =>
  value >= least ? undefined : `${least} or more`;
export const timer = (least: number) => (value: number) =>
  value >= least && value <= MAX_DURATION_MS
    ? undefined
    : `from ${shortDuration(least)} to ${shortDuration(MAX_DURATION_MS)}`;
/** The name by which commander hands a flag's value over: `--node-ip <IP>` is `nodeIp`. */
export function flagKey(flag: string): string {
  const name = flag.slice(2).split(' ')[0] ?? '';
  return name.replaceAll(/-(\w)/gu, (_, letter: string) => letter.toUpperCase());
}

/** Reads a flag's text. `previous` is the value of the same flag given before. Throws an Error that says what is expected. */
export function parseSetting({ kind }: Setting, given: string, previous?: unknown): unknown {
  const value = kind.fromText(given);
  if (value === undefined) throw new Error(`It must be ${kind.expects}.`);
  return previous === undefined || kind.merge === undefined ? value : kind.merge(previous, value);
}

/** The default in the notation of the command line; empty where there is none. */
export function shownDefault(setting: Setting): string {
  return setting.kind.show(setting.default);
}

/** What was given to the program. */
export interface GivenSettings {
  /** By `flagKey`. */
  readonly flags: Readonly<Record<string, unknown>>;
  /** A KubeletConfiguration. */
  readonly file: Readonly<Record<string, unknown>>;
  /** The name of the file in messages. */
  readonly fileName: string;
}

/** A value for each row. Throws `InvalidArgument`; the message names the flag or the field whose value is not valid. */
export function resolveSettings<T extends object>(
  table: { readonly [Name in keyof T]: Setting<T[Name]> },
  given: GivenSettings,
): T {
  const rows = Object.entries<unknown>(table);
  return Object.fromEntries(rows.map(([name, setting]) => [name, resolved(setting as Setting, given)])) as T;
}

/** The fields of KubeletConfiguration that are in these rows. */
export function fieldsOf(settings: readonly Setting[]): readonly string[] {
  return settings.flatMap(({ field }) => field ?? []);
}

/** The value of a field, such as `authentication.x509.clientCAFile`, in the file's nested objects. */
export function memberOf(file: Readonly<Record<string, unknown>>, field: string): unknown {
  return field
    .split('.')
    .reduce<unknown>((value, name) => (value as Record<string, unknown> | undefined)?.[name], file);
}

function resolved(
  { flag, field, kind, problem, default: byDefault }: Setting,
  { flags, file, fileName }: GivenSettings,
): unknown {
  const ofFlag = flag === undefined ? undefined : flags[flagKey(flag)];
  const fromFlag = kind.isUnsetByZero && ofFlag === 0 ? byDefault : ofFlag;
  const inFile = field === undefined ? undefined : memberOf(file, field);
  const fromField = inFile === undefined ? undefined : kind.fromField(inFile);
  const value = fromFlag ?? fromField ?? byDefault;
  const wrong = problem?.(value);
  if (wrong === undefined) return value;
  const origin = fromFlag === undefined ? `${fileName}: ${field ?? ''}` : (flag?.split(' ')[0] ?? '');
  const shown = typeof value === 'number' && Number.isNaN(value) ? JSON.stringify(inFile) : kind.show(value);
  throw new StateletError('InvalidArgument', `${origin}: must be ${wrong} (got ${shown})`);
}

/** An empty path stays empty: it is not given. */
export function absolute(path: string): string {
  return path === '' ? '' : resolve(path);
}
