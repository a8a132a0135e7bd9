/** docs/configuration.md beside the flags, the fields and the defaults that the code has. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { Command } from 'commander';
import { addRunFlags } from '../../../src/commands/run-flags.ts';
import { DEFAULTS } from '../../../src/agent/config/config.ts';
import { idleFlags } from '../../../src/agent/config/kubelet/idle-flags.ts';
import { shortDuration } from '../../../src/agent/policies/formats/duration.ts';
import {
  KUBELET_CONFIGURATION_SCHEMA,
  type Schema,
  SUPPORTED_FIELDS,
} from '../../../src/agent/config/kubelet-configuration.ts';
import { cli } from '../../support/cli.ts';

const PAGE = readFileSync(new URL('../../../docs/configuration.md', import.meta.url), 'utf8');

function section(heading: string): string {
  const [, rest = ''] = PAGE.split(`${heading}\n`);
  expect(rest).not.toBe('');
  return rest.split(/^#/mu)[0] ?? '';
}

/** The names in backticks, of the first column where the section is a table. */
function names(text: string): string[] {
  const rows = text.split('\n').filter((line) => line.startsWith('| `'));
  const scope = rows.length > 0 ? rows.map((line) => line.split('|')[1] ?? '').join(' ') : text;
  return Array.from(scope.matchAll(/`([^`]+)`/gu), ([, name]) => name ?? '');
}

/** Fields that are known and have no effect, as deep as the supported ones go. */
function unsupported(schema: Schema, prefix = ''): string[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, inner]) => {
    const path = prefix + name;
    if (SUPPORTED_FIELDS.includes(path)) return [];
    return SUPPORTED_FIELDS.some((field) => field.startsWith(`${path}.`))
      ? unsupported(inner, `${path}.`)
      : [path];
  });
}

describe('docs/configuration.md', () => {
  test('names every flag of statelet run, with its value, and no other', () => {
    const flags = addRunFlags(new Command()).options.map(({ flags }) => flags.replace(/[<>]/gu, ''));
    const documented = names(section('## Flags of `statelet run`'));
    expect(documented).toEqual(
      [...flags.map((flag) => (flag.startsWith('-v,') ? ['-v LEVEL', '--v LEVEL'] : [flag]))].flat(),
    );
  });

  test('names every flag of the kubelet that has no effect, and no other', () => {
    const documented = [
      ...section('### Flags of the kubelet without effect').matchAll(/`(--[\w-]+)`, |`(--[\w-]+)`\n/gu),
    ];
    expect(documented.map(([, one, last]) => one ?? last)).toEqual(
      [...idleFlags().keys()].map((name) => `--${name}`),
    );
  });

  test.each(['pods', 'charts'])('names every flag of statelet %s', async (command) => {
    const { stdout } = await cli(command, '--help');
    const flags = [...stdout.matchAll(/^ {2}(?:-\w, )?(--[\w-]+)/gmu)].map(([, flag]) => flag ?? '');
    const documented = section('## Flags of the other commands');
    for (const flag of flags.filter((name) => name !== '--help')) expect(documented).toContain(flag);
  });

  test('names every flag that only statelet run-once has; all its other flags are those of statelet run', async () => {
    const { stdout } = await cli('run-once', '--help');
    const flags = [...stdout.matchAll(/^ {2}(?:-\w, )?(--[\w-]+)/gmu)].map(([, flag]) => flag ?? '');
    const shared = addRunFlags(new Command()).options.map(({ long }) => long ?? '');
    const own = flags.filter((name) => name !== '--help' && !shared.includes(name));
    expect(own).toEqual(['--max-retries', '--retry-delay', '--output']);
    const page = readFileSync(new URL('../../../docs/run-once.md', import.meta.url), 'utf8');
    for (const text of [section('## Flags of the other commands'), page]) {
      for (const flag of own) expect(text).toContain(flag);
    }
  });

  test('names every supported field, and no other', () => {
    expect(names(section('### Supported fields')).sort()).toEqual([...SUPPORTED_FIELDS].sort());
  });

  test('names every field that is known and has no effect, and no other', () => {
    expect(names(section('### Known, without effect')).sort()).toEqual(
      unsupported(KUBELET_CONFIGURATION_SCHEMA).sort(),
    );
  });

  test('states the defaults', () => {
    const fields = section('### Supported fields');
    const { fileCheckFrequencyMs, httpCheckFrequencyMs, syncFrequencyMs, maxContainerRestartPeriodMs } =
      DEFAULTS;
    const rows = {
      fileCheckFrequency: shortDuration(fileCheckFrequencyMs),
      httpCheckFrequency: shortDuration(httpCheckFrequencyMs),
      syncFrequency: shortDuration(syncFrequencyMs),
      'crashLoopBackOff.maxContainerRestartPeriod': shortDuration(maxContainerRestartPeriodMs),
      maxPods: DEFAULTS.maxPods,
      healthzBindAddress: DEFAULTS.healthzBindAddress,
      healthzPort: DEFAULTS.healthzPort,
      'logging.verbosity': DEFAULTS.verbosity,
    };
    for (const [field, value] of Object.entries(rows)) {
      expect(fields).toMatch(new RegExp(`\`${field}\` +\\| ${String(value)}\\b`, 'u'));
    }
  });
});
