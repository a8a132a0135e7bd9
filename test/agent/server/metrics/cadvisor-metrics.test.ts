import { describe, expect, test } from '@jest/globals';
import type { GroupFigures } from '../../../../src/agent/runtime/stats/cadvisor/group-figures.ts';
import { cadvisorMetrics } from '../../../../src/agent/server/metrics/cadvisor-metrics.ts';
import { samplesNamed, samplesOf } from './samples.ts';

const AT = 1_795_362_029_694;
const MACHINE = { machineID: 'm', systemUUID: 's', bootID: 'b', cpus: 4, memoryBytes: 2 ** 34 };
const CONTAINER: GroupFigures = {
  id: '/kubepods/podu/c1',
  name: 'c1',
  image: 'web:1',
  namespace: 'ns',
  pod: 'web',
  container: 'main',
  timeMs: AT,
  startedAtMs: AT,
  disks: [],
  interfaces: [],
};
const IDS = 'id="/kubepods/podu/c1",image="web:1"';
const NAMES = 'name="c1",namespace="ns",pod="web"';
const ALL = `{container="main",${IDS},${NAMES}}`;

const ofContainer = (figures: Partial<GroupFigures>) => {
  const samples = samplesNamed(cadvisorMetrics([{ ...CONTAINER, ...figures }], MACHINE), 'container_');
  const { [`container_start_time_seconds${ALL}`]: start, ...others } = samples;
  expect(start).toBe('1.795362029e+09');
  return others;
};

describe('the metrics of a container', () => {
  test('have its CPU time, with the time at which it was read', () => {
    const throttling = { periods: 9, throttledPeriods: 4, throttledSeconds: 1.5 };
    expect(ofContainer({ cpu: { usageSeconds: 3, userSeconds: 1, systemSeconds: 2, throttling } })).toEqual({
      [`container_cpu_usage_seconds_total{container="main",cpu="total",${IDS},${NAMES}}`]: `3 ${AT}`,
      [`container_cpu_user_seconds_total${ALL}`]: `1 ${AT}`,
      [`container_cpu_system_seconds_total${ALL}`]: `2 ${AT}`,
      [`container_cpu_cfs_periods_total${ALL}`]: `9 ${AT}`,
      [`container_cpu_cfs_throttled_periods_total${ALL}`]: `4 ${AT}`,
      [`container_cpu_cfs_throttled_seconds_total${ALL}`]: `1.5 ${AT}`,
    });
  });

  test('have its memory', () => {
    const memory = { usage: 6, workingSet: 5, rss: 4, cache: 3, swap: 2, mappedFile: 1 };
    expect(ofContainer({ memory, oomEvents: 7 })).toEqual({
      [`container_memory_usage_bytes${ALL}`]: `6 ${AT}`,
      [`container_memory_working_set_bytes${ALL}`]: `5 ${AT}`,
      [`container_memory_rss${ALL}`]: `4 ${AT}`,
      [`container_memory_cache${ALL}`]: `3 ${AT}`,
      [`container_memory_swap${ALL}`]: `2 ${AT}`,
      [`container_memory_mapped_file${ALL}`]: `1 ${AT}`,
      [`container_oom_events_total${ALL}`]: `7 ${AT}`,
    });
  });

  test('have its limits, without a time', () => {
    expect(
      ofContainer({ limits: { cpuShares: 512, cpuPeriod: 100_000, cpuQuota: 20_000, memory: 4 } }),
    ).toEqual({
      [`container_spec_cpu_shares${ALL}`]: '512',
      [`container_spec_cpu_period${ALL}`]: '100000',
      [`container_spec_cpu_quota${ALL}`]: '20000',
      [`container_spec_memory_limit_bytes${ALL}`]: '4',
    });
  });

  test('have its disks', () => {
    const disk = (device: string, reads: number) => ({
      device,
      reads,
      writes: 2,
      readBytes: 3,
      writtenBytes: 4,
    });
    const labels = (device: string) => `{container="main",device="${device}",${IDS},${NAMES}}`;
    const samples = ofContainer({ disks: [disk('/dev/sda', 1), disk('/dev/sdb', 9)] });
    expect(Object.keys(samples)).toHaveLength(8);
    expect(samples).toMatchObject({
      [`container_fs_reads_total${labels('/dev/sda')}`]: `1 ${AT}`,
      [`container_fs_reads_total${labels('/dev/sdb')}`]: `9 ${AT}`,
      [`container_fs_writes_total${labels('/dev/sda')}`]: `2 ${AT}`,
      [`container_fs_reads_bytes_total${labels('/dev/sda')}`]: `3 ${AT}`,
      [`container_fs_writes_bytes_total${labels('/dev/sda')}`]: `4 ${AT}`,
    });
  });

  test('have the interfaces of a network', () => {
    const received = { bytes: 1, packets: 2, errors: 3, dropped: 4 };
    const sent = { bytes: 5, packets: 6, errors: 7, dropped: 8 };
    const labels = `{container="main",${IDS},interface="eth0",${NAMES}}`;
    expect(ofContainer({ interfaces: [{ name: 'eth0', received, sent }] })).toEqual({
      [`container_network_receive_bytes_total${labels}`]: `1 ${AT}`,
      [`container_network_receive_packets_total${labels}`]: `2 ${AT}`,
      [`container_network_receive_errors_total${labels}`]: `3 ${AT}`,
      [`container_network_receive_packets_dropped_total${labels}`]: `4 ${AT}`,
      [`container_network_transmit_bytes_total${labels}`]: `5 ${AT}`,
      [`container_network_transmit_packets_total${labels}`]: `6 ${AT}`,
      [`container_network_transmit_errors_total${labels}`]: `7 ${AT}`,
      [`container_network_transmit_packets_dropped_total${labels}`]: `8 ${AT}`,
    });
  });

  test('have how long its tasks have waited, in seconds', () => {
    const waited = (some: number, full: number) => {
      const of = (total: number) => ({ total, avg10: 0, avg60: 0, avg300: 0 });
      return { some: of(some), full: of(full) };
    };
    const pressure = { cpu: waited(1e6, 5e5), memory: waited(2e6, 25e4), io: undefined };
    expect(ofContainer({ pressure })).toEqual({
      [`container_pressure_cpu_waiting_seconds_total${ALL}`]: `1 ${AT}`,
      [`container_pressure_cpu_stalled_seconds_total${ALL}`]: `0.5 ${AT}`,
      [`container_pressure_memory_waiting_seconds_total${ALL}`]: `2 ${AT}`,
      [`container_pressure_memory_stalled_seconds_total${ALL}`]: `0.25 ${AT}`,
    });
  });
});

test('all labels stand in every series, also where they are empty', () => {
  const pod = { ...CONTAINER, id: '/kubepods/podu', name: '', image: '', container: '', oomEvents: 1 };
  expect(samplesOf(cadvisorMetrics([pod], MACHINE))).toHaveProperty(
    'container_oom_events_total{container="",id="/kubepods/podu",image="",name="",namespace="ns",pod="web"}',
  );
});

test('the machine is known by its identity, and has its cores and its memory', () => {
  expect(samplesOf(cadvisorMetrics([], MACHINE))).toEqual({
    'machine_cpu_cores{boot_id="b",machine_id="m",system_uuid="s"}': '4',
    'machine_memory_bytes{boot_id="b",machine_id="m",system_uuid="s"}': '1.7179869184e+10',
  });
});
