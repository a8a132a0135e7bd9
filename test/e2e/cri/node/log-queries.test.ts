/** Queries of system logs to the kubelet and to the daemon, with a journal of the test. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { Agent, AgentOptions } from '../../../../scripts/compare/agent.ts';
import { startKubelet } from '../../../../scripts/compare/kubelet.ts';
import { startStatelet } from '../../../../scripts/compare/statelet.ts';
import { makeCgroup } from '../../../support/containerd/cgroups.ts';
import { seededRandom } from '../../../../src/simulation/plan/seeded-random.ts';
import { mountsBelow } from '../../../support/containerd/wipe.ts';
import { describeOnContainerd } from '../../../support/cri-suite.ts';
import { freePort } from '../../../support/free-port.ts';
import { findKubelet, NO_KUBELET } from '../../../support/kubernetes-programs.ts';
import { waitFor } from '../../../support/wait-for.ts';

const CONFIG = {
  address: '127.0.0.1',
  authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
  authorization: { mode: 'AlwaysAllow' },
  enableSystemLogQuery: true,
};
const PIECES =
  'a ä 😀 . | ( ) (?: (?i) (?-s: (?i-) (?P<n> (?P<n (?<m> (?<> (?= (?<= (?! (? * + ? ** *? {2} {2,} {1,2} {2,1} {01} {,2} {1001} { } ' +
  '[ ] [a-z] [z-a] [^ ^ $ [] []a] [a-] [\\d-z] [[:alpha:]] [[:beta:]] [\\x41-\\n] \\ \\d \\b \\z \\Z \\C \\Q \\E \\pL \\pX \\p{Greek} ' +
  '\\p{^Lu} \\p{nope} \\p{ \\p \\x41 \\x4 \\x{1F600} \\x{110000} \\x{ \\0 \\1 \\12 \\8 \\. \\ä \\y - ) ] ]';

/** Has heard of two units, and shows what it is asked. */
const JOURNALCTL = `#!/bin/sh
[ "$1" = --field ] && { printf 'crio.service\\nkubelet.service\\n'; exit; }
printf '%s\\n' "$*"; echo told >&2; exit 3
`;
const random = seededRandom(15);
/** By chance, of pieces that mean something. */
const PATTERNS = Array.from({ length: 300 }, () =>
  Array.from({ length: random.integer(1, 6) }, () => random.pick(PIECES.split(' '))).join(''),
);
const UNTIL = 'untilTime=2026-01-01T00:00:00';
/** Without those that the kubelet answers otherwise, see docs/server.md. */
const QUERIES = [
  ...['', 'query=%22%C3%A4', 'query=a%20b', 'query=a;b', 'query=a.b:c@d-e_f'],
  ...[`query=${'x'.repeat(256)}`, `query=${'x'.repeat(257)}`, 'query=a&query=b&query=c&query=d&query=e'],
  ...['query=a&boot=x', 'query=a&boot=1', 'query=kubelet&boot=-1', 'query=kubelet&boot=%2B0'],
  ...['-1', '0', '7', '100000', '100001', 'x', '1e3', '99999999999999999999', '%2B5', '1_0'].map(
    (lines) => `query=kubelet&tailLines=${lines}`,
  ),
  ...['soon', '2026-01-01', '2026-01-01T00:00:00', ''].map((time) => `query=kubelet&sinceTime=${time}`),
  `query=kubelet&sinceTime=2026-01-02T00:00:00Z&${UNTIL}Z`,
  `query=kubelet&sinceTime=2026-01-02T00:00:00Z&${UNTIL}.5%2B02:00`,
  'query=kubelet&query=crio&pattern=error.*',
  ...PATTERNS.map((pattern) => `query=kubelet&pattern=${encodeURIComponent(pattern)}`),
  'query=kubelet&tailLines=1&tailLines=2&pattern=a&pattern=b',
  'query=kubelet&unknown=1',
  'query=kubelet&pattern=a%00b',
  `query=kubelet&pattern=${'x'.repeat(140_000)}`,
  'query=OWN',
  'query=OWN-dir',
  'query=OWN-dir/own.log',
  'query=OWN&tailLines=1',
  'query=OWN&query=none&boot=0',
  'query=none',
  'query=OWN-outside',
  'query=OWN-inside',
  'query=OWN-dir/../OWN.log',
  'query=OWN-dir/none',
  'query=../passwd/',
  'query=OWN-dir/..',
  'query=OWN-dir/own.log/x',
  'query=OWN-dir/../../../etc/passwd',
  'query=./OWN-outside',
  'query=./OWN-inside',
  'query=./a%00b',
  'query=./%3Ca%3E%C3%A4%22',
  `query=./${'x'.repeat(300)}`,
  'query=/OWN.log&query=kubelet',
  'query=/OWN.log&query=/none',
  'query=/OWN.log&tailLines=1',
];
const PATHS = ['OWN.log', 'OWN.log?unknown=1'];

