import { describe, expect, test } from '@jest/globals';
import {
  addQuantity,
  compareQuantity,
  formatQuantity,
  maxQuantity,
  milliValue,
  parseQuantity,
  type Quantity,
  quantityString,
  quantityValue,
  subQuantity,
  ZERO_QUANTITY,
} from '../../../../src/agent/policies/formats/quantity.ts';
import { errorKind } from '../../../../src/types/errors.ts';
import { seededRandom, type SeededRandom } from '../../../../src/simulation/plan/seeded-random.ts';
import { testVectors } from '../../../support/test-vectors.ts';

testVectors('quantity');
testVectors('quantityOps');

const UNITS = ['', 'n', 'u', 'm', 'k', 'M', 'G', 'T', 'Ki', 'Mi', 'Gi', 'Ti', 'e3', 'E-2', 'e0'];

function randomText(random: SeededRandom): string {
  const fraction = random.pick(['', '', '.5', '.125', '.007', `.${random.integer(0, 99999)}`]);
  return `${random.pick(['', '', '-', '+'])}${random.integer(0, 99999)}${fraction}${random.pick(UNITS)}`;
}

/** Runs `property` on many pairs; a failure names the texts, the seed is fixed. */
function forManyPairs(property: (a: Quantity, b: Quantity) => void): void {
  const random = seededRandom(20260217);
  for (let i = 0; i < 2000; i += 1) {
    const texts = [randomText(random), randomText(random)] as const;
    try {
      property(parseQuantity(texts[0]), parseQuantity(texts[1]));
    } catch (error) {
      throw new Error(`with ${texts.join(' and ')}`, { cause: error });
    }
  }
}

describe('parsing', () => {
  test.each(['', ' ', '1 Gi', '1..2', '0x10', 'NaN', '1\n', '１'])('%j is malformed', (text) => {
    expect(() => parseQuantity(text)).toThrow(/^quantities must match the regular expression '/);
  });

  test.each(['1e', '1K', '1iK', '--1', '1e1000', '1e-1000', '1+1', 'm1'])('%j has no such suffix', (text) => {
    expect(() => parseQuantity(text)).toThrow("unable to parse quantity's suffix");
  });

  test('a malformed quantity is an InvalidArgument: trying again cannot help', () => {
    expect.assertions(1);
    try {
      parseQuantity('ten');
    } catch (error) {
      expect(errorKind(error)).toBe('InvalidArgument');
    }
  });

  test('a number is read as its text', () => {
    expect(parseQuantity(0.5)).toEqual(parseQuantity('0.5'));
    expect(quantityValue(parseQuantity(1e21))).toBe(10n ** 21n);
  });

  test('a binary quantity below 1 becomes a decimal one', () => {
    expect(parseQuantity('0.0005Ki')).toEqual({ nanos: 512_000_000n, format: 'DecimalSI' });
  });

  test('a long malformed text is refused in linear time', () => {
    expect(() => parseQuantity(`${'1'.repeat(1_000_000)}x`)).toThrow('quantities must match');
    expect(() => parseQuantity(`1.${'1'.repeat(1_000_000)}x`)).toThrow('quantities must match');
  });

  test('a text is read alike after thousands of other texts', () => {
    const before = parseQuantity('12.5Mi');
    for (let i = 0; i < 10_000; i += 1) parseQuantity(`${i}m`);
    expect(parseQuantity('12.5Mi')).toEqual(before);
  });
});

describe('printing', () => {
  test('the spelling is kept if the kubelet keeps it, and only then', () => {
    const printed = (text: string) => quantityString(parseQuantity(text));
    expect(printed('+3Gi')).toBe('+3Gi');
    expect(printed('+8Gi')).toBe('8Gi');
    expect(printed('+100Ti')).toBe('100Ti');
    expect(printed('+1.500')).toBe('+1.500');
    expect(printed('+1.5')).toBe('1500m');
    expect(printed('0.125')).toBe('125m');
  });

  test('the result of a computation is canonical', () => {
    expect(quantityString(addQuantity(parseQuantity('+1'), ZERO_QUANTITY))).toBe('1');
  });

  test('parse(format(q)) is q again', () => {
    forManyPairs((q) => {
      const again = parseQuantity(formatQuantity(q));
      expect(again.nanos).toBe(q.nanos);
      expect(formatQuantity(again)).toBe(formatQuantity(q));
    });
  });
});

describe('arithmetic', () => {
  test('subtracting the same amount reverses an addition', () => {
    forManyPairs((a, b) => {
      expect(subQuantity(addQuantity(a, b), b).nanos).toBe(a.nanos);
    });
  });

  test('the sum does not depend on the order, and neither addend is changed', () => {
    forManyPairs((a, b) => {
      const [before, after] = [{ ...a }, addQuantity(a, b)];
      expect(after.nanos).toBe(addQuantity(b, a).nanos);
      expect(a).toEqual(before);
    });
  });

  test('comparison agrees with the sign of the difference, and the larger one is the maximum', () => {
    forManyPairs((a, b) => {
      const order = compareQuantity(a, b);
      expect(compareQuantity(subQuantity(a, b), ZERO_QUANTITY)).toBe(order);
      expect(compareQuantity(b, a)).toBe(-order + 0);
      expect(maxQuantity(a, b)).toBe(order < 0 ? b : a);
    });
  });

  test('value and milliValue round away from zero, never towards it', () => {
    forManyPairs(({ nanos, format }) => {
      const value = quantityValue({ nanos, format }) * 10n ** 9n;
      const milli = milliValue({ nanos, format }) * 10n ** 6n;
      for (const [rounded, step] of [
        [value, 10n ** 9n],
        [milli, 10n ** 6n],
      ] as const) {
        const excess = nanos < 0n ? nanos - rounded : rounded - nanos;
        expect(excess >= 0n && excess < step).toBe(true);
      }
    });
  });
});
