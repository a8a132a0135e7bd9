import { describe, expect, test } from '@jest/globals';
import { CONFIGURATION_DEFAULTS } from '../../../src/config/configuration-defaults.ts';
import { isFieldDefault } from '../../../src/config/kubelet/field-defaults.ts';

test.each(Object.entries(CONFIGURATION_DEFAULTS))('%s has its default: %j', (name, value) => {
  expect(isFieldDefault(name, value)).toBe(true);
});

describe('a value', () => {
  test.each<[string, string, unknown]>([
    ['an empty text', 'hairpinMode', ''],
    ['a duration of zero', 'volumeStatsAggPeriod', '0s'],
    ['the same duration, written in another way', 'volumeStatsAggPeriod', '60s'],
    ['nanoseconds of zero', 'logging.flushFrequency', 0],
    ['an object without members', 'logging.options', {}],
    ['an object with members of the default', 'logging.options', { json: { infoBufferSize: '0' } }],
    ['a list without items, where there is no default', 'logging.vmodule', []],
    ['false, where there is no default', 'protectKernelDefaults', false],
    ['0, where it counts as not given', 'maxOpenFiles', 0],
  ])('is a default: %s', (_, path, value) => {
    expect(isFieldDefault(path, value)).toBe(true);
  });

  test.each<[string, string, unknown]>([
    ['false for true', 'failSwapOn', false],
    ['0 for another number', 'oomScoreAdj', 0],
    ['another text', 'hairpinMode', 'none'],
    ['another duration', 'volumeStatsAggPeriod', '-1s'],
    ['a member', 'logging.options', { json: { infoBufferSize: '1Mi' } }],
    ['a list with other items', 'enforceNodeAllocatable', ['none']],
    ['a text, where there is no default', 'podCIDR', '10.0.0.0/24'],
    ['true, where there is no default', 'protectKernelDefaults', true],
  ])('is none: %s', (_, path, value) => {
    expect(isFieldDefault(path, value)).toBe(false);
  });
});
