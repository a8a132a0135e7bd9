import { createRequire } from 'node:module';
import type { Test } from '@jest/test-result';
import type * as Sequencer from '@jest/test-sequencer';
import { MAY_START } from './no-processes.ts';

// Its types are those of its CommonJS form.
const { default: TestSequencer } = createRequire(import.meta.url)(
  '@jest/test-sequencer',
) as typeof Sequencer.default;

/**
 * They start fifty to four hundred processes. Node forks for each, which takes 1 ms for 25 MiB of the worker's memory: a worker that has run
 * simulations has up to 1 GiB. So they come first.
 */
const STARTING = [
  'runtime/volumes/volume-deaths',
  'runtime/volumes/csi-deaths',
  'runtime/volumes/block-device',
  'volumes/kinds/atomic-writer-faults',
  'system/run-command',
  'monitor/recovery',
  'e2e/hostile-texts',
  'runtime/volumes/volume-manager',
  'runtime/volumes/csi/csi-node',
  'runtime/images/credential-plugin',
  'support/containerd/containerd.test',
].map((path) => `/${path}`);

/** The files that take longest, the longest first: begun last, one of them would keep one worker busy after all others have ended. */
const LONG = [
  'simulation/seeds/',
  'e2e/cluster/csi',
  'e2e/cluster/tokens',
  'simulation/several-nodes',
  'e2e/cri/runtime/death',
  'paths/pod/',
  'e2e/cri/runtime/faulty-calls',
  'paths/eviction/',
  'e2e/page',
  'paths/embedded',
  'e2e/death',
  'e2e/cri/node/eviction.test',
  'e2e/cri/node/cgroup-v2',
  'e2e/cluster/server-faults',
  'e2e/cri/node/systemd',
  'e2e/cluster/volumes',
  'cluster/watches/reflect-on-faulty-server',
  'e2e/cri/node/reboot',
  'e2e/',
  'embedded/',
  'package.test',
  'simulation/simulation',
  'recorder/replay',
  'paths/',
].map((path) => `/${path}`);

/**
 * After `STARTING`: Jest knows how long files took on this machine. Where it does not, as in a new checkout, the order is that of `LONG`, then
 * files that start processes, then all others.
 */
export default class LongFirst extends TestSequencer {
  override async sort(tests: Test[]): Promise<Test[]> {
    return (await super.sort(tests)).toSorted((a, b) => placeOf(a) - placeOf(b));
  }
}

function placeOf({ path, duration }: Test): number {
  if (STARTING.some((part) => path.includes(part))) return -1;
  const place = LONG.findIndex((part) => path.includes(part));
  if (duration !== undefined) return LONG.length;
  if (place >= 0) return place;
  return MAY_START.test(path) ? LONG.length : LONG.length + 1;
}
