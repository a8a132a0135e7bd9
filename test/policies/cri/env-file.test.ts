import { describe, expect, test } from '@jest/globals';
import { EnvFileReader } from '../../../src/policies/cri/env-file.ts';

const envFileValue = (text: string, name: string) => new EnvFileReader(text).value(name);

/** The results are those of the kubelet 1.36.2. */
describe('a file of variables', () => {
  test.each([
    ["K='v'\n", 'v'],
    ["K='v w'", 'v w'],
    ["  K='v'", 'v'],
    ["\tK='v'", 'v'],
    ["K='v' ", 'v'],
    ["K='v' # c", 'v'],
    ["K='v'#c", 'v'],
    ["K='a\nb'\nL='c'", 'a\nb'],
    ["L='c\nd'\nK='v'", 'v'],
    ["L='a\nK=1'\nK='v'", 'v'],
    ["K='a\n# b\n c '", 'a\n# b\n c '],
    ["K='\n'", '\n'],
    ["K='v'\r\n", 'v'],
    ["  # it's\n\n  \nK='v'", 'v'],
    ["K='a#b'", 'a#b'],
    ["K='a=b'", 'a=b'],
    ["K='a\\nb'", 'a\\nb'],
    ["K='$X'", '$X'],
    ["K='v'\nK='w'", 'v'],
    ["KK='x'\nK='v'", 'v'],
    [" K K='x'\nK='v'", 'v'],
    ["1-K.x='v'\nK='w'", 'w'],
    ["é='v'\nK='ü'", 'ü'],
  ])('%j gives K its value', (text, value) => {
    expect(envFileValue(text, 'K')).toBe(value);
  });

  test.each(["K='v'\nx", "K='v'\nL=2", "K='a'\n'b'"])('%j is not read beyond the variable', (text) => {
    expect(envFileValue(text, 'K')).toBeDefined();
  });

  test.each(["L='x'", '', "K=''", "K= 'v'", "export K='v'", "\uFEFFK='v'"])(
    '%j has no value for K',
    (text) => {
      expect(envFileValue(text, 'K')).toBeUndefined();
    },
  );

  test.each([
    ["K ='v'", "line 1 has a blank before the '='"],
    ["K='v'x", 'line 1 has something behind the closing quote'],
    ["K='it\\'s'", 'line 1 has something behind the closing quote'],
    ["K='v'; L='w'", 'line 1 has something behind the closing quote'],
    ["K='v'\v", 'line 1 has something behind the closing quote'],
    ["L='a\nb'c\nK='v'", 'line 2 has something behind the closing quote'],
    ["\nK='v", 'line 2 has a value whose quote is not closed'],
    ['K="v"', 'line 1 has a value that is not in single quotes'],
    ['K=', 'line 1 has a value that is not in single quotes'],
    ["# c\nL=2\nK='v'", 'line 2 has a value that is not in single quotes'],
    ["x\nK='v'", "line 1 has no '='"],
    ["='v'\nK='w'", "line 1 has no name before the '='"],
    [`L='${'x'.repeat(70_000)}'\nK='v'`, 'line 1 is longer than 65535 characters'],
  ])('%j is an error that names the line', (text, message) => {
    expect(() => envFileValue(text, 'K')).toThrow(message);
  });

  test('has the values of several variables, in any order, also of those before one that was read', () => {
    const file = new EnvFileReader("A='1'\nB='2'\nA='3'\nC='4'");
    expect(['C', 'A', 'X', 'B', 'C'].map((name) => file.value(name))).toEqual([
      '4',
      '1',
      undefined,
      '2',
      '4',
    ]);
  });

  test('an error does not repeat what the file holds', () => {
    expect(() => envFileValue('PASSWORD=secret', 'K')).toThrow(/^(?!.*(?:secret|PASSWORD))/);
  });
});
