import { describe, expect, test } from '@jest/globals';
import { topLevelNames, volumePayload } from '../../../src/policies/volumes/projected-files.ts';

describe('the files of a volume', () => {
  const file = (path: string, text = '') => ({ path, content: text, mode: 0o644 });

  test('of two files with one path the later one counts', () => {
    const payload = volumePayload([file('a/b', '1'), file('c'), file('./a//b', '2')]);
    expect([...payload.keys()]).toEqual(['a/b', 'c']);
    expect(payload.get('a/b')?.content).toBe('2');
    expect([...topLevelNames(payload)]).toEqual(['a', 'c']);
  });

  test.each(['', '.', '/a', '../a', 'a/../b', '..data', '..a/b', 'a\0b', 'x'.repeat(256), 'x/'.repeat(3000)])(
    'a path such as %.20j is refused',
    (path) => {
      expect(() => volumePayload([file(path)])).toThrow(`path ${JSON.stringify(path)} must`);
    },
  );
});
