/** `/metrics/cadvisor`: the figures of groups with the names of cAdvisor's metrics. */
import type { MachineIdentity } from '../../policies/node/machine-identity.ts';
import type { MachineSize } from '../../policies/node/node-capacity.ts';
import type { GroupFigures, InterfaceCounts } from '../../runtime/stats/cadvisor/group-figures.ts';
import { type Metric, metric, type MetricHead, type MetricType, quoted, sample } from './metric-text.ts';

/** The labels of a group in three parts, between which a metric's own label has its place. */
interface LabelParts {
  readonly container: string;
  readonly id: string;
  readonly name: string;
  readonly all: string;
}

/** What the metrics say of the machine itself. */
export type MeasuredMachine = MachineIdentity & Pick<MachineSize, 'cpus' | 'memoryBytes'>;

type Write = (labels: string, value: number) => void;

interface GroupMetric {
  readonly head: MetricHead;
  /** Limits and start times are not measured: their samples have no time. */
  readonly hasTime: boolean;
  readonly write: (figures: GroupFigures, labels: LabelParts, write: Write) => void;
}

export function cadvisorMetrics(
  groups: readonly GroupFigures[],
  machine: MeasuredMachine,
): readonly Metric[] {
  const labels = groups.map(labelParts);
  const ofGroups = GROUP_METRICS.map(({ head, hasTime, write }) => {
    const samples: string[] = [];
    for (const [index, figures] of groups.entries()) {
      const timeMs = hasTime ? figures.timeMs : undefined;
      const parts = labels[index];
      if (parts) write(figures, parts, (text, value) => samples.push(sample(head.name, text, value, timeMs)));
    }
    return { head, samples };
  });
  return [...ofGroups, ...machineMetrics(machine)];
}

function machineMetrics(machine: MeasuredMachine): readonly Metric[] {
  const { machineID, systemUUID, bootID, cpus, memoryBytes } = machine;
  const labels = { boot_id: bootID, machine_id: machineID, system_uuid: systemUUID };
  const gauge = (name: string, help: string, value: number) =>
    metric({ name, type: 'gauge', help }, [[labels, value]]);
  return [
    gauge('machine_cpu_cores', 'Number of logical CPU cores.', cpus),
    gauge('machine_memory_bytes', 'Amount of memory installed on the machine.', memoryBytes),
  ];
}

function labelParts({ container, id, image, name, namespace, pod }: GroupFigures): LabelParts {
  const parts = {
    container: `container="${quoted(container)}"`,
    id: `id="${quoted(id)}",image="${quoted(image)}"`,
    name: `name="${quoted(name)}",namespace="${quoted(namespace)}",pod="${quoted(pod)}"`,
  };
  return { ...parts, all: `${parts.container},${parts.id},${parts.name}` };
}

type ValueOf = (figures: GroupFigures) => number | undefined;

/** A metric with one sample for each group that has the figure. */
function one(
  type: MetricType,
  name: string,
  help: string,
  valueOf: ValueOf,
  { hasTime = true, label = '' } = {},
): GroupMetric {
  return {
    head: { name, type, help },
    hasTime,
    write: (figures, { container, id, name: names, all }, write) => {
      const value = valueOf(figures);
      if (value !== undefined) write(label === '' ? all : `${container},${label},${id},${names}`, value);
    },
  };
}

/** A metric with one sample for each interface. */
function ofInterfaces(
  direction: 'received' | 'sent',
  count: keyof InterfaceCounts,
  name: string,
  help: string,
): GroupMetric {
  return {
    head: { name, type: 'counter', help },
    hasTime: true,
    write: ({ interfaces }, { container, id, name: names }, write) => {
      for (const one of interfaces)
        write(`${container},${id},interface="${quoted(one.name)}",${names}`, one[direction][count]);
    },
  };
}

/** A metric with one sample for each disk. */
function ofDisks(
  figure: 'readBytes' | 'writtenBytes' | 'reads' | 'writes',
  name: string,
  help: string,
): GroupMetric {
  return {
    head: { name, type: 'counter', help },
    hasTime: true,
    write: ({ disks }, { container, id, name: names }, write) => {
      for (const disk of disks)
        write(`${container},device="${quoted(disk.device)}",${id},${names}`, disk[figure]);
    },
  };
}

const US_PER_S = 1e6;

/** How long tasks have waited: some of them, or all. */
function ofPressure(
  resource: 'cpu' | 'memory' | 'io',
  share: 'some' | 'full',
  name: string,
  help: string,
): GroupMetric {
  return one('counter', name, help, ({ pressure }) => {
    const total = pressure?.[resource]?.[share]?.total;
    return total === undefined ? undefined : total / US_PER_S;
  });
}

const FIXED = { hasTime: false };

