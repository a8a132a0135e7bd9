/** A node on cgroup v2, with systemd. Runs as the first program of a machine of its own; see cgroup-v2.test.ts. */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { podCgroup, qosCgroups, scopeName } from '../../../../src/agent/policies/cgroups/cgroup-names.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import type { Summary } from '../../../../src/types/stats.ts';
import { busyboxPod, CGROUPS, KernelNode, reportOf } from '../../../support/kernel-node.ts';
import { waitFor } from '../../../support/wait-for.ts';

const MANIFESTS = '/run/manifests';
const layout = qosCgroups('/', 'systemd');
const CONFIGURATION = {
  featureGates: { MemoryQoS: true },
  memoryReservationPolicy: 'TieredReservation',
  memoryThrottlingFactor: 1,
  memorySwap: { swapBehavior: 'LimitedSwap' },
  failSwapOn: false,
  podPidsLimit: 50,
};
const WITHOUT_SWAP = { ...CONFIGURATION, memorySwap: { swapBehavior: 'NoSwap' } };
const node = new KernelNode('/tmp', CONFIGURATION, 'systemd');

const FULL = { cpu: '100m', memory: '16Mi' };
const SOFT = { requests: { cpu: '250m', memory: '16Mi' }, limits: { memory: '32Mi' } };
const SMALL = { requests: { memory: '0' }, limits: { memory: '16Mi' } };
const SLEEP = 'exec sleep 1000';
/** More than `soft` may have of the memory: the rest goes to the swap, of which it may have 9 MiB. */
const FILL = `dd if=/dev/zero of=/dev/shm/fill bs=1M count=34; ${SLEEP}`;
const RUNNING = ['firm', 'soft', 'poor'];
const EATER = 'eater';
const PODS = {
  firm: busyboxPod('firm', SLEEP, { resources: { requests: FULL, limits: FULL } }),
  soft: busyboxPod('soft', FILL, { resources: SOFT }),
  poor: busyboxPod('poor', SLEEP),
  [EATER]: busyboxPod(
    EATER,
    'sleep 1000 & exec tail /dev/zero',
    { resources: SMALL },
    { restartPolicy: 'Never' },
  ),
};

/** It comes when containers use no swap any more. */
const DRY = 'dry';
const place = (name: string, pod: object) =>
  writeFileSync(join(MANIFESTS, `${name}.json`), JSON.stringify(pod));
const podOf = (summary: Summary | undefined, name: string) =>
  summary?.pods.find(({ podRef }) => podRef.name === name);

const stateOf = (pod: Pod | undefined) => pod?.status?.containerStatuses?.[0];
const isSettled = (pod: Pod) =>
  stateOf(pod)?.state?.[pod.metadata.name === EATER ? 'terminated' : 'running'] !== undefined;
const idOf = (pod: Pod | undefined) => stateOf(pod)?.containerID?.replace('containerd://', '') ?? '';

const MEMORY = ['memory.max', 'memory.min', 'memory.low'];
const FILES = [...MEMORY, 'cpu.weight', 'cpu.max', 'pids.max'];
const OF_CONTAINERS = [...MEMORY, 'cpu.max', 'memory.high', 'memory.swap.max', 'memory.oom.group'];
const readAll = (group: string, files: readonly string[]) =>
  Object.fromEntries(files.map((file) => [file, readFileSync(join(CGROUPS, group, file), 'utf8').trim()]));
const ofEach = <T>(names: readonly string[], read: (name: string) => T) =>
  Object.fromEntries(names.map((name) => [name, read(name)]));

function bytesOf(key: string): number {
  const kibibytes = new RegExp(`^${key}: +(\\d+) kB`, 'm').exec(readFileSync('/proc/meminfo', 'utf8'))?.[1];
  return Number(kibibytes) * 1024;
}

await reportOf(async () => {
  mkdirSync(MANIFESTS);
  for (const [name, pod] of Object.entries(PODS)) place(name, pod);
  await node.startContainerd();
  const agent = node.startAgent('--pods', MANIFESTS);
  const count = Object.keys(PODS).length;
  const before = await node.pods(count, 'pods that run', isSettled);
  const groupOf = (name: string) => podCgroup(layout, before.get(name)!);
  const groupOfContainer = (pod: Pod) =>
    `${podCgroup(layout, pod)}/${scopeName('cri-containerd-', idOf(pod))}`;
  const { kubepods, byClass } = layout;
  const above = { kubepods, burstable: byClass.Burstable, besteffort: byClass.BestEffort };
  const summary = await waitFor(
    async () => {
      const soft = podOf(await node.ask<Summary>('/stats/summary'), 'soft');
      const swapped = soft?.containers?.[0]?.swap?.swapUsageBytes ?? 0;
      // The shell and the sleep of the sandbox, and the sleep of the container.
      return swapped > 0 && soft?.process_stats?.process_count === 3 && soft;
    },
    { what: 'a container that uses swap', pauseMs: 300 },
  );
  const found = {
    groups: Object.fromEntries(Object.entries(above).map(([name, group]) => [name, readAll(group, FILES)])),
    pods: ofEach(RUNNING, (name) => readAll(groupOf(name), FILES)),
    containers: ofEach(RUNNING, (name) => readAll(groupOfContainer(before.get(name)!), OF_CONTAINERS)),
    eater: stateOf(before.get(EATER))?.state?.terminated,
    summary,
    metrics: await node.askOwner('/metrics/resource'),
    node: JSON.parse(await node.askOwner('/node/object')) as object,
    capacity: { memory: bytesOf('MemTotal'), swap: bytesOf('SwapTotal') },
  };
  agent.kill('SIGKILL');
  place(DRY, busyboxPod(DRY, SLEEP, { resources: SOFT }));
  const second = new KernelNode('/tmp', WITHOUT_SWAP, 'systemd').startAgent('--pods', MANIFESTS);
  const after = await node.pods(count + 1, 'adopted pods', isSettled);
  const isAdopted = RUNNING.map((name) => idOf(after.get(name)) === idOf(before.get(name)));
  const withoutSwap = ofEach(['soft', DRY], (name) =>
    readFileSync(join(CGROUPS, groupOfContainer(after.get(name)!), 'memory.swap.max'), 'utf8').trim(),
  );
  for (const file of readdirSync(MANIFESTS)) rmSync(join(MANIFESTS, file));
  const isGone = () => !RUNNING.some((name) => existsSync(join(CGROUPS, groupOf(name))));
  await waitFor(isGone, { what: 'removed groups', pauseMs: 300 });
  second.kill();
  return { ...found, isAdopted, withoutSwap };
});
