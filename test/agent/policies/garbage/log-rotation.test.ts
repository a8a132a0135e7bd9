import { describe, expect, test } from '@jest/globals';
import {
  containerIdOfLogLink,
  containerLogLink,
  instancesByLogs,
  planRotation,
  rotatedLogs,
} from '../../../../src/agent/policies/garbage/log-rotation.ts';

const NOW = Date.UTC(2030, 0, 2, 3, 4, 5);
const day = (number: number, suffix = '') => `0.log.2030010${number}-000000${suffix}`;

test.each([
  [0, []],
  [1, ['0.log']],
  [3, ['0.log', '2.log.20300101-000000.gz', 'x.log', '7.logs', '10', '-4.log']],
  [12, ['9.log', '11.log.20300101-000000', '10.log']],
])('there have been %d instances if the logs are %j', (count, names) => {
  expect(instancesByLogs(names)).toBe(count);
});

describe('a rotation', () => {
  test('names the log by the time, in UTC', () => {
    expect(planRotation('0.log', ['0.log'], 5, NOW)).toEqual({
      remove: [],
      compress: [],
      rotated: '0.log.20300102-030405',
    });
  });

  test('never uses the name of another log, compressed or not', () => {
    const names = ['0.log', '0.log.20300102-030405', '0.log.20300102-030406.gz'];
    expect(planRotation('0.log', names, 9, NOW).rotated).toBe('0.log.20300102-030407');
  });

  test('keeps maxFiles files, the log and its successor included; the oldest are removed', () => {
    const names = ['0.log', day(5), day(2, '.gz'), day(4, '.gz'), day(3, '.gz'), day(1, '.gz')];
    expect(planRotation('0.log', names, 5, NOW)).toMatchObject({
      remove: [day(1, '.gz'), day(2, '.gz')],
      compress: [day(5)],
    });
  });

  test('with maxFiles 2 keeps only the newest rotated log', () => {
    expect(planRotation('0.log', ['0.log', day(1)], 2, NOW)).toMatchObject({
      remove: [day(1)],
      compress: [],
    });
  });

  test('compresses all logs that earlier rotations have not', () => {
    const names = ['0.log', day(1), day(2), day(3, '.gz')];
    expect(planRotation('0.log', names, 5, NOW)).toMatchObject({ remove: [], compress: [day(1), day(2)] });
  });

  test('removes what a crash has left: a partly compressed log, and the original of a compressed one', () => {
    const names = ['0.log', day(1), day(1, '.gz'), day(2), day(2, '.tmp'), day(3, '.gz.tmp')];
    expect(planRotation('0.log', names, 9, NOW)).toMatchObject({
      remove: [day(1), day(2, '.tmp'), day(3, '.gz.tmp')],
      compress: [day(2)],
    });
  });
});

test('logs of other containers are left alone', () => {
  const others = ['0.log', '10.log.20300101-000000', '0.log.1', '0.log.gz', '0.log.20300101-000000.bak'];
  expect(rotatedLogs('0.log', [...others, day(1)])).toEqual([day(1)]);
  expect(planRotation('0.log', others, 2, NOW)).toMatchObject({ remove: [], compress: [] });
});

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
