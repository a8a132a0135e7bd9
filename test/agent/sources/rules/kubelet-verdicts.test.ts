/**
 * What the kubelet 1.36 made of manifests in its `staticPodPath` on a node called `node`: refused, or accepted with the spec
 * that its `/pods` showed. The intended differences of Statelet are listed here, with their reasons.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { parseManifest } from '../../../../src/agent/sources/manifests/read-manifest.ts';
import { problemText } from '../../../../src/agent/sources/source.ts';
import { manifestPod } from '../../../../src/agent/sources/pod-of-manifest.ts';

interface Verdict {
  readonly name: string;
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly spec: unknown;
  readonly refused?: true;
  readonly made?: Readonly<Record<string, unknown>>;
}

const FILE = new URL('./kubelet-verdicts.json', import.meta.url);
const verdicts = JSON.parse(readFileSync(FILE, 'utf8')) as readonly Verdict[];

const REFUSED_ON_PURPOSE: Readonly<Record<string, string>> = {
  'unknown-field': 'a misspelt field is an error, not dropped',
  'unknown-cfield': 'a misspelt field is an error, not dropped',
  wl: 'not a field of this version',
  'uid-odd': 'a UID is part of the names of folders',
  'grace-meta': 'a grace period cannot be negative',
  'env-fr-host': 'the name of a field in v1beta3',
  'ips-empty': 'there are no pull secrets without an API server',
  'h-scaleio': 'a secret without a name is one all the same',
  'sc-sysctl-dup': 'one sysctl in two spellings',
};
const ACCEPTED_ON_PURPOSE: Readonly<Record<string, string>> = {
  'image-empty': 'the embedded runtime needs no image',
  'image-missing': 'the embedded runtime needs no image',
  'anno-limits-tolerations': 'nothing reads that annotation',
  'g-apparmor-both': 'the field counts, the annotation is not read',
  'g-seccomp-annot': 'nothing reads that annotation',
  'h-fc': 'volumes of that kind are refused when they are set up',
  'h-git': 'volumes of that kind are refused when they are set up',
  'h-git-dir': 'volumes of that kind are refused when they are set up',
  'h-iscsi': 'volumes of that kind are refused when they are set up',
  'k-ns-os': 'a pod for Windows is rejected by admission',
  'k-win-priv': 'a pod for Windows is rejected by admission',
};

const parse = ({ name, metadata, spec }: Verdict) => {
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name, ...metadata }, spec };
  return parseManifest(Buffer.from(JSON.stringify(pod)), { source: 'file', nodeName: 'node' });
};
const named = (list: readonly Verdict[]) => list.map((verdict): [string, Verdict] => [verdict.name, verdict]);
const isMeant = ({ name }: Verdict) => name in REFUSED_ON_PURPOSE || name in ACCEPTED_ON_PURPOSE;

/** Go omits empty texts and lists. */
function withoutEmpty(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutEmpty);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).filter(
    ([, member]) => member !== '' && member !== null && !(Array.isArray(member) && member.length === 0),
  );
  return Object.fromEntries(members.map(([key, member]) => [key, withoutEmpty(member)]));
}

describe('as the kubelet', () => {
  const same = verdicts.filter((verdict) => !isMeant(verdict));

  test.each(named(same.filter(({ refused }) => refused)))('%s is refused', (_name, verdict) => {
    const { problems } = parse(verdict);
    expect(problems).not.toEqual([]);
    for (const problem of problems) expect(problemText(problem)).toMatch(/^(spec|metadata)[^:]*: \S/);
  });

  test.each(named(same.filter(({ made }) => made)))(
    '%s is accepted, with the same defaults',
    (_name, verdict) => {
      const { pods, problems } = parse(verdict);
      expect(problems).toEqual([]);
      const pod = manifestPod(pods[0]!, { source: 'file', location: '/a', nodeName: 'node' });
      expect(withoutEmpty(pod.spec)).toEqual(withoutEmpty(verdict.made));
    },
  );
});

describe('differs from the kubelet on purpose', () => {
  test.each(named(verdicts.filter(isMeant)))('%s', (name, verdict) => {
    expect(parse(verdict).problems.length > 0).toBe(name in REFUSED_ON_PURPOSE);
    expect(verdict.refused === true).toBe(name in ACCEPTED_ON_PURPOSE);
  });
});
