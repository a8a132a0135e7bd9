/**
 * Loaded before a program, which it measures from inside: to each message of its parent it answers with the usage of the process since the last one.
 */
import diagnostics from 'node:diagnostics_channel';
import { monitorEventLoopDelay } from 'node:perf_hooks';

export interface Taken {
  readonly cpuMs: number;
  /** Milliseconds by which a timer came late; other processes count as well. */
  readonly delayP99Ms: number;
  /** Sent over HTTP/2. */
  readonly requests: number;
}

const RESOLUTION_MS = 10;

const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
let cpu = process.cpuUsage();
let requests = 0;

function take(): Taken {
  const { user, system } = process.cpuUsage(cpu);
  const delayP99Ms = Math.max(0, delay.percentile(99) / 1e6 - RESOLUTION_MS);
  const taken = { cpuMs: (user + system) / 1000, delayP99Ms, requests };
  cpu = process.cpuUsage();
  delay.reset();
  requests = 0;
  return taken;
}

diagnostics.subscribe('http2.client.stream.start', () => {
  requests += 1;
});
delay.enable();
process.on('message', () => process.send?.(take()));
// It does not keep the program alive.
process.channel?.unref();
