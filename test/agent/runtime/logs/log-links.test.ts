import { afterEach, beforeEach, expect, test } from '@jest/globals';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LogLinks } from '../../../../src/agent/runtime/logs/log-links.ts';
import { warnings } from '../../../support/warnings.ts';
import { testContext } from '../../../support/test-context.ts';

const POD = { name: 'web', namespace: 'default' };

let dir: string;
let target: string;
const linksDir = () => join(dir, 'var', 'containers');
const linksOf = () => new LogLinks(testContext(), linksDir());

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'statelet-links-'));
  target = join(dir, '0.log');
  writeFileSync(target, 'said\n');
});

afterEach(() => rmSync(dir, { recursive: true }));

test('a link leads to the log of its container, and may be made again', () => {
  const links = linksOf();
  for (let time = 0; time < 2; time++) links.create(POD, 'main', 'id1', target);
  expect(readFileSync(join(linksDir(), 'web_default_main-id1.log'), 'utf8')).toBe('said\n');
});

test('a link that led elsewhere leads to the log now', () => {
  mkdirSync(linksDir(), { recursive: true });
  symlinkSync('/nowhere', join(linksDir(), 'web_default_main-id1.log'));
  linksOf().create(POD, 'main', 'id1', target);
  expect(readFileSync(join(linksDir(), 'web_default_main-id1.log'), 'utf8')).toBe('said\n');
});

test('a removed link leaves the log and other links, and may be removed again', () => {
  const links = linksOf();
  links.create(POD, 'main', 'id1', target);
  links.create(POD, 'main', 'id2', target);
  for (let time = 0; time < 2; time++) links.remove(POD, 'main', 'id1');
  expect(readdirSync(linksDir())).toEqual(['web_default_main-id2.log']);
  expect(readFileSync(target, 'utf8')).toBe('said\n');
});

test('links without a log go, but not those of running containers, and nothing else does', async () => {
  const links = linksOf();
  await links.removeDangling(() => false);
  links.create(POD, 'main', 'whole', target);
  links.create(POD, 'main', 'dangling', join(dir, 'gone.log'));
  links.create(POD, 'main', 'running', join(dir, 'rotated-just-now.log'));
  symlinkSync('/nowhere', join(linksDir(), 'foreign.log'));
  writeFileSync(join(linksDir(), 'a_b_c-file.log'), '');
  await links.removeDangling((id) => id === 'running');
  expect(readdirSync(linksDir()).sort()).toEqual(
    ['a_b_c-file.log', 'foreign.log', 'web_default_main-running.log', 'web_default_main-whole.log'].sort(),
  );
});

test('where links cannot be made, one warning says so', () => {
  const { logger, messages } = warnings();
  const links = new LogLinks(testContext({ logger }), join(target, 'below-a-file'));
  for (const id of ['id1', 'id2']) links.create(POD, 'main', id, target);
  expect(messages).toEqual([expect.stringContaining('ENOTDIR')]);
});

test("a pod's links go with its logs; a link to a log that exists and the links of other pods stay", () => {
  const links = linksOf();
  links.create(POD, 'main', 'gone', '/nowhere');
  links.create(POD, 'main', 'there', target);
  links.create({ name: 'web', namespace: 'other' }, 'main', 'gone', '/nowhere');
  links.removeOf(POD);
  expect(readdirSync(linksDir()).toSorted()).toEqual([
    'web_default_main-there.log',
    'web_other_main-gone.log',
  ]);
});
