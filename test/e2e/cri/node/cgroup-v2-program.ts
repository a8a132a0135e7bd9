/** A node on cgroup v2, with containerd and runc. Runs as the first program of a machine of its own; see cgroup-v2.test.ts. */
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { json } from 'node:stream/consumers';
import { join } from 'node:path';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import type { Summary } from '../../../../src/types/stats.ts';
import { criHasImage, criServes } from '../../../support/containerd/cri-probe.ts';
import { archive, BUSYBOX, PAUSE, standardImages } from '../../../support/containerd/images.ts';
import { report } from '../../../support/kernel-report.ts';
import { waitFor } from '../../../support/wait-for.ts';

const [, , REPOSITORY = ''] = process.argv;
const TOP = '/sys/fs/cgroup';
const MANIFESTS = '/tmp/manifests';
const SOCKET = '/tmp/containerd/containerd.sock';
const ENDPOINT = `unix://${SOCKET}`;

const CONTAINERD = `version = 2
root = "/tmp/containerd/root"
state = "/tmp/containerd/state"
disabled_plugins = [${['aufs', 'btrfs', 'devmapper', 'zfs'].map((name) => `"io.containerd.snapshotter.v1.${name}"`).join()}]
[grpc]
address = "${SOCKET}"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "${PAUSE}"
[plugins."io.containerd.grpc.v1.cri".cni]
conf_dir = "/tmp/containerd/cni"
[plugins."io.containerd.grpc.v1.cri".containerd]
snapshotter = "native"
`;
/** Pods are on the node's network: no plugin is run. */
const CNI = { cniVersion: '0.4.0', name: 'none', plugins: [{ type: 'bridge' }] };

const CONFIGURATION = {
  apiVersion: 'kubelet.config.k8s.io/v1beta1',
  kind: 'KubeletConfiguration',
  featureGates: { MemoryQoS: true },
  memoryReservationPolicy: 'TieredReservation',
  memoryThrottlingFactor: 1,
  memorySwap: { swapBehavior: 'LimitedSwap' },
  failSwapOn: false,
  podPidsLimit: 50,
};

type Amounts = Readonly<Record<string, string>>;

function manifest(
  name: string,
  script: string,
  requests: Amounts,
  limits: Amounts,
  restartPolicy = 'Always',
) {
  const container = { name: 'main', image: BUSYBOX, imagePullPolicy: 'Never', command: ['sh', '-c', script] };
  const containers = [{ ...container, resources: { requests, limits } }];
  const spec = { hostNetwork: true, restartPolicy, terminationGracePeriodSeconds: 1, containers };
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec };
}

const FULL = { cpu: '100m', memory: '16Mi' };
const SLEEP = 'exec sleep 1000';
const PODS = [
  manifest('firm', SLEEP, FULL, FULL),
  manifest('soft', SLEEP, { cpu: '250m', memory: '16Mi' }, { memory: '32Mi' }),
  manifest('poor', SLEEP, {}, {}),
  manifest('eater', 'sleep 1000 & exec tail /dev/zero', { memory: '8Mi' }, { memory: '16Mi' }, 'Never'),
];

/** In a group of its own beside that of the pods. */
function start(group: string, command: readonly string[]) {
  mkdirSync(join(TOP, group), { recursive: true });
  const log = openSync(`/tmp/${group}.log`, 'a');
  const script = `echo $$ > ${TOP}/${group}/cgroup.procs && exec "$@"`;
  return spawn('sh', ['-c', script, 'sh', ...command], { stdio: ['ignore', log, log] });
}

async function startContainerd(): Promise<void> {
  mkdirSync('/tmp/containerd/cni', { recursive: true });
  writeFileSync('/tmp/containerd/cni/none.conflist', JSON.stringify(CNI));
  writeFileSync('/tmp/containerd/config.toml', CONTAINERD);
  start('containerd', ['containerd', '--config', '/tmp/containerd/config.toml']);
  await waitFor(() => criServes(ENDPOINT), { what: 'containerd', pauseMs: 200 });
  const images = standardImages().filter(({ ref }) => [BUSYBOX, PAUSE].includes(ref));
  const ctr = ['--address', SOCKET, '--namespace', 'k8s.io', 'images', 'import', '-'];
  execFileSync('ctr', ctr, { input: archive(images), stdio: ['pipe', 'ignore', 'inherit'] });
  for (const { ref } of images) await waitFor(() => criHasImage(ENDPOINT, ref), { what: ref, pauseMs: 200 });
}

