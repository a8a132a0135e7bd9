import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { podCgroup, qosCgroups } from '../../../../src/policies/cgroups/cgroup-names.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import { type ContainerdBed, startContainerd } from '../../../support/containerd/containerd.ts';
import { CriDaemonBed } from '../../../support/cri-daemon.ts';
import type { Daemon } from '../../../support/daemon.ts';
import { SystemdMachine } from '../../../support/systemd/machine.ts';
import { describeWithSystemd } from '../../../support/systemd/suite.ts';
import { waitFor } from '../../../support/wait-for.ts';

const MIB = 2 ** 20;
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

  async function start(config: Readonly<Record<string, unknown>> = {}): Promise<void> {
    bed = new CriDaemonBed(containerd, { config: { cgroupDriver: 'systemd', cgroupRoot: '/', ...config } });
    daemon = await bed.start();
  }

  const file = (controller: string, group: string, name = '') =>
    join('/sys/fs/cgroup', controller, containerd.cgroupRoot, group, name);
  const read = (controller: string, group: string, name: string) =>
    readFileSync(file(controller, group, name), 'utf8').trim();
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
      const scope = join(group, `cri-containerd-${bed.idOf(pod)}.scope`);
      for (const controller of ['cpu', 'memory', 'pids', 'cpuset', 'systemd']) {
        expect(read(controller, scope, 'cgroup.procs')).not.toBe('');
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
});
