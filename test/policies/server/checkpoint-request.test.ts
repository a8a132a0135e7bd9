import { describe, expect, test } from '@jest/globals';
import {
  checkpointFile,
  checkpointTimeout,
  hasContainer,
} from '../../../src/policies/server/checkpoint-request.ts';
import type { Pod } from '../../../src/types/kubernetes.ts';

describe('the time limit', () => {
  const timeout = (query: string) => checkpointTimeout(new URLSearchParams(query));

  test.each([
    ['', 0],
    ['timeout=5', 5],
    ['timeout=%2B5', 5],
    ['timeout=-1', -1],
    ['timeout=1&timeout=7', 7],
    ['timeout=9223372036854775807', 2 ** 31 - 1],
  ])('?%s', (query, seconds) => {
    expect(timeout(query)).toBe(seconds);
  });

  test.each([
    'timeout=',
    'timeout=abc',
    'timeout=1s',
    'timeout=1.5',
    'timeout=9223372036854775808',
    'timeout=1&timeout=x',
  ])('?%s is no number of 64 bits', (query) => {
    expect(() => timeout(query)).toThrow('cannot parse value of timeout parameter');
  });
});

test('containers of all kinds count', () => {
  const pod = {
    metadata: { name: 'web', namespace: 'default', uid: 'u' },
    spec: {
      containers: [{ name: 'main' }],
      initContainers: [{ name: 'init' }],
      ephemeralContainers: [{ name: 'debugger' }],
    },
  } as unknown as Pod;
  expect(['main', 'init', 'debugger', 'nope'].map((name) => hasContainer(pod, name))).toEqual([
    true,
    true,
    true,
    false,
  ]);
});

test('the archive is named after pod, container and time', () => {
  const metadata = { name: 'web', namespace: 'default', uid: 'u' };
  expect(checkpointFile(metadata, 'main', Date.UTC(2026, 10, 22, 15, 4, 5, 678))).toBe(
    'checkpoint-web_default-main-2026-11-22T15:04:05Z.tar',
  );
});
