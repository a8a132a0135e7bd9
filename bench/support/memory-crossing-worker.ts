/** A thread that reports when the available memory falls below a limit, in Unix milliseconds. It checks every millisecond. */
import { parentPort, workerData } from 'node:worker_threads';
import { openStatsProvider } from '../../src/agent/runtime/stats/kernel-stats.ts';
import { systemClock } from '../../src/system/timer.ts';
import { nowMs } from './measures.ts';

const PERIOD_MS = 1;

const { thresholdBytes } = workerData as { thresholdBytes: number };
const nothing = () => undefined;
const logger = { trace: nothing, debug: nothing, info: nothing, warn: nothing, error: nothing };
const none = () => Promise.resolve([]);
const stats = openStatsProvider({
  nodeName: '',
  rootDir: '',
  podLogsDir: '',
  cgroupRoot: '/',
  pods: () => [],
  logger,
  runtime: { listContainerStats: none, imageFsInfo: none },
  clock: systemClock,
});
const sleeper = new Int32Array(new SharedArrayBuffer(4));
const left = () => stats.memoryAvailable('memory.available')?.availableBytes ?? Number.NaN;

if (Number.isNaN(left())) throw new Error('this machine does not say how much memory is left');
parentPort?.postMessage('watching');
while (left() >= thresholdBytes) Atomics.wait(sleeper, 0, 0, PERIOD_MS);
parentPort?.postMessage(nowMs());
await stats.close();