const kubelet = findKubelet();
if (kubelet === undefined)
  process.stderr.write(`\nSKIPPED, NOTHING PROVED: queries of logs need a kubelet: ${NO_KUBELET}\n`);
const testWithKubelet = kubelet === undefined ? test.skip : test;

describeOnContainerd('queries of system logs', ({ containerd }) => {
  let dir: string;
  let own: string;
  const path = process.env.PATH;

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'statelet-log-queries-'));
    own = mkdtempSync('/var/log/statelet-');
    rmSync(own, { recursive: true });
    mkdirSync(`${own}-dir`);
    writeFileSync(`${own}.log`, 'from a file\n');
    writeFileSync(`${own}-dir/own.log`, 'from a folder\n');
    writeFileSync(`${own}-dir/${basename(own)}-dir.log`, 'from a folder of that name\n');
    writeFileSync(join(dir, 'outside'), 'from outside\n');
    symlinkSync(join(dir, 'outside'), `${own}-outside`);
    symlinkSync(`${basename(own)}.log`, `${own}-inside`);
    mkdirSync(join(dir, 'bin'));
    writeFileSync(join(dir, 'bin', 'journalctl'), JOURNALCTL, { mode: 0o755 });
    process.env.PATH = `${join(dir, 'bin')}:${path}`;
  });
  afterEach(() => {
    process.env.PATH = path;
    for (const end of ['.log', '-dir', '-outside', '-inside']) rmSync(`${own}${end}`, { recursive: true });
    for (const mount of mountsBelow(dir)) execFileSync('umount', [mount]);
    rmSync(dir, { recursive: true, force: true });
  });

  testWithKubelet('have the answers of the kubelet', async () => {
    const targets = [...QUERIES.map((query) => `?${query}`), ...PATHS].map((target) => `/logs/${target}`);
    // A process that is started without its own environment does not have that of the test.
    const start = `#!/bin/sh\nPATH="${process.env.PATH}" exec "${kubelet ?? ''}" "$@"\n`;
    const binary = join(dir, 'start-kubelet');
    writeFileSync(binary, start, { mode: 0o755 });
    const kubelets = await answers(targets, 'kubelet', (options) => startKubelet(binary, options));
    const statelets = await answers(targets, 'statelet', startStatelet);
    const pairs = (found: readonly object[]) => targets.map((target, index) => ({ target, ...found[index] }));
    expect(pairs(statelets)).toEqual(pairs(kubelets));
  });

  async function answers(
    targets: readonly string[],
    name: string,
    start: (options: AgentOptions) => Promise<Agent>,
  ) {
    const manifests = join(dir, name, 'manifests');
    mkdirSync(manifests, { recursive: true });
    const port = await freePort();
    makeCgroup(containerd.cgroupRoot);
    const cgroupRoot = containerd.cgroupRoot.replace(/^\/+/u, '');
    const { endpoint } = containerd;
    const agent = await start({
      dir: join(dir, name),
      manifests,
      cgroupRoot,
      endpoint,
      config: { ...CONFIG, port },
    });
    try {
      await waitFor(() => ask(port, '/healthz').catch(() => undefined), { what: `the port of the ${name}` });
      const found: object[] = [];
      for (const target of targets) found.push(await ask(port, target.replaceAll('OWN', basename(own))));
      return found;
    } finally {
      await agent.stop();
    }
  }
});

async function ask(port: number, path: string) {
  const sent = request({ host: '127.0.0.1', port, path, rejectUnauthorized: false, agent: false });
  const [response] = (await once(sent.end(), 'response')) as [IncomingMessage];
  const { 'content-type': type, location } = response.headers;
  const body = await text(response);
  return {
    status: response.statusCode,
    type: type?.replace('/x-log', '/plain'),
    location,
    body: shown(body),
  };
}

/** The arguments of journalctl in one order. This kubelet is one of a distribution, and has an argument more. */
function shown(body: string): string {
  const [line = '', ...rest] = body.split('\n');
  if (!line.startsWith('--')) return body;
  const args = line.split(' --').filter((argument) => !argument.startsWith('case-sensitive'));
  return [args.toSorted().join(' --'), ...rest].join('\n');
}
