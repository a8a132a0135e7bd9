import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Difference } from '../../scripts/compare/differences.ts';
import { judge, matches, readMeant } from '../../scripts/compare/meant.ts';

const difference: Difference = {
  manifest: 'volume-memory',
  area: 'files',
  path: 'volumes/kubernetes.io~empty-dir/v',
  kubelet: '"folder 1777 0:0"',
  statelet: undefined,
};
const entry = { area: 'files', path: 'volumes/**', reason: 'for the test' };

describe('an entry of the list of meant differences', () => {
  test.each([
    ['its path with stars', {}, true],
    ['one star within a part of the path', { path: 'volumes/*/v' }, true],
    ['one star for two parts', { path: 'volumes/*' }, false],
    ['another area', { area: 'status' }, false],
    ['the manifest', { manifest: 'volume-*' }, true],
    ['another manifest', { manifest: 'init-*' }, false],
    ["the kubelet's value", { kubelet: '"folder 1777 0:0"' }, true],
    ['another value of the kubelet', { kubelet: '"folder 0777 0:0"' }, false],
    ['that Statelet has nothing', { statelet: '' }, true],
    ['that the kubelet has nothing', { kubelet: '' }, false],
    ['a dot that is no other character', { path: 'volumes/kubernetes-io~empty-dir/v' }, false],
  ])('matches by %s', (_by, fields, expected) => {
    expect(matches({ ...entry, ...fields }, difference)).toBe(expected);
  });

  test('removes its matches from the unexpected differences, and is reported when it matches nothing', () => {
    const unmatched = { ...entry, area: 'cgroups' };
    const other = { ...difference, area: 'status' };
    expect(judge([difference, other], [unmatched, entry, { ...entry, path: '**' }])).toEqual({
      unexpected: [other],
      meant: [{ entry, differences: [difference] }],
      idle: [unmatched, { ...entry, path: '**' }],
    });
  });
});

describe('the file of meant differences', () => {
  let dir = '';
  beforeAll(() => {
    dir = mkdtempSync(join(tmpdir(), 'statelet-meant-'));
  });
  afterAll(() => rmSync(dir, { recursive: true }));

  test.each([
    ['area: status', 'must be a list of entries'],
    ['- just a text', 'entry 1 must be a map'],
    ['- {area: status, path: phase}', 'entry 1 has no reason'],
    ['- {area: status, path: phase, reason: x, becuase: y}', 'entry 1 has a field "becuase"'],
    ['- {area: status, path: phase, reason: x, kubelet: 1}', 'entry 1: kubelet must be a string'],
  ])('%s is refused with what would be right', (text, message) => {
    const file = join(dir, 'meant.yaml');
    writeFileSync(file, text);
    expect(() => readMeant(file)).toThrow(message);
    expect(() => readMeant(file)).toThrow(file);
  });

  test('of the project can be read, and says why of each', () => {
    const entries = readMeant(fileURLToPath(new URL('../../scripts/compare/meant.yaml', import.meta.url)));
    expect(entries.length).toBeGreaterThan(0);
    for (const { reason } of entries) expect(reason.split(' ').length).toBeGreaterThan(2);
  });
});
