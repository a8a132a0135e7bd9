import { afterEach } from '@jest/globals';

/** Belongs to one test file: it starts at 0 in each. */
export const kept = { count: 0, ended: 0 };

afterEach(() => {
  kept.ended += 1;
});
