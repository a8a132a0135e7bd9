import { describe, expect, test } from '@jest/globals';
import { observe } from '../../../../src/agent/policies/eviction/observations.ts';
import {
  mostUrgentShortage,
  remainingShortage,
  shortageAfterReclaim,
} from '../../../../src/agent/policies/eviction/shortage.ts';
import { quantityString } from '../../../../src/agent/policies/formats/quantity.ts';
import { type Left, ONE_FILE_SYSTEM, shortageOf, summaryOf, thresholds } from '../../../support/eviction.ts';

const ALL = thresholds({
  evictionSoft: { 'memory.available': '500Mi', 'nodefs.available': '20%', 'pid.available': '500' },
  evictionSoftGracePeriod: { 'memory.available': '1m', 'nodefs.available': '1m', 'pid.available': '1m' },
  evictionHard: { 'pid.available': '100', 'nodefs.available': '10%', 'memory.available': '100Mi' },
  evictionMinimumReclaim: { 'nodefs.available': '5Gi' },
});
const observed = (left: Left) => observe(summaryOf(left));
const LOW = observed({ memory: 50, disk: 5, pids: 10 });

function urgent(among: typeof ALL): string | undefined {
  const shortage = mostUrgentShortage(among, LOW, ONE_FILE_SYSTEM);
  return shortage && `${shortage.threshold.signal} ${shortage.isHard ? 'hard' : 'soft'}`;
}

describe('the most urgent shortage', () => {
  test('is that of memory, by its hard threshold', () => {
    expect(urgent(ALL)).toBe('memory.available hard');
    expect(urgent(ALL.toReversed())).toBe('memory.available hard');
  });

  test('is that of memory even if only its soft threshold is met', () => {
    const withoutHard = ALL.filter(
      ({ signal, gracePeriodMs }) => signal !== 'memory.available' || gracePeriodMs > 0,
    );
    expect(urgent(withoutHard)).toBe('memory.available soft');
  });

  test('is that of the memory of the node before that of the pods', () => {
    const both = thresholds({
      evictionHard: { 'memory.available': '1Gi' },
      enforceNodeAllocatable: ['pods'],
    });
    expect(urgent(both)).toBe('memory.available hard');
  });

  test('is, of other signals, the first in the settings, hard thresholds before soft ones', () => {
    const others = ALL.filter(({ signal }) => signal !== 'memory.available');
    expect(urgent(others)).toBe('pid.available hard');
    expect(urgent(others.filter(({ gracePeriodMs }) => gracePeriodMs > 0))).toBe('nodefs.available soft');
  });

  test('does not exist if no threshold is met', () => {
    expect(urgent([])).toBeUndefined();
  });

  test('has the threshold and the available amount', () => {
    const { quantity, available, minReclaim, reclaim, resource } = mostUrgentShortage(
      ALL.filter(({ signal }) => signal === 'nodefs.available'),
      LOW,
      ONE_FILE_SYSTEM,
    )!;
    expect([quantity, available, minReclaim!].map(quantityString)).toEqual(['10737418400', '5Gi', '5Gi']);
    expect([resource, reclaim]).toEqual(['ephemeral-storage', ['containers', 'images']]);
  });
});

describe('measured again', () => {
  const shortage = shortageOf('memory.available', '100Mi', { memory: 50 });

  test('a continuing shortage has the new figures', () => {
    const rest = remainingShortage(shortage, observed({ memory: 60 }));
    expect(rest).toEqual({
      ...shortage,
      available: { nanos: 60n * 2n ** 20n * 10n ** 9n, format: 'BinarySI' },
    });
  });

  test.each([
    ['enough is there', { memory: 100 }],
    ['the signal is not observed', { pids: 1 }],
  ])('there is no shortage if %s', (_, left) => {
    expect(remainingShortage(shortage, observed(left))).toBeUndefined();
  });

  test('after a reclaim, the shortage is over when every threshold has its minimum reclaim, soft ones too', () => {
    const disk = shortageOf('nodefs.available', '10%', { disk: 5 });
    const after = (left: Left) => shortageAfterReclaim(disk, ALL, observed(left));
    const enough = { memory: 500, pids: 500 };
    expect(after({ ...enough, disk: 26 })).toBeUndefined();
    expect(quantityString(after({ ...enough, disk: 14 })!.available)).toBe('14Gi');
    expect(after({ ...enough, disk: 26, memory: 499 })).toBeDefined();
  });

  test('a signal that cannot be measured after a reclaim keeps its shortage', () => {
    expect(shortageAfterReclaim(shortage, ALL, undefined)).toBe(shortage);
    expect(shortageAfterReclaim(shortage, ALL, observed({ disk: 1 }))).toBe(shortage);
  });
});
