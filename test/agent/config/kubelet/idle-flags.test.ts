import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { Command } from 'commander';
import { addRunFlags } from '../../../../src/commands/run-flags.ts';
import { idleFlags, idleFlagWarnings, isBoolean } from '../../../../src/agent/config/kubelet/idle-flags.ts';

/** Recorded from a kubelet by `npm run update:kubelet-facts`: name, type, default, and whether it is deprecated. */
const FACTS = JSON.parse(readFileSync(new URL('../kubelet-facts.json', import.meta.url), 'utf8')) as {
  readonly flags: readonly (readonly [string, string, string, string])[];
};
/** The kubelet of 1.36 has it no more; that of 1.34, and files that its kubeadm has written, have it. */
const FORMER = ['pod-infra-container-image'];
/** Of every command. */
const COMMON = ['help', 'version'];
const own = addRunFlags(new Command()).options;
const recorded = FACTS.flags.filter(([name]) => idleFlags().has(name));

describe('the flags of the kubelet', () => {
  test('are 150, and each is one of statelet run, or known and without effect', () => {
    const names = [...own.map(({ long }) => long?.slice(2) ?? ''), ...idleFlags().keys(), ...COMMON];
    expect(FACTS.flags).toHaveLength(150);
    expect(FACTS.flags.map(([name]) => name).filter((name) => !names.includes(name))).toEqual([]);
  });

  test('are not both', () => {
    expect(own.filter(({ long }) => idleFlags().has(long?.slice(2) ?? ''))).toEqual([]);
  });

  test('are all that is known and without effect, but for one that it had', () => {
    const names = FACTS.flags.map(([name]) => name);
    expect([...idleFlags().keys()].filter((name) => !names.includes(name))).toEqual(FORMER);
  });

  test('are truth values where the kubelet has truth values, of which the value may be left out', () => {
    const truths = FACTS.flags.filter(([, type]) => type === 'bool').map(([name]) => name);
    const idle = [...idleFlags()].filter(([, flag]) => isBoolean(flag)).map(([name]) => name);
    const ours = own.filter(({ flags }) => flags.endsWith('[BOOL]')).map(({ long }) => long?.slice(2) ?? '');
    expect(truths.filter((name) => ![...idle, ...ours, ...COMMON].includes(name))).toEqual([]);
  });
});

describe('a flag without effect', () => {
  test.each(recorded)('--%s, a %s, is no warning where it has its default: %s', (name, type, byDefault) => {
    const given = type === 'strings' ? byDefault.replaceAll(/[[\]]/gu, '') : byDefault;
    const shown = given === '' && type === 'quantity' ? '0' : given;
    expect(idleFlagWarnings({ [name]: [shown] })).toEqual([]);
  });

  const OTHERS: Readonly<Record<string, readonly [right: string, wrong: string | undefined]>> = {
    bool: ['T', 'maybe'],
    int: ['0x7', 'many'],
    int32: ['7', '1.5'],
    duration: ['1m1s', 'soon'],
    string: ['other', undefined],
    strings: ['none', 'nothing'],
    mapStringString: ['a=b', 'a'],
    quantity: ['3Mi', 'much'],
    'pattern=N,...': ['kubelet*=4', 'kubelet=high'],
  };
  const CHOICES: Readonly<Record<string, readonly [string, string]>> = {
    'hairpin-mode': ['hairpin-veth', 'yes'],
    'oom-score-adj': ['-1000', '-1001'],
    'max-open-files': ['0', '-1'],
  };

  test.each(recorded.filter(([name]) => name !== 'runonce'))(
    '--%s, a %s, is one warning where it has another value, and an error where the kubelet refuses it',
    (name, type, byDefault) => {
      const [right, wrong] = CHOICES[name] ?? OTHERS[type] ?? ['', undefined];
      const other = type === 'bool' && byDefault === 'true' ? 'F' : right;
      const warnings = () => idleFlagWarnings({ [name]: [other, other] });
      if (name === 'exit-on-lock-contention')
        expect(warnings).toThrow(/^--exit-on-lock-contention: needs --lock-file$/u);
      else
        expect(warnings()).toEqual([
          expect.stringMatching(new RegExp(`^--${name}: has no effect; the kubelet's flag says \\S.*$`, 'u')),
        ]);
      if (wrong !== undefined)
        expect(() => idleFlagWarnings({ [name]: [wrong] })).toThrow(
          new RegExp(`^--${name}: must be .* \\(got "${wrong.replaceAll('.', '\\.')}"\\)$`, 'u'),
        );
    },
  );

  test('never shows its value in a warning, as it may be a password', () => {
    const [warning = ''] = idleFlagWarnings({ 'storage-driver-password': ['hunter2'] });
    expect(warning).toMatch(/^--storage-driver-password: /u);
    expect(warning).not.toContain('hunter2');
  });

  test('counts with its last value, a list with all of them', () => {
    expect(idleFlagWarnings({ 'oom-score-adj': ['5', '-999'] })).toEqual([]);
    expect(idleFlagWarnings({ 'qos-reserved': ['a=b', 'c=d'] })).toHaveLength(1);
  });
});

test('--runonce is refused, as by the kubelet, with the command that is meant', () => {
  expect(idleFlagWarnings({ runonce: ['false'] })).toEqual([]);
  expect(() => idleFlagWarnings({ runonce: ['true'] })).toThrow(
    '--runonce: must be false, as with the kubelet: use "statelet run-once"',
  );
});
