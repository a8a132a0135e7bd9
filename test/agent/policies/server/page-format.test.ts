import { describe, expect, test } from '@jest/globals';
import {
  flagsObject,
  flagsText,
  pageFormat,
  refusalType,
  type StatusFacts,
  statusObject,
  statusText,
} from '../../../../src/agent/policies/server/page-format.ts';

const J = 'application/json;v=v1beta1;g=config.k8s.io;as=Statusz';
const shown = (accept: string): string => {
  const format = pageFormat(accept, 'Statusz');
  if (format === undefined) return 'none';
  return format.type === 'text' ? 'text' : `${format.type} ${format.version}`;
};

describe('the format of a page, as a kubelet 1.36.2 chose it', () => {
  test.each([
    ['', 'text'],
    ['*/*', 'text'],
    ['*', 'text'],
    ['text/*', 'text'],
    ['text/plain; charset=utf-8', 'text'],
    ['text/plain;foo=bar', 'text'],
    ['text/plain;q=0', 'text'],
    ['text/plain;q=abc', 'text'],
    ['text/html, */*;q=0.1', 'text'],
    ['application/json, text/plain', 'text'],
    ['garbage, text/plain', 'text'],
    [`text/plain, ${J}`, 'text'],
    [`text/plain;q=0.6,${J};q=0.5`, 'text'],
    [`${J};q=0,text/plain`, 'text'],
    [`text/plain;q=2,${J}`, 'text'],
    [J, 'json v1beta1'],
    [`${J};q=0`, 'json v1beta1'],
    [`${J};pretty=1`, 'json v1beta1'],
    [`${J};charset=utf-8`, 'json v1beta1'],
    [`${J};profile=x`, 'json v1beta1'],
    ['application/json; v=v1beta1 ; g=config.k8s.io ; as=Statusz', 'json v1beta1'],
    ['application/json;v=v1alpha1;g=config.k8s.io;as=Statusz', 'json v1alpha1'],
    ['application/*;v=v1beta1;g=config.k8s.io;as=Statusz', 'json v1beta1'],
    ['*/*;v=v1beta1;g=config.k8s.io;as=Statusz', 'json v1beta1'],
    [`text/plain;q=0.1, ${J}`, 'json v1beta1'],
    [`*/*;q=0.8,${J};q=0.1`, 'json v1beta1'],
    [`${J}, text/plain`, 'json v1beta1'],
    ['application/yaml;v=v1beta1;g=config.k8s.io;as=Statusz', 'yaml v1beta1'],
    ['application/json', 'none'],
    ['application/yaml', 'none'],
    ['application/*', 'none'],
    ['application/json;as=Statusz', 'none'],
    ['application/json;v=v1beta1;as=Statusz', 'none'],
    ['application/json;g=config.k8s.io;as=Statusz', 'none'],
    ['application/json;v=v1;g=config.k8s.io;as=Statusz', 'none'],
    ['application/json;v=v1beta1;g=config.k8s.io', 'none'],
    ['application/json;v=v1beta1;g=config.k8s.io;as=statusz', 'none'],
    ['application/json;v=v1beta1;g=config.k8s.io;as=Flagz', 'none'],
    ['application/json;v="v1beta1";g="config.k8s.io";as="Statusz"', 'none'],
    ['application/json;V=v1beta1;g=config.k8s.io;as=Statusz', 'none'],
    ['APPLICATION/JSON;v=v1beta1;g=config.k8s.io;as=Statusz', 'none'],
    ['application/cbor;v=v1beta1;g=config.k8s.io;as=Statusz', 'none'],
    ['text/yaml;v=v1beta1;g=config.k8s.io;as=Statusz', 'none'],
    ['text/plain;as=Statusz;v=v1beta1;g=config.k8s.io', 'none'],
    ['text/plain;v=x', 'none'],
    ['text/html', 'none'],
    ['garbage', 'none'],
    [',,', 'none'],
    [';', 'none'],
  ])('%j: %s', (accept, format) => {
    expect(shown(accept)).toBe(format);
  });
});

describe('the format of the refusal', () => {
  test.each([
    ['text/html', 'json'],
    ['application/json', 'json'],
    ['application/*', 'json'],
    ['application/yaml', 'yaml'],
    ['text/html, application/yaml', 'yaml'],
    ['application/yaml;as=Statusz', 'json'],
  ])('%j: %s', (accept, type) => {
    expect(refusalType(accept)).toBe(type);
  });
});

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
