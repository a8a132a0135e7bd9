import { expect, test } from '@jest/globals';
import { containerIdOfLogLink, containerLogLink } from '../../../src/policies/garbage/log-link-names.ts';

const pod = { name: 'web-1', namespace: 'default' };
const ID = 'f'.repeat(64);

test('the name of a link has pod, namespace, container and id', () => {
  const name = containerLogLink(pod, 'main', ID);
  expect(name).toBe(`web-1_default_main-${ID}.log`);
  expect(containerIdOfLogLink(name)).toBe(ID);
});

test('a name that is too long for a file is cut, and is still recognised as a link', () => {
  const name = containerLogLink({ ...pod, name: 'p'.repeat(200) }, 'main', ID);
  expect(name).toHaveLength(255);
  expect(name.endsWith('ff.log')).toBe(true);
  expect(ID.startsWith(containerIdOfLogLink(name) ?? 'none')).toBe(true);
});

test('names of other files are not recognised', () => {
  for (const name of ['syslog.log', 'a_b.log', `web_default_main-${ID}.txt`]) {
    expect(containerIdOfLogLink(name)).toBeUndefined();
  }
});
