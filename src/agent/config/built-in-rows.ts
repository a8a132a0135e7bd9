/** What rows of settings of built-in eviction plugins are made of. */
import type { BuiltInSettings, Factors } from '../../types/built-in-thresholds.ts';
import { atLeast, between, type Kind, number, flagOrNot, texts, type Setting } from './setting.ts';

export const ratio: Kind<number> = {
  fromText: (given) => (/^\d+(?:\.\d+)?$/u.test(given) ? Number(given) : undefined),
  fromField: (value) => value as number,
  expects: 'a number such as 1.5',
  show: String,
};
export const factors: Kind<Factors> = {
  fromText: (given) => {
    const pairs = given.split(',').map((pair) => pair.split('='));
    const isValid = pairs.every(
      ([, factor, more]) => more === undefined && ratio.fromText(factor ?? '') !== undefined,
    );
    return isValid
      ? Object.fromEntries(pairs.map(([name = '', factor]) => [name.trim(), Number(factor)]))
      : undefined;
  },
  fromField: (value) => value as Factors,
  expects: 'RESOURCE=FACTOR with commas between, such as resource.katalyst.kubewharf.io/reclaimed_millicpu=5',
  show: (value) =>
    Object.entries(value)
      .map(([name, factor]) => `${name}=${factor}`)
      .join(','),
};
/** Whole seconds, as Katalyst has them; kept in milliseconds. */
export const seconds: Kind<number> = {
  fromText: (given) => (/^\d+$/u.test(given) ? Number(given) * 1000 : undefined),
  fromField: (value) => (value as number) * 1000,
  expects: 'a whole number of seconds',
  show: (value) => String(value / 1000),
  toField: (value) => value / 1000,
};
export const labels = texts('=', 'LABEL=VALUE with commas between');

export type Row<T> = Omit<Setting<T>, 'default'>;
export type Rows = {
  readonly [Group in keyof BuiltInSettings]: {
    readonly [Name in keyof BuiltInSettings[Group]]: Row<BuiltInSettings[Group][Name]>;
  };
};

export const isPositive = (value: number) => (value > 0 ? undefined : 'more than 0');
export const arePositive = (value: Factors) =>
  Object.values(value).every((factor) => factor > 0) ? undefined : 'factors of more than 0';
/** Readings of a ring are kept in memory. */
export const ringSize = between(1, 1000);

export function grace(flag: string, of: string, what: string): Row<number> {
  return {
    flag: `--${flag} <SECONDS>`,
    field: `${of}.gracePeriod`,
    kind: number,
    problem: atLeast(-1),
    description: `how long pods have to end that go ${what}; -1: their own grace periods`,
  };
}

export function enabled(flag: string, field: string, what: string): Row<boolean> {
  return { flag: `--${flag} [BOOL]`, field, kind: flagOrNot, description: `whether ${what}` };
}

export function part(flag: string, field: string, description: string, least = 0): Row<number> {
  return { flag: `--${flag} <PART>`, field, kind: ratio, problem: between(least, 1), description };
}

/** With a part of 0 a threshold would always be met. */
export const LEAST_PART = 0.01;
