import { describe, expect, test } from '@jest/globals';
import { Command } from 'commander';
import { kubeletArguments } from '../../../src/commands/kubelet/kubelet-arguments.ts';
import { addRunFlags } from '../../../src/commands/run-flags.ts';

const OPTIONS = addRunFlags(new Command()).options;
const read = (...words: string[]) => kubeletArguments(words, OPTIONS, { isStrict: true });
const loose = (...words: string[]) => kubeletArguments(words, OPTIONS, { isStrict: false });

describe('a command line of the kubelet', () => {
  test('may have underscores for hyphens in names, and keeps those of values', () => {
    expect(read('--node_ip=10.0.0.1', '--hostname_override', 'a_b', '--cert-dir=/a_b').words).toEqual([
      ...['--node-ip=10.0.0.1', '--hostname-override', 'a_b', '--cert-dir=/a_b'],
    ]);
  });

  test('has flags without effect, with their values, which are taken out', () => {
    const { words, idle } = read(
      ...['--oom-score-adj', '-5', '--max-pods=3', '--fail_swap_on=false', '--hairpin-mode=none'],
      ...['--protect-kernel-defaults', '--vmodule=a=1', '--vmodule', 'b=2'],
    );
    expect(words).toEqual(['--max-pods=3']);
    expect(idle).toEqual({
      'oom-score-adj': ['-5'],
      'fail-swap-on': ['false'],
      'hairpin-mode': ['none'],
      'protect-kernel-defaults': ['true'],
      vmodule: ['a=1', 'b=2'],
    });
  });

  test('has values that look like flags', () => {
    expect(read('--provider-id', '--fail-swap-on', '--lock-file', '--max-pods', '-v', '--vmodule')).toEqual({
      words: ['--provider-id', '--fail-swap-on', '-v', '--vmodule'],
      idle: { 'lock-file': ['--max-pods'] },
      version: undefined,
    });
  });

  test('has truth values that never take the next word, as in Go', () => {
    expect(read('--register-node', 'false', '--fail-swap-on', 'false').words).toEqual([
      ...['--register-node=true', 'false', 'false'],
    ]);
    expect(loose('--register-node', 'false').words).toEqual(['--register-node', 'false']);
  });

  test('ends its flags with --', () => {
    expect(read('--', '--oom-score-adj=5')).toMatchObject({ words: ['--', '--oom-score-adj=5'], idle: {} });
  });

  test('may ask for the version and for help', () => {
    expect(read('--version').version).toBe('true');
    expect(read('--version=raw').version).toBe('raw');
    expect(read('--help=true', '--help=false', '--help').words).toEqual(['--help', '--help']);
  });

  test('lacks a value', () => {
    expect(() => read('--lock-file')).toThrow('--lock-file: needs a value');
  });
});
