/** The types of the kubelet's flags that have no effect here: what their values may be, and when two mean the same. */
import { asInt64 } from '../../policies/formats/go-text.ts';
import { parseDuration } from '../../policies/formats/duration.ts';
import { parseQuantity } from '../../policies/formats/quantity.ts';
import { flagOrNot } from '../setting.ts';

export interface FlagType {
  /** Completes the sentence "must be …". */
  readonly expects: string;
  /** The value in one spelling; undefined for a text that is none. */
  readonly read: (text: string) => string | undefined;
  /** Whether the values of a flag that is given several times count together. */
  readonly isJoined?: boolean;
}

export const text: FlagType = { expects: 'a text', read: (given) => given };

export const bool: FlagType = {
  expects: 'true or false',
  read: (given) => flagOrNot.fromText(given)?.toString(),
};

export function integer(least = -(2 ** 31), most = 2 ** 31 - 1): FlagType {
  return {
    expects: `a whole number from ${least} to ${most}`,
    read: (given) => {
      const value = goInteger(given);
      return value !== undefined && value >= least && value <= most ? String(value) : undefined;
    },
  };
}

/** Go reads 0x1f, 0b11, 0o17, 017 and 1_000 too. */
function goInteger(given: string): number | undefined {
  const [, sign = '', digits = ''] =
    /^([-+]?)(0x_?[\da-f]+(?:_[\da-f]+)*|0b_?[01]+(?:_[01]+)*|0o?_?[0-7]+(?:_[0-7]+)*|0|[1-9]\d*(?:_\d+)*)$/iu.exec(
      given,
    ) ?? [];
  if (digits === '') return undefined;
  const plain = digits.replaceAll('_', '');
  const value = Number(/^0[0-7]+$/u.test(plain) ? `0o${plain.slice(1)}` : plain);
  return asInt64(sign === '-' ? -value : value, given);
}

export const duration: FlagType = {
  expects: 'a duration such as 1m30s',
  read: (given) => parseDuration(given)?.toString(),
};

export function oneOf(...values: readonly string[]): FlagType {
  return {
    expects: values.map((value) => `"${value}"`).join(' or '),
    read: (given) => (values.includes(given) ? given : undefined),
  };
}

export const pairs: FlagType = {
  expects: 'NAME=VALUE, with commas between',
  read: (given) =>
    itemsOf(given).every((pair) => pair.includes('=')) ? itemsOf(given).join(',') : undefined,
  isJoined: true,
};

export const quantity: FlagType = {
  expects: 'a size such as 64Mi',
  read: (given) => (isQuantity(given) ? given : undefined),
};

export const filePatterns: FlagType = {
  expects: 'PATTERN=LEVEL, with commas between',
  read: (given) => {
    const isRight = itemsOf(given).every((item) => {
      const [, level] = /^[^=]+=(\d+)$/u.exec(item) ?? [];
      return level !== undefined && Number(level) < 2 ** 31;
    });
    return isRight ? itemsOf(given).join(',') : undefined;
  },
  isJoined: true,
};

function itemsOf(given: string): readonly string[] {
  return given.split(',').filter((item) => item !== '');
}

function isQuantity(given: string): boolean {
  try {
    parseQuantity(given);
    return true;
  } catch {
    return false;
  }
}