const GROUP_METRICS: readonly GroupMetric[] = [
  one(
    'counter',
    'container_cpu_usage_seconds_total',
    'Cumulative cpu time consumed in seconds.',
    ({ cpu }) => cpu?.usageSeconds,
    { label: 'cpu="total"' },
  ),
  one(
    'counter',
    'container_cpu_user_seconds_total',
    'Cumulative user cpu time consumed in seconds.',
    ({ cpu }) => cpu?.userSeconds,
  ),
  one(
    'counter',
    'container_cpu_system_seconds_total',
    'Cumulative system cpu time consumed in seconds.',
    ({ cpu }) => cpu?.systemSeconds,
  ),
  one(
    'counter',
    'container_cpu_cfs_periods_total',
    'Number of elapsed enforcement period intervals.',
    ({ cpu }) => cpu?.throttling?.periods,
  ),
  one(
    'counter',
    'container_cpu_cfs_throttled_periods_total',
    'Number of throttled period intervals.',
    ({ cpu }) => cpu?.throttling?.throttledPeriods,
  ),
  one(
    'counter',
    'container_cpu_cfs_throttled_seconds_total',
    'Total time duration the container has been throttled.',
    ({ cpu }) => cpu?.throttling?.throttledSeconds,
  ),
  one(
    'gauge',
    'container_memory_usage_bytes',
    'Current memory usage in bytes, including all memory regardless of when it was accessed',
    ({ memory }) => memory?.usage,
  ),
  one(
    'gauge',
    'container_memory_working_set_bytes',
    'Current working set in bytes.',
    ({ memory }) => memory?.workingSet,
  ),
  one('gauge', 'container_memory_rss', 'Size of RSS in bytes.', ({ memory }) => memory?.rss),
  one(
    'gauge',
    'container_memory_cache',
    'Number of bytes of page cache memory.',
    ({ memory }) => memory?.cache,
  ),
  one('gauge', 'container_memory_swap', 'Container swap usage in bytes.', ({ memory }) => memory?.swap),
  one(
    'gauge',
    'container_memory_mapped_file',
    'Size of memory mapped files in bytes.',
    ({ memory }) => memory?.mappedFile,
  ),
  one(
    'counter',
    'container_oom_events_total',
    'Count of out of memory events observed for the container',
    ({ oomEvents }) => oomEvents,
  ),
  ofDisks('reads', 'container_fs_reads_total', 'Cumulative count of reads completed'),
  ofDisks('writes', 'container_fs_writes_total', 'Cumulative count of writes completed'),
  ofDisks('readBytes', 'container_fs_reads_bytes_total', 'Cumulative count of bytes read'),
  ofDisks('writtenBytes', 'container_fs_writes_bytes_total', 'Cumulative count of bytes written'),
  ofInterfaces(
    'received',
    'bytes',
    'container_network_receive_bytes_total',
    'Cumulative count of bytes received',
  ),
  ofInterfaces(
    'received',
    'packets',
    'container_network_receive_packets_total',
    'Cumulative count of packets received',
  ),
  ofInterfaces(
    'received',
    'dropped',
    'container_network_receive_packets_dropped_total',
    'Cumulative count of packets dropped while receiving',
  ),
  ofInterfaces(
    'received',
    'errors',
    'container_network_receive_errors_total',
    'Cumulative count of errors encountered while receiving',
  ),
  ofInterfaces(
    'sent',
    'bytes',
    'container_network_transmit_bytes_total',
    'Cumulative count of bytes transmitted',
  ),
  ofInterfaces(
    'sent',
    'packets',
    'container_network_transmit_packets_total',
    'Cumulative count of packets transmitted',
  ),
  ofInterfaces(
    'sent',
    'dropped',
    'container_network_transmit_packets_dropped_total',
    'Cumulative count of packets dropped while transmitting',
  ),
  ofInterfaces(
    'sent',
    'errors',
    'container_network_transmit_errors_total',
    'Cumulative count of errors encountered while transmitting',
  ),
  ofPressure(
    'cpu',
    'full',
    'container_pressure_cpu_stalled_seconds_total',
    'Total time duration no tasks in the container could make progress due to CPU congestion.',
  ),
  ofPressure(
    'cpu',
    'some',
    'container_pressure_cpu_waiting_seconds_total',
    'Total time duration tasks in the container have waited due to CPU congestion.',
  ),
  ofPressure(
    'memory',
    'full',
    'container_pressure_memory_stalled_seconds_total',
    'Total time duration no tasks in the container could make progress due to memory congestion.',
  ),
  ofPressure(
    'memory',
    'some',
    'container_pressure_memory_waiting_seconds_total',
    'Total time duration tasks in the container have waited due to memory congestion.',
  ),
  ofPressure(
    'io',
    'full',
    'container_pressure_io_stalled_seconds_total',
    'Total time duration no tasks in the container could make progress due to IO congestion.',
  ),
  ofPressure(
    'io',
    'some',
    'container_pressure_io_waiting_seconds_total',
    'Total time duration tasks in the container have waited due to IO congestion.',
  ),
  one(
    'gauge',
    'container_start_time_seconds',
    'Start time of the container since unix epoch in seconds.',
    ({ startedAtMs }) => (startedAtMs === undefined ? undefined : Math.trunc(startedAtMs / 1000)),
    FIXED,
  ),
  one(
    'gauge',
    'container_spec_cpu_period',
    'CPU period of the container.',
    ({ limits }) => limits?.cpuPeriod,
    FIXED,
  ),
  one(
    'gauge',
    'container_spec_cpu_quota',
    'CPU quota of the container.',
    ({ limits }) => limits?.cpuQuota,
    FIXED,
  ),
  one(
    'gauge',
    'container_spec_cpu_shares',
    'CPU share of the container.',
    ({ limits }) => limits?.cpuShares,
    FIXED,
  ),
  one(
    'gauge',
    'container_spec_memory_limit_bytes',
    'Memory limit for the container.',
    ({ limits }) => limits?.memory,
    FIXED,
  ),
];
