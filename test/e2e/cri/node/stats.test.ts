/** The stats of pods, compared with pods of known usage. */
import { totalmem } from 'node:os';
import { expect, test } from '@jest/globals';
import type { MemoryCrossing } from '../../../../src/agent/runtime/stats/memory-watch.ts';
import { openStatsProvider } from '../../../../src/agent/runtime/stats/kernel-stats.ts';
import { systemClock } from '../../../../src/system/timer.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import type { RuntimePodStatus } from '../../../../src/types/runtime-pod.ts';
import type { PodStats, Summary } from '../../../../src/types/stats.ts';
import { type CriDaemonBed, SERVING } from '../../../support/cri-daemon.ts';
import { describeOnContainerd } from '../../../support/cri-suite.ts';
import { type Daemon } from '../../../support/daemon.ts';
import { keepFilesOnDisk } from '../../../support/files-in-memory.ts';
import { runtimePodStatus } from '../../../support/runtime-pod-status.ts';
import { waitFor } from '../../../support/wait-for.ts';
import { testContext } from '../../../support/test-context.ts';

keepFilesOnDisk();

const KIB = 2 ** 10;
const MIB = 2 ** 20;
/** dd fills its buffer and keeps it, as its output is not read. */
const HOLD_64_MIB = `dd if=/dev/zero bs=64M count=1 | sleep 1000 & ${SERVING}`;

