/** Figures of the agent's own process, under the names that Prometheus' client libraries use for any process. */
import { readdirSync } from 'node:fs';
import { descriptorsMax } from '../../runtime/stats/cadvisor/open-files.ts';
import { readSmallFile } from '../../runtime/stats/small-files.ts';
import { KUBELET_VERSION } from '../../policies/node/node-software.ts';
import { type Labels, type Metric, metric, type MetricType } from './metric-text.ts';

const US_PER_S = 1e6;
/** Of the time of `performance.now()`. */
const STARTED_AT_S = performance.timeOrigin / 1000;

const one = (type: MetricType, name: string, help: string, value: number | undefined, labels: Labels = {}) =>
  metric({ name, type, help }, value === undefined ? [] : [[labels, value]]);

export function startTimeMetric(): Metric {
  const help = '[ALPHA] Start time of the process since unix epoch in seconds.';
  return one('gauge', 'process_start_time_seconds', help, STARTED_AT_S);
}

export function processMetrics(): readonly Metric[] {
  const { user, system } = process.cpuUsage();
  const [virtualBytes, maxFds] = [virtualMemoryBytes(), descriptorsMax()];
  const cpuHelp = 'Total user and system CPU time spent in seconds.';
  return [
    one('counter', 'process_cpu_seconds_total', cpuHelp, (user + system) / US_PER_S),
    one(
      'gauge',
      'process_resident_memory_bytes',
      'Resident memory size in bytes.',
      process.memoryUsage.rss(),
    ),
    one('gauge', 'process_virtual_memory_bytes', 'Virtual memory size in bytes.', virtualBytes),
    one('gauge', 'process_open_fds', 'Number of open file descriptors.', openDescriptors()),
    one('gauge', 'process_max_fds', 'Maximum number of open file descriptors.', maxFds),
    startTimeMetric(),
    one(
      'gauge',
      'go_goroutines',
      'Number of goroutines that currently exist: here, of timers, sockets and requests that keep the process at work.',
      process.getActiveResourcesInfo().length,
    ),
    one(
      'gauge',
      'kubernetes_build_info',
      "[BETA] A metric with a constant '1' value labeled by the version of the kubelet whose behavior the agent has.",
      1,
      buildLabels(),
    ),
  ];
}

function buildLabels(): Labels {
  const [major = '', minor = ''] = KUBELET_VERSION.slice(1).split('.');
  const arch = process.arch === 'x64' ? 'amd64' : process.arch;
  return {
    build_date: '',
    compiler: 'node',
    git_commit: '',
    git_tree_state: '',
    git_version: KUBELET_VERSION,
    go_version: process.version,
    major,
    minor,
    platform: `linux/${arch}`,
  };
}

function openDescriptors(): number | undefined {
  try {
    return readdirSync('/proc/self/fd').length;
  } catch {
    return undefined;
  }
}

function virtualMemoryBytes(): number | undefined {
  const size = /^VmSize:\s+(\d+) kB$/m.exec(readSmallFile('/proc/self/status') ?? '')?.[1];
  return size === undefined ? undefined : Number(size) * 1024;
}
