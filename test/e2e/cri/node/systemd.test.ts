import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import { podCgroup, qosCgroups } from '../../../../src/agent/policies/cgroups/cgroup-names.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import type { PodStats, Summary } from '../../../../src/types/stats.ts';
import { type ContainerdBed, startContainerd } from '../../../support/containerd/containerd.ts';
import { CriDaemonBed, SERVING } from '../../../support/cri-daemon.ts';
import { type Daemon, type LogLine, statelet, wasOOMKilled } from '../../../support/daemon.ts';
import { SystemdMachine } from '../../../support/systemd/machine.ts';
import { describeWithSystemd } from '../../../support/systemd/suite.ts';
import { waitFor } from '../../../support/wait-for.ts';

const MIB = 2 ** 20;
/** dd fills its buffer and keeps it, as its output is not read. */
const HOLD_64_MIB = `dd if=/dev/zero bs=64M count=1 | sleep 1000 & ${SERVING}`;
const FULL = { cpu: '500m', memory: '64Mi' };
const SLICES = qosCgroups('/', 'systemd');

describeWithSystemd('with systemd as process 1', () => {
  let machine: SystemdMachine;
  let containerd: ContainerdBed;
  let bed: CriDaemonBed;
  let daemon: Daemon;

  beforeAll(async () => {
    containerd = await startContainerd({
      config: 'SystemdCgroup = true\n',
      machine: async (dir, cgroup) => (machine = await SystemdMachine.start(dir, cgroup)),
    });
  });
  afterAll(() => containerd.stop());
  afterEach(() => bed.cleanUp());

  async function setDriver(driver: 'cgroupfs' | 'systemd'): Promise<void> {
    const config = join(containerd.dir, 'config.toml');
    const text = readFileSync(config, 'utf8').replace(
      /SystemdCgroup = \w+/,
      `SystemdCgroup = ${driver === 'systemd'}`,
    );
    writeFileSync(config, text);
    await containerd.restart();
  }

  async function start(config: Readonly<Record<string, unknown>> = {}, ...flags: string[]): Promise<void> {
    bed = new CriDaemonBed(containerd, { config: { cgroupDriver: 'systemd', cgroupRoot: '/', ...config } });
    daemon = await bed.start(...flags);
  }

  const file = (controller: string, group: string, name = '') =>
    join('/sys/fs/cgroup', controller, containerd.cgroupRoot, group, name);
  const read = (controller: string, group: string, name: string) =>
    readFileSync(file(controller, group, name), 'utf8').trim();
  const scopeOf = (pod: Pod) => join(podCgroup(SLICES, pod), `cri-containerd-${bed.idOf(pod)}.scope`);
  const unitOf = (pod: Pod) => podCgroup(SLICES, pod).split('/').at(-1) ?? '';

  test('pods of each QoS class run in slices with their limits, which systemd knows', async () => {
    await start({ podPidsLimit: 77, kubeReserved: { memory: '256Mi' } });
    bed.apply('guaranteed', { containers: [bed.server({ resources: { limits: FULL, requests: FULL } })] });
    bed.apply('burstable', { containers: [bed.server({ resources: { requests: { cpu: '250m' } } })] });
    bed.apply('besteffort', { containers: [bed.server()] });
    const pods = await Promise.all(
      ['guaranteed', 'burstable', 'besteffort'].map((name) => daemon.running(name)),
    );
    for (const pod of pods) {
      const group = podCgroup(SLICES, pod);
      for (const controller of ['cpu', 'memory', 'pids', 'cpuset', 'systemd']) {
        expect(read(controller, scopeOf(pod), 'cgroup.procs')).not.toBe('');
      }
      expect(read('pids', group, 'pids.max')).toBe('77');
      expect(await machine.show(unitOf(pod), 'TasksMax')).toBe('77');
      expect(await machine.show(unitOf(pod), 'ActiveState')).toBe('active');
    }
    const [guaranteed, burstable] = pods.map(unitOf);
    expect(await machine.show(guaranteed ?? '', 'MemoryLimit')).toBe(String(64 * MIB));
    expect(await machine.show(guaranteed ?? '', 'CPUShares')).toBe('512');
    expect(await machine.show(guaranteed ?? '', 'CPUQuotaPerSecUSec')).toBe('500ms');
    expect(await machine.show(burstable ?? '', 'CPUShares')).toBe('256');
    expect(await machine.show('kubepods-burstable.slice', 'CPUShares')).toBe('256');
    expect(await machine.show('kubepods-besteffort.slice', 'CPUShares')).toBe('2');
    const all = await machine.show('kubepods.slice', 'MemoryLimit');
    expect(read('memory', '/kubepods.slice', 'memory.limit_in_bytes')).toBe(all);

    for (const name of ['guaranteed', 'burstable', 'besteffort']) bed.withdraw(name);
    await daemon.onlyPods();
    for (const pod of pods) {
      await waitFor(() => !existsSync(file('cpuset', podCgroup(SLICES, pod))), { what: 'the slice to go' });
      expect(await machine.show(unitOf(pod), 'ActiveState')).toBe('inactive');
    }
  });

  test('figures of pods and containers are those of their slices and scopes', async () => {
    await start();
    const limits = { memory: '128Mi' };
    bed.apply('hungry', { containers: [bed.shell(HOLD_64_MIB, { resources: { limits } })] });
    const pod = await daemon.running('hungry');
    const isFull = (found: PodStats | undefined) =>
      [found?.memory, found?.containers?.[0]?.memory].every(
        (memory) => (memory?.workingSetBytes ?? 0) >= 64 * MIB,
      );
    const look = async () => {
      const { pods } = (await (await daemon.fetch('/stats/summary')).json()) as Summary;
      const found = pods.find(({ podRef }) => podRef.uid === pod.metadata.uid);
      return isFull(found) ? found : undefined;
    };
    const stats = await waitFor(look, { what: 'the figures of the pod', pauseMs: 100 });
    for (const { memory, cpu } of [stats, ...(stats.containers ?? [])]) {
      expect(memory?.availableBytes).toBe(128 * MIB - (memory?.workingSetBytes ?? 0));
      expect(cpu?.usageCoreNanoSeconds).toBeGreaterThan(0);
    }
  });

  test('pods and their slices are adopted after a restart and after kill -9', async () => {
    await start();
    bed.apply('lasting', { containers: [bed.server({ resources: { requests: { cpu: '1' } } })] });
    const id = bed.idOf(await daemon.running('lasting'));
    await daemon.end('SIGKILL');
    daemon = await bed.startToLeavePods();
    expect(bed.idOf(await daemon.running('lasting'))).toBe(id);
    await daemon.end('SIGTERM');
    daemon = await bed.start();
    const pod = await daemon.running('lasting');
    expect(bed.idOf(pod)).toBe(id);
    expect(await machine.show('kubepods-burstable.slice', 'CPUShares')).toBe('1024');
    bed.withdraw('lasting');
    await daemon.onlyPods();
    expect(await machine.show('kubepods-burstable.slice', 'CPUShares')).toBe('2');
  });

  test('a container that is out of memory has the reason OOMKilled', async () => {
    await start();
    const resources = { limits: { memory: '24Mi' } };
    bed.apply('greedy', {
      restartPolicy: 'OnFailure',
      containers: [bed.shell('exec tail /dev/zero', { resources })],
    });
    await daemon.until('greedy', 'killed for it', wasOOMKilled);
  });

  test('a pod that takes what kubepods.slice has left is evicted', async () => {
    const reserved = `${Math.floor(totalmem() / MIB) - 300}Mi`;
    const config = { kubeReserved: { memory: reserved }, evictionHard: { 'memory.available': '150Mi' } };
    const pods = join(containerd.dir, 'ordinary.json');
    const spec = { hostNetwork: true, restartPolicy: 'Never' };
    const container = { name: 'main', image: containerd.image, command: ['sh', '-c', HOLD_64_MIB] };
    const containers = ['a', 'b', 'c'].map((name) => ({ ...container, name }));
    writeFileSync(
      pods,
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'greedy' },
        spec: { ...spec, containers },
      }),
    );
    await start(config, '--pods', pods);
    const { status } = await daemon.inPhase('greedy', 'Failed');
    expect(status).toMatchObject({ reason: 'Evicted' });
    expect(status?.message).toContain('The node was low on resource: memory');
  });

  test('the slice of daemons that is named is limited to what is reserved, and no slice is made up', async () => {
    await machine.systemctl('start', 'podruntime.slice');
    await machine.systemctl(
      'set-property',
      '--runtime',
      'podruntime.slice',
      'MemoryAccounting=yes',
      'CPUAccounting=yes',
    );
    const reserved = {
      kubeReserved: { cpu: '500m', memory: '256Mi' },
      kubeReservedCgroup: '/podruntime.slice',
      enforceNodeAllocatable: ['pods', 'kube-reserved'],
    };
    await start(reserved);
    expect(await machine.show('podruntime.slice', 'MemoryLimit')).toBe(String(256 * MIB));
    expect(await machine.show('podruntime.slice', 'CPUShares')).toBe('512');
    await daemon.end();
    bed.configure({ kubeReservedCgroup: '/missing.slice' });
    const refused = bed.launch(['--pod-manifest-path', bed.manifestDir]);
    await expect(refused.ended).resolves.not.toBe(0);
    expect(refused.stdout + refused.stderr).toContain(
      'kubeReservedCgroup \\"/missing.slice\\" does not exist',
    );
    bed.configure({ enforceNodeAllocatable: ['pods'] });
  });

  test('systemd that executes itself anew is waited for, and pods go on', async () => {
    await start();
    bed.apply('before', { containers: [bed.server()] });
    const id = bed.idOf(await daemon.running('before'));
    const again = machine.systemctl('daemon-reexec');
    bed.apply('meanwhile', { containers: [bed.server()] });
    await again;
    bed.apply('after', { containers: [bed.server()] });
    const pods = [await daemon.running('meanwhile'), await daemon.running('after')];
    expect(bed.idOf(await daemon.running('before'))).toBe(id);
    for (const pod of pods) expect(await machine.show(unitOf(pod), 'ActiveState')).toBe('active');
  });

  test('while systemd is away pods that run go on, and others wait and say for what', async () => {
    await start();
    bed.apply('running', { containers: [bed.server()] });
    const id = bed.idOf(await daemon.running('running'));
    await machine.run('mv', '/run/systemd/private', '/run/systemd/away');
    // A connection that is open goes on.
    await daemon.end('SIGKILL');
    daemon = await bed.start();
    bed.apply('waiting', { containers: [bed.server()] });
    const { msg } = await daemon.event('waiting', 'FailedCreatePodContainer');
    expect(msg).toContain(
      'systemd, which makes the cgroups of pods (cgroupDriver: systemd), does not answer',
    );
    const why = await statelet('why', 'waiting-node-a', '--root-dir', bed.rootDir);
    expect(why.stdout).toContain('does not answer');
    expect(bed.idOf(await daemon.running('running'))).toBe(id);
    await machine.run('mv', '/run/systemd/away', '/run/systemd/private');
    await daemon.running('waiting');
  });

  test('a slice that has been stopped is made again, and so are those above it, with their limits', async () => {
    await start({ podPidsLimit: 55 });
    bed.apply('stopped', { containers: [bed.server({ resources: { requests: { cpu: '1' } } })] });
    const before = bed.idOf(await daemon.running('stopped'));
    await machine.systemctl('stop', 'kubepods.slice');
    const pod = await daemon.until('stopped', 'running anew', (found) => {
      const { containerID = '', state } = found.status?.containerStatuses?.[0] ?? {};
      return state?.running !== undefined && !containerID.endsWith(before);
    });
    expect(read('pids', podCgroup(SLICES, pod), 'pids.max')).toBe('55');
    expect(await machine.show(unitOf(pod), 'ActiveState')).toBe('active');
    expect(await machine.show('kubepods.slice', 'MemoryLimit')).not.toBe('infinity');
  });

  test('another driver than the runtime keeps the node from being Ready, until the runtime has the same', async () => {
    bed = new CriDaemonBed(containerd, { config: { cgroupDriver: 'cgroupfs', cgroupRoot: '/' } });
    daemon = bed.launch(['--pod-manifest-path', bed.manifestDir, '--exit-with-pods']);
    await daemon.serves();
    const isMismatch = ({ problem = '' }: LogLine) => problem.includes('CgroupDriverMismatch');
    const { problem } = await daemon.logged('the mismatch', isMismatch);
    expect(problem).toContain('SystemdCgroup = false');
    bed.apply('waiting', { containers: [bed.server()] });
    await setDriver('cgroupfs');
    const pod = await daemon.running('waiting');
    expect(existsSync(file('memory', `/kubepods/besteffort/pod${pod.metadata.uid}`))).toBe(true);
    await daemon.end('SIGKILL');

    await setDriver('systemd');
    bed.configure({ cgroupDriver: 'systemd' });
    daemon = await bed.start();
    const moved = await daemon.until('waiting', 'in its slice', (found) => {
      const { containerID, state } = found.status?.containerStatuses?.[0] ?? {};
      return state?.running !== undefined && !containerID?.endsWith(bed.idOf(pod));
    });
    expect(read('memory', scopeOf(moved), 'cgroup.procs')).not.toBe('');
    bed.withdraw('waiting');
    await daemon.onlyPods();
    await waitFor(() => !existsSync(file('memory', `/kubepods/besteffort/pod${pod.metadata.uid}`)), {
      what: 'the group of the other driver to go',
    });
  });
});
