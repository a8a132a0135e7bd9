import { gunzipSync } from 'node:zlib';
import { expect, test } from '@jest/globals';
import {
  pprofProfile,
  type SampledProfile,
  writeProfile,
} from '../../../src/server/profiling/pprof-format.ts';

const frame = (functionName: string, lineNumber: number) => ({
  functionName,
  url: 'file:///a.js',
  lineNumber,
});
const PROFILE: SampledProfile = {
  types: [
    { type: 'samples', unit: 'count' },
    { type: 'cpu', unit: 'nanoseconds' },
  ],
  samples: [
    { stack: [frame('inner', 9), frame('outer', 0)], values: [2, 20_000_000] },
    { stack: [frame('outer', 0)], values: [1, 10_000_000] },
    { stack: [frame('', 4)], values: [1, 5] },
  ],
  startedAt: 1_700_000_000_000,
  durationMs: 2_000,
  period: 10_000_000,
};

test('a profile has each function and each text once', async () => {
  const { texts, ...profile } = pprofProfile.decode(gunzipSync(await writeProfile(PROFILE)));
  expect(texts[0]).toBe('');
  expect(new Set(texts).size).toBe(texts.length);
  const name = (place: number) => texts[place];
  expect(profile.sampleTypes.map(({ type, unit }) => [name(type), name(unit)])).toEqual([
    ['samples', 'count'],
    ['cpu', 'nanoseconds'],
  ]);
  expect(
    profile.functions.map(({ id, name: text, fileName, startLine }) => [
      id,
      name(text),
      name(fileName),
      startLine,
    ]),
  ).toEqual([
    [1, 'inner', 'file:///a.js', 10],
    [2, 'outer', 'file:///a.js', 1],
    [3, '(anonymous)', 'file:///a.js', 5],
  ]);
  expect(profile.locations).toEqual([
    { id: 1, lines: [{ functionId: 1, line: 10 }] },
    { id: 2, lines: [{ functionId: 2, line: 1 }] },
    { id: 3, lines: [{ functionId: 3, line: 5 }] },
  ]);
  expect(profile.samples).toEqual([
    { locationIds: [1, 2], values: [2, 20_000_000] },
    { locationIds: [2], values: [1, 10_000_000] },
    { locationIds: [3], values: [1, 5] },
  ]);
  expect(profile).toMatchObject({
    timeNanos: 1_700_000_000_000_000_000,
    durationNanos: 2_000_000_000,
    periodType: profile.sampleTypes[1],
    period: 10_000_000,
  });
});
