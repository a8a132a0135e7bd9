/** A thread that reports when the available memory falls below a limit, in Unix milliseconds. It checks every millisecond. */
import { parentPort, workerData } from 'node:worker_threads';
import { openStatsProvider } from '../../src/agent/runtime/stats/kernel-stats.ts';
import { systemClock } from '../../src/system/timer.ts';
import { nowMs } from './measures.ts';
import { testContext } from '../../test/support/test-context.ts';

const PERIOD_MS = 1;

const { thresholdBytes } = workerData as { thresholdBytes: number };
const none = () => Promise.resolve([]);
const stats = openStatsProvider(testContext({ clock: systemClock }), {
  nodeName: '',
  rootDir: '',
  podLogsDir: '',
  cgroupRoot: '/',
  pods: () => [],
  runtime: { listContainerStats: none, imageFsInfo: none },
});
const sleeper = new Int32Array(new SharedArrayBuffer(4));
const left = () => stats.memoryAvailable('memory.available')?.availableBytes ?? Number.NaN;

if (Number.isNaN(left())) throw new Error('this machine does not say how much memory is left');
parentPort?.postMessage('watching');
while (left() >= thresholdBytes) Atomics.wait(sleeper, 0, 0, PERIOD_MS);
parentPort?.postMessage(nowMs());
await stats.close();
