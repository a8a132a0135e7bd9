import { expect, test } from '@jest/globals';
import { countEviction, newTally } from '../../src/simulation/tally.ts';

test.each([
  ['memory.available', {}],
  ['allocatableMemory.available', {}],
  ['pid.available', { evictedForPIDs: 1 }],
  ['nodefs.available', { evictedForDisk: 1 }],
  ['imagefs.inodesFree', { evictedForDisk: 1 }],
  ['containerfs.available', { evictedForDisk: 1 }],
  ['emptydirfs.limit', { evictedForLimits: 1 }],
  ['ephemeralcontainerfs.limit', { evictedForLimits: 1 }],
])('an eviction for %s is counted as %j', (signal, counts) => {
  const tally = newTally();
  countEviction(tally, signal);
  expect(tally).toEqual({ ...newTally(), evicted: 1, ...counts });
});
