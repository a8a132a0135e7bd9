import { expect, test } from '@jest/globals';
import {
  flagsObject,
  flagsText,
  type StatusFacts,
  statusObject,
  statusText,
} from '../../../src/policies/server/status-pages.ts';

const FACTS: StatusFacts = {
  startedAt: Date.UTC(2026, 10, 2, 15, 39, 35, 900),
  now: Date.UTC(2026, 10, 3, 17, 42, 41),
  binaryVersion: '0.1.0',
  emulationVersion: '1.36',
  platform: 'node v24.1.0',
  paths: ['/configz', '/healthz'],
};
const WARNING =
  'Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for debugging purposes only.';

test('the text of /statusz', () => {
  expect(statusText(FACTS).split('\n')).toEqual([
    '',
    'statelet statusz',
    WARNING,
    '',
    'Started  Mon Nov  2 15:39:35 UTC 2026',
    'Up  26 hr 03 min 05 sec',
    'Platform  node v24.1.0',
    'Binary version  0.1.0',
    'Emulation version  1.36',
    'Paths  /configz /healthz',
    '',
  ]);
});

test('the object of /statusz has the fields of its type', () => {
  expect(statusObject(FACTS, 'config.k8s.io/v1beta1')).toEqual({
    kind: 'Statusz',
    apiVersion: 'config.k8s.io/v1beta1',
    metadata: { name: 'statelet' },
    startTime: '2026-11-02T15:39:35Z',
    uptimeSeconds: 93_785,
    goVersion: 'node v24.1.0',
    binaryVersion: '0.1.0',
    emulationVersion: '1.36',
    paths: ['/configz', '/healthz'],
  });
});

test('a clock that was set back gives no time below zero', () => {
  expect(statusText({ ...FACTS, now: 0 })).toContain('Up  0 hr 00 min 00 sec');
});

test('the flags are sorted by name, in the text and in the object', () => {
  const flags = { v: '0', address: '0.0.0.0', config: '' };
  expect(flagsText(flags)).toBe(`\nstatelet flagz\n${WARNING}\naddress 0.0.0.0\nconfig \nv 0\n`);
  const object = flagsObject(flags, 'config.k8s.io/v1beta1');
  expect(object).toEqual({
    kind: 'Flagz',
    apiVersion: 'config.k8s.io/v1beta1',
    metadata: { name: 'statelet' },
    flags,
  });
  expect(Object.keys((object as { flags: object }).flags)).toEqual(['address', 'config', 'v']);
});
