import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { type CNIFacts, cniFindings } from '../../../src/doctor/policies/cni-findings.ts';

const EXAMPLE = readFileSync(
  new URL('../../../examples/systemd/10-statelet.conflist', import.meta.url),
  'utf8',
);
const file = (name: string, text: string) => ({ name, text: { value: text } });
const findings = (files: readonly ReturnType<typeof file>[], facts: Partial<CNIFacts> = {}) =>
  cniFindings({
    confDir: '/etc/cni/net.d',
    binDirs: ['/usr/lib/cni'],
    files: { value: files },
    programs: ['bridge', 'portmap', 'host-local'],
    ...facts,
  });

test('the example of examples/systemd is fine', () => {
  expect(findings([file('10-statelet.conflist', EXAMPLE)])).toEqual([
    {
      check: 'cni',
      status: 'ok',
      message: '/etc/cni/net.d/10-statelet.conflist: statelet (bridge, portmap)',
    },
  ]);
});

test('a file with one plugin is fine too', () => {
  expect(findings([file('10.conf', '{"name":"one","type":"bridge"}')])).toMatchObject([{ status: 'ok' }]);
});

test('a folder that is empty or missing is an error, with a file to put there', () => {
  const mend = expect.stringMatching(/^install -D .*10-statelet\.conflist \/etc\/cni\/net\.d/u);
  expect(findings([])).toMatchObject([
    { status: 'error', message: '/etc/cni/net.d has no CNI configuration', mend },
  ]);
  expect(findings([], { files: { problem: 'does not exist', isForbidden: false } })).toMatchObject([
    { status: 'error', message: '/etc/cni/net.d does not exist', mend },
  ]);
});

test.each([
  ['10.conflist', '{"name": "x", "plugins": [', 'is no JSON'],
  ['10.conflist', '[]', 'holds no JSON object'],
  ['10.conflist', '{"plugins":[{"type":"bridge"}]}', 'has no name'],
  ['10.conflist', '{"name":"x","plugins":[]}', 'has no plugins'],
  ['10.conflist', '{"name":"x"}', 'has no plugins'],
  ['10.conflist', '{"name":"x","plugins":[null]}', 'has a plugin without the name of its program'],
  ['10.conf', '{"name":"x","type":"../../bin/sh"}', 'has a plugin without the name of its program'],
])('%s with %s is an error: %s', (name, text, problem) => {
  expect(findings([file(name, text)])).toMatchObject([
    { status: 'error', message: expect.stringContaining(problem), mend: expect.stringContaining(name) },
  ]);
});

test('the first file counts: what is wrong in a later one is a warning', () => {
  expect(findings([file('10.conflist', EXAMPLE), file('20.conf', 'x')])).toMatchObject([
    { status: 'ok' },
    { status: 'warning', message: expect.stringContaining('20.conf'), mend: 'rm /etc/cni/net.d/20.conf' },
  ]);
});

test('a plugin whose program is missing is an error, with the package that has it', () => {
  expect(findings([file('10.conflist', EXAMPLE)], { programs: ['bridge'] })).toMatchObject([
    {
      status: 'error',
      message: '/etc/cni/net.d/10.conflist needs portmap, which /usr/lib/cni does not have',
      mend: expect.stringContaining('containernetworking-plugins'),
    },
  ]);
});

test('a file that cannot be read is an error, and unknown to a user who may not', () => {
  const read = (isForbidden: boolean) =>
    cniFindings({
      confDir: '/c',
      binDirs: [],
      programs: [],
      files: { value: [{ name: '10.conf', text: { problem: 'is larger than 1 MiB', isForbidden } }] },
    })[0];
  expect(read(false)).toMatchObject({ status: 'error', message: '/c/10.conf is larger than 1 MiB' });
  expect(read(true)).toMatchObject({ status: 'unknown' });
});
