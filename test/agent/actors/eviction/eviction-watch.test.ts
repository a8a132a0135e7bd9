import { expect, test } from '@jest/globals';
import {
  EvictionFigures,
  type EvictionStats,
} from '../../../../src/agent/actors/eviction/eviction-figures.ts';
import { EvictionWatch } from '../../../../src/agent/actors/eviction/eviction-watch.ts';
import type { Threshold } from '../../../../src/agent/policies/eviction/thresholds.ts';
import { pressureThresholds } from '../../../../src/agent/policies/eviction/pressure-settings.ts';
import { settled } from '../../../../src/simulation/node/virtual-clock.ts';
import { StateletError } from '../../../../src/types/errors.ts';
import { GI, MI, settingsWith, thresholds } from '../../../support/eviction.ts';
import { SILENT } from '../../../paths/path-node.ts';
import { testContext } from '../../../support/test-context.ts';

type Watched = Parameters<EvictionStats['watchMemory']>;
type Stalled = Parameters<EvictionStats['watchPressure']>;

const MEMORY = thresholds({ evictionHard: { 'memory.available': '100Mi', 'nodefs.available': '10%' } });
const PRESSURE = pressureThresholds({
  evictionPSI: { 'memory.pressure.some.avg10': '20%', 'io.pressure.full.avg10': '60%' },
  evictionPSIGracePeriod: {},
});

function watchOn(watched: readonly Threshold[], { problem }: { problem?: Error } = {}) {
  const made = {
    sent: [] as string[],
    warnings: [] as string[],
    stopped: 0,
    opened: 0,
    memory: undefined as Watched | undefined,
    pressure: undefined as Stalled | undefined,
  };
  const stop = () => (made.stopped += 1);
  const stats = {
    memoryAvailable: () => ({ capacityBytes: GI }),
    watchMemory: (...watch: Watched) => {
      made.memory = watch;
      return { stop };
    },
    watchPressure: (...watch: Stalled) => {
      made.pressure = watch;
      return { stop };
    },
  } as Partial<EvictionStats> as EvictionStats;
  const figures = new EvictionFigures({
    configuration: settingsWith({ thresholds: watched }),
    stats: () => {
      made.opened += 1;
      return problem === undefined ? Promise.resolve(stats) : Promise.reject(problem);
    },
  });
  const logger = { ...SILENT, warn: (_: object, message: string) => void made.warnings.push(message) };
  const watch = new EvictionWatch(testContext({ logger }), figures, ({ type }) => void made.sent.push(type));
  return Object.assign(made, { watch });
}

test('memory is watched in bytes, and a crossing of a threshold is reported in both directions', async () => {
  const made = watchOn(MEMORY);
  made.watch.start();
  await settled();
  expect(made.memory?.[0]).toEqual([{ signal: 'memory.available', thresholdBytes: 100 * MI }]);
  made.memory?.[1]({ isBelow: true });
  made.memory?.[1]({ isBelow: false });
  expect([made.sent, made.pressure]).toEqual([['MEMORY_SHORT', 'MEMORY_ENOUGH'], undefined]);
});

test('only the start of pressure is reported, with the resource that tasks wait for', async () => {
  const made = watchOn(PRESSURE);
  made.watch.start();
  await settled();
  expect(made.pressure?.[0]).toEqual([
    { resource: 'memory', kind: 'some', percent: 20 },
    { resource: 'io', kind: 'full', percent: 60 },
  ]);
  made.pressure?.[1]({ isAbove: true, resource: 'memory' });
  made.pressure?.[1]({ isAbove: true, resource: 'io' });
  made.pressure?.[1]({ isAbove: false, resource: 'io' });
  expect([made.sent, made.memory]).toEqual([['MEMORY_STALLED', 'IO_STALLED'], undefined]);
});

test('without thresholds that can be watched, no figures are opened', async () => {
  const made = watchOn(thresholds({ evictionHard: { 'nodefs.available': '10%' } }));
  made.watch.start();
  await settled();
  expect([made.opened, made.memory, made.pressure]).toEqual([0, undefined, undefined]);
});

test('if a watch cannot be opened, a log line says so, and how often the node is measured without it', async () => {
  const made = watchOn(MEMORY, { problem: new StateletError('Unavailable', 'no cgroups') });
  made.watch.start();
  await settled();
  expect(made.warnings).toEqual(['Eviction manager: memory is measured every 10 s only: no cgroups']);
});

test('stop ends every watch, and no watch starts after it', async () => {
  const made = watchOn([...MEMORY, ...PRESSURE]);
  made.watch.start();
  await settled();
  made.watch.stop();
  expect(made.stopped).toBe(2);
  const late = watchOn(MEMORY);
  late.watch.start();
  late.watch.stop();
  await settled();
  expect([late.memory, late.stopped]).toEqual([undefined, 0]);
});