describeOnContainerd('figures of real containers', ({ containerd, openBed }) => {
  let bed: CriDaemonBed;
  let daemon: Daemon;

  async function start(): Promise<void> {
    bed = openBed();
    daemon = await bed.start();
  }

  /** A stats provider of the test, beside that of the daemon. */
  const openProvider = (pods: () => RuntimePodStatus[]) =>
    openStatsProvider(testContext({ clock: systemClock }), {
      nodeName: 'node',
      rootDir: bed.rootDir,
      podLogsDir: bed.podLogsDir,
      cgroupRoot: containerd.cgroupRoot,
      runtime: bed.runtime,
      pods,
    });

  const summary = async (query = '') =>
    (await (await daemon.fetch(`/stats/summary${query}`)).json()) as Summary;

  /** The stats of the pod, when they match. */
  function figures(
    { metadata }: Pod,
    what: string,
    isWanted: (stats: PodStats) => boolean,
  ): Promise<PodStats> {
    const look = async () =>
      (await summary()).pods.find((stats) => stats.podRef.uid === metadata.uid && isWanted(stats));
    return waitFor(look, { what, pauseMs: 100 });
  }

  test('a pod that uses 64 MiB has at least that working set, and so have its container, all pods and the node', async () => {
    await start();
    const limits = { memory: '128Mi' };
    bed.apply('hungry', { containers: [bed.shell(HOLD_64_MIB, { resources: { limits } })] });
    bed.apply('modest', { containers: [bed.server()] });
    const hungry = await daemon.running('hungry');
    const modest = await daemon.running('modest');
    // The kernel adds up the counters of its CPUs at intervals, for each cgroup at another time.
    const isFull = ({ memory, containers = [] }: PodStats) =>
      [memory, ...containers.map((container) => container.memory)].every(
        (figure) => (figure?.workingSetBytes ?? 0) >= 64 * MIB && (figure?.rssBytes ?? 0) >= 64 * MIB,
      );
    const stats = await figures(hungry, 'hungry to have its memory', isFull);
    const [container] = stats.containers ?? [];
    for (const memory of [stats.memory, container?.memory]) {
      expect(memory?.workingSetBytes).toBeGreaterThanOrEqual(64 * MIB);
      expect(memory?.workingSetBytes).toBeLessThan(80 * MIB);
      expect(memory?.rssBytes).toBeGreaterThanOrEqual(64 * MIB);
      expect(memory?.rssBytes).toBeLessThanOrEqual(memory?.usageBytes ?? 0);
      expect(memory?.pageFaults).toBeGreaterThan(0);
      expect(memory?.availableBytes).toBe(128 * MIB - (memory?.workingSetBytes ?? 0));
    }
    expect(container?.cpu?.usageCoreNanoSeconds).toBeGreaterThan(0);
    const other = await figures(modest, 'figures of modest', ({ memory }) => memory !== undefined);
    expect(other.memory?.workingSetBytes).toBeLessThan(16 * MIB);
    expect(other.memory).not.toHaveProperty('availableBytes');

    const { node } = await summary('?only_cpu_and_memory=true');
    const [pods] = node.systemContainers ?? [];
    expect(pods?.name).toBe('pods');
    expect(pods?.memory?.workingSetBytes).toBeGreaterThanOrEqual(64 * MIB);
    expect(pods?.memory?.workingSetBytes).toBeLessThan(128 * MIB);
    expect(node.memory?.workingSetBytes).toBeGreaterThan(64 * MIB);
    expect(node.memory?.availableBytes).toBe(totalmem() - (node.memory?.workingSetBytes ?? 0));
    expect(node).not.toHaveProperty('fs');
  });

  test('the disk usage of a pod shows its layer, volumes, memory and log separately', async () => {
    await start();
    const script = [
      'dd if=/dev/zero of=/layer bs=1M count=10',
      'dd if=/dev/zero of=/data/file bs=1M count=5',
      'dd if=/dev/zero of=/memory/file bs=1M count=3',
      'head -c 200000 /dev/zero | tr "\\0" x',
      'echo; echo written',
      SERVING,
    ].join('; ');
    const volumeMounts = ['data', 'memory'].map((name) => ({ name, mountPath: `/${name}` }));
    bed.apply('writer', {
      containers: [bed.shell(script, { volumeMounts })],
      volumes: [
        { name: 'data', emptyDir: {} },
        { name: 'memory', emptyDir: { medium: 'Memory' } },
      ],
    });
    const pod = await daemon.running('writer');
    const hasWritten = () => bed.containerLog(pod.metadata, 'main').includes(' F written\n');
    await waitFor(hasWritten, { what: 'the pod to have written' });
    const layer = ({ containers }: PodStats) => containers?.[0]?.rootfs?.usedBytes ?? 0;
    const isWritten = (stats: PodStats) => layer(stats) >= 10 * MIB;
    const stats = await figures(pod, 'containerd to have seen the layer', isWritten);
    const [container] = stats.containers ?? [];
    expect(layer(stats)).toBeLessThan(20 * MIB);
    expect(container?.rootfs?.inodesUsed).toBeGreaterThan(0);
    expect(container?.logs?.usedBytes).toBeGreaterThanOrEqual(200_000);
    expect(container?.logs?.usedBytes).toBeLessThan(MIB);
    const volumes = new Map(stats.volume?.map((volume) => [volume.name, volume]));
    expect(volumes.get('data')).toMatchObject({ inodesUsed: 2 });
    expect(volumes.get('data')?.usedBytes).toBeGreaterThanOrEqual(5 * MIB);
    expect(volumes.get('data')?.usedBytes).toBeLessThan(5 * MIB + 64 * KIB);
    expect(volumes.get('memory')?.usedBytes).toBe(3 * MIB);
    expect(volumes.get('memory')?.capacityBytes).not.toBe(volumes.get('data')?.capacityBytes);
    const onDisk = layer(stats) + (volumes.get('data')?.usedBytes ?? 0) + (container?.logs?.usedBytes ?? 0);
    expect(stats['ephemeral-storage']?.usedBytes).toBe(onDisk);

    const { node } = await summary();
    expect(node.fs?.usedBytes).toBeGreaterThan(10 * MIB);
    expect(node.runtime?.imageFs?.capacityBytes).toBeGreaterThan(0);
    expect(node.runtime?.containerFs?.availableBytes).toBeGreaterThan(0);
  });

  test('the number of processes of a pod includes all of them', async () => {
    await start();
    bed.apply('few', { containers: [bed.server()] });
    bed.apply('many', {
      containers: [bed.shell(`for n in 1 2 3 4 5 6 7; do sleep 1000 & done; ${SERVING}`)],
    });
    const [few, many] = await Promise.all([daemon.running('few'), daemon.running('many')]);
    const count = async ({ metadata: { uid } }: Pod) =>
      (await summary()).pods.find(({ podRef }) => podRef.uid === uid)?.process_stats?.process_count ?? 0;
    await waitFor(async () => (await count(few)) > 2 && (await count(many)) - (await count(few)) === 7, {
      what: 'seven processes more',
    });
    const { rlimit } = (await summary()).node;
    expect(rlimit?.curproc).toBeGreaterThan(10);
    expect(rlimit?.maxpid).toBeGreaterThan(rlimit?.curproc ?? 0);
  });

  test('the rate of I/O is that of the pod that writes, and of no other', async () => {
    await start();
    const write = 'dd if=/dev/zero of=/data/file bs=1M count=8 conv=fsync';
    const script = `while :; do ${write} 2>/dev/null; sleep 0.1; done & ${SERVING}`;
    bed.apply('writer', {
      containers: [bed.shell(script, { volumeMounts: [{ name: 'data', mountPath: '/data' }] })],
      volumes: [{ name: 'data', emptyDir: {} }],
    });
    bed.apply('idle', { containers: [bed.server()] });
    const pods = [await daemon.running('writer'), await daemon.running('idle')];
    const provider = openProvider(() =>
      pods.map(({ metadata: { uid } }) => ({ ...runtimePodStatus({ sandboxes: [{ id: 's' }] }), uid })),
    );
    try {
      // A busy disk may take longer for a file, and the kernel may have to read the program of the idle pod again.
      const areApart = async () => {
        const { pods: figures } = await provider.summary({ onlyCPUAndMemory: true, ioOverMs: 1000 });
        const [writer = 0, idle = Infinity] = figures.map(({ io }) => io?.bytesPerSecond);
        return writer > 4 * MIB && idle < MIB;
      };
      await waitFor(areApart, { what: 'a rate of the pod that writes, and none of the other' });
    } finally {
      await provider.close();
    }
    expect((await summary()).pods.map(({ io }) => io?.bytesPerSecond)).toEqual([undefined, undefined]);
  });

  test('a pod with its own network has the figures of its traffic, and a pod with hostNetwork has none', async () => {
    await start();
    const serve = 'mkdir /www; dd if=/dev/zero of=/www/file bs=1M count=4; httpd -p 8080 -h /www';
    bed.apply('server', { hostNetwork: false, containers: [bed.shell(`${serve}; ${SERVING}`)] });
    bed.apply('idle', { hostNetwork: false, containers: [bed.server()] });
    bed.apply('beside', { containers: [bed.server()] });
    const server = await daemon.running('server');
    const idle = await daemon.running('idle');
    const beside = await daemon.running('beside');
    const url = `http://${server.status?.podIP ?? ''}:8080/file`;
    const fetched = await waitFor(() => fetch(url).catch(() => undefined), { what: 'the server to listen' });
    expect((await fetched.arrayBuffer()).byteLength).toBe(4 * MIB);

    const { network } = await figures(
      server,
      'figures of the server',
      ({ network: { txBytes = 0 } = {} }) => txBytes > 0,
    );
    expect(network).toMatchObject({ name: 'eth0', rxErrors: 0, txErrors: 0 });
    expect(network?.txBytes).toBeGreaterThan(4 * MIB);
    expect(network?.txBytes).toBeLessThan(8 * MIB);
    expect(network?.rxBytes).toBeLessThan(MIB);
    expect(network?.interfaces?.map(({ name }) => name)).toEqual(['eth0']);
    const other = await figures(idle, 'figures of idle', (stats) => stats.network !== undefined);
    expect(other.network?.txBytes).toBeLessThan(MIB);
    const { node, pods } = await summary();
    expect(pods.find(({ podRef: { uid } }) => uid === beside.metadata.uid)).not.toHaveProperty('network');
    const names = node.network?.interfaces?.map(({ name }) => name) ?? [];
    expect(names.length).toBeGreaterThan(0);
    expect(names.filter((name) => /^(lo$|veth)/.test(name ?? ''))).toEqual([]);
    const few = await summary('?only_cpu_and_memory=true');
    expect([few.node, ...few.pods].filter(({ network: any }) => any !== undefined)).toEqual([]);
  });

  test('the memory watch reports when pods use their available memory, and when they free it', async () => {
    await start();
    bed.apply('modest', { containers: [bed.server()] });
    await daemon.running('modest');
    const provider = openProvider(() => []);
    try {
      const signal = 'allocatableMemory.available';
      const before = provider.memoryAvailable(signal);
      expect(before?.capacityBytes).toBeGreaterThan(0);
      const thresholdBytes = (before?.availableBytes ?? 0) - 32 * MIB;
      const crossings: MemoryCrossing[] = [];
      provider.watchMemory([{ signal, thresholdBytes }], (crossing) => void crossings.push(crossing));
      expect(crossings).toEqual([]);
      bed.apply('hungry', { containers: [bed.shell(HOLD_64_MIB)] });
      await waitFor(() => crossings.length === 1, { what: 'the crossing' });
      expect(crossings[0]).toMatchObject({ signal, thresholdBytes, isBelow: true });
      expect(crossings[0]?.availableBytes).toBeLessThan(thresholdBytes);
      bed.withdraw('hungry');
      await waitFor(() => crossings.length === 2, { what: 'its end' });
      expect(crossings[1]).toMatchObject({ isBelow: false });
    } finally {
      await provider.close();
    }
  });
});
