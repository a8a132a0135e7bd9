import { createRequire } from 'node:module';
import type { Test } from '@jest/test-result';
import type * as Sequencer from '@jest/test-sequencer';
import { MAY_START } from './no-processes.ts';

// Its types are those of its CommonJS form.
const { default: TestSequencer } = createRequire(import.meta.url)(
  '@jest/test-sequencer',
) as typeof Sequencer.default;

/** The files that take longest, the longest first: begun last, one of them would keep one worker busy after all others have ended. */
const LONG = [
  'simulation/seeds/',
  'e2e/cri/node/cgroup-v2',
  'paths/eviction/',
  'e2e/cluster/tokens',
  'e2e/cri/runtime/death',
  'simulation/several-nodes',
  'paths/pod/',
  'e2e/page',
  'paths/embedded',
  'e2e/cri/runtime/faulty-calls',
  'e2e/death',
  'e2e/cri/node/reboot',
  'runtime/volumes/block-device',
  'cluster/watches/reflect-on-faulty-server',
  'package.test',
  'e2e/hostile-texts',
  'e2e/cluster/volumes',
  'volumes/kinds/atomic-writer-faults',
  'runtime/volumes/volume-deaths',
  'e2e/',
  'embedded/',
  'simulation/simulation',
  'recorder/replay',
  'paths/',
].map((path) => `/${path}`);

/**
 * Jest knows how long files took on this machine. Where it does not, as in a new checkout, the order is that of `LONG`, then files that start
 * processes, then all others.
 */
export default class LongFirst extends TestSequencer {
  override async sort(tests: Test[]): Promise<Test[]> {
    return (await super.sort(tests)).toSorted((a, b) => placeOf(a) - placeOf(b));
  }
}

function placeOf({ path, duration }: Test): number {
  const place = LONG.findIndex((part) => path.includes(part));
  if (duration !== undefined) return LONG.length;
  if (place >= 0) return place;
  return MAY_START.test(path) ? LONG.length : LONG.length + 1;
}