function startAgent() {
  const bin = join(REPOSITORY, 'bin/statelet.js');
  const flags = ['--root-dir', '/tmp/root', '--config', '/tmp/kubelet.yaml', '--pods', MANIFESTS];
  const runtime = ['--container-runtime-endpoint', ENDPOINT, '--hostname-override', 'node'];
  return start('agent', [process.execPath, '--jitless', bin, 'run', ...flags, ...runtime]);
}

function ask<T>(path: string): Promise<T | undefined> {
  return new Promise((resolve) => {
    get({ host: '127.0.0.1', port: 10_248, path }, (answer) => resolve(json(answer) as Promise<T>)).on(
      'error',
      () => resolve(undefined),
    );
  });
}

/** The pods by their names, once each is as wanted. */
function pods(what: string, isAsWanted: (pod: Pod) => boolean): Promise<ReadonlyMap<string, Pod>> {
  return waitFor(
    async () => {
      const items = (await ask<{ items: Pod[] }>('/pods'))?.items ?? [];
      if (items.length < PODS.length || !items.every(isAsWanted)) return undefined;
      return new Map(items.map((pod) => [pod.metadata.name, pod]));
    },
    { what, pauseMs: 300 },
  );
}

const stateOf = (pod: Pod) => pod.status?.containerStatuses?.[0];
const isSettled = (pod: Pod) =>
  pod.metadata.name === 'eater'
    ? stateOf(pod)?.state?.terminated !== undefined
    : stateOf(pod)?.state?.running !== undefined;
const idOf = (pod: Pod | undefined) => (pod && stateOf(pod)?.containerID)?.replace('containerd://', '') ?? '';

const FILES = ['cpu.weight', 'cpu.max', 'memory.max', 'memory.min', 'memory.low', 'pids.max'];
const OF_CONTAINERS = [...FILES.slice(1), 'memory.high', 'memory.swap.max', 'memory.oom.group'];
const read = (group: string, file: string) => readFileSync(join(TOP, group, file), 'utf8').trim();
const readAll = (group: string, files: readonly string[]) =>
  Object.fromEntries(files.map((file) => [file, read(group, file)]));

function bytesOf(key: string): number {
  return (
    Number(new RegExp(`^${key}: +(\\d+) kB`, 'm').exec(readFileSync('/proc/meminfo', 'utf8'))?.[1]) * 1024
  );
}

async function main(): Promise<object> {
  mkdirSync(MANIFESTS);
  for (const pod of PODS) writeFileSync(join(MANIFESTS, `${pod.metadata.name}.json`), JSON.stringify(pod));
  writeFileSync('/tmp/kubelet.yaml', JSON.stringify(CONFIGURATION));
  execFileSync('busybox', ['ip', 'link', 'set', 'lo', 'up']);
  await startContainerd();
  const agent = startAgent();
  const before = await pods('pods that run', isSettled);
  const groupOf = (name: string) => {
    const { qosClass = '' } = before.get(name)?.status ?? {};
    const parent = qosClass === 'Guaranteed' ? 'kubepods' : `kubepods/${qosClass.toLowerCase()}`;
    return `${parent}/pod${before.get(name)?.metadata.uid ?? ''}`;
  };
  const running = ['firm', 'soft', 'poor'];
  const groups = ['kubepods', 'kubepods/burstable', 'kubepods/besteffort'];
  const summary = await ask<Summary>('/stats/summary');
  const found = {
    groups: Object.fromEntries(groups.map((group) => [group, readAll(group, FILES)])),
    pods: Object.fromEntries(running.map((name) => [name, readAll(groupOf(name), FILES)])),
    containers: Object.fromEntries(
      running.map((name) => [name, readAll(`${groupOf(name)}/${idOf(before.get(name))}`, OF_CONTAINERS)]),
    ),
    eater: stateOf(before.get('eater')!)?.state?.terminated,
    summary: summary?.pods.find(({ podRef }) => podRef.uid === before.get('soft')?.metadata.uid),
    capacity: { memory: bytesOf('MemTotal'), swap: bytesOf('SwapTotal') },
  };
  agent.kill('SIGKILL');
  const second = startAgent();
  const after = await pods('adopted pods', isSettled);
  const isAdopted = running.map((name) => idOf(after.get(name)) === idOf(before.get(name)));
  for (const file of readdirSync(MANIFESTS)) rmSync(join(MANIFESTS, file));
  await waitFor(() => !running.some((name) => existsSync(join(TOP, groupOf(name)))), {
    what: 'removed groups',
    pauseMs: 300,
  });
  second.kill();
  return { ...found, isAdopted };
}

try {
  report(await main());
} catch (error) {
  console.error(
    error,
    readFileSync('/tmp/agent.log', 'utf8'),
    readFileSync('/tmp/containerd.log', 'utf8').slice(-4000),
  );
}
process.exit();
