import { expect, test } from '@jest/globals';
import { containerIdOfLogLink, containerLogLink } from '../../../src/policies/garbage/log-link-names.ts';

const pod = { name: 'web-1', namespace: 'default' };
const ID = 'f'.repeat(64);

test('a link says pod, namespace, container and id', () => {
  const name = containerLogLink(pod, 'main', ID);
  expect(name).toBe(`web-1_default_main-${ID}.log`);
  expect(containerIdOfLogLink(name)).toBe(ID);
});

test('a link whose name would be too long for a file is cut, and is a link still', () => {
  const name = containerLogLink({ ...pod, name: 'p'.repeat(200) }, 'main', ID);
  expect(name).toHaveLength(255);
  expect(name.endsWith('ff.log')).toBe(true);
  expect(ID.startsWith(containerIdOfLogLink(name) ?? 'none')).toBe(true);
});

test('other files are no links to logs', () => {
  for (const name of ['syslog.log', 'a_b.log', `web_default_main-${ID}.txt`]) {
    expect(containerIdOfLogLink(name)).toBeUndefined();
  }
});
