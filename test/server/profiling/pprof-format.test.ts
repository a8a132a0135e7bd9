import { gunzipSync } from 'node:zlib';
import { expect, test } from '@jest/globals';
import { Profile } from 'pprof-format';
import { type SampledProfile, writeProfile } from '../../../src/server/profiling/pprof-format.ts';

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
  const profile = Profile.decode(gunzipSync(await writeProfile(PROFILE)));
  const texts = profile.stringTable.strings;
  expect(texts[0]).toBe('');
  expect(new Set(texts).size).toBe(texts.length);
  const name = (place: number | bigint) => texts[Number(place)];
  expect(profile.sampleType.map(({ type, unit }) => [name(type), name(unit)])).toEqual([
    ['samples', 'count'],
    ['cpu', 'nanoseconds'],
  ]);
  expect(
    profile.function.map(({ id, name: text, filename, startLine }) => [
      id,
      name(text),
      name(filename),
      startLine,
    ]),
  ).toEqual([
    [1, 'inner', 'file:///a.js', 10],
    [2, 'outer', 'file:///a.js', 1],
    [3, '(anonymous)', 'file:///a.js', 5],
  ]);
  expect(profile.location).toMatchObject([
    { id: 1, line: [{ functionId: 1, line: 10 }] },
    { id: 2, line: [{ functionId: 2, line: 1 }] },
    { id: 3, line: [{ functionId: 3, line: 5 }] },
  ]);
  expect(profile.sample).toMatchObject([
    { locationId: [1, 2], value: [2, 20_000_000] },
    { locationId: [2], value: [1, 10_000_000] },
    { locationId: [3], value: [1, 5] },
  ]);
  expect(profile).toMatchObject({
    timeNanos: 1_700_000_000_000_000_000n,
    durationNanos: 2_000_000_000n,
    periodType: profile.sampleType[1],
    period: 10_000_000,
  });
});
