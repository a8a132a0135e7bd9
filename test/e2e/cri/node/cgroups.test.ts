import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { findCgroupMounts } from '../../../../src/agent/policies/cgroups/cgroup-mounts.ts';
import { readHugePages, readMaxPIDs } from '../../../../src/agent/runtime/node/machine-facts.ts';
import { processTable } from '../../../../src/embedded/containers/proc.ts';
import type { Container, Pod } from '../../../../src/types/kubernetes.ts';
import { type CriDaemonBed, type CriDaemonOptions, SERVING } from '../../../support/cri-daemon.ts';
import { noContainerdBecause } from '../../../support/containerd/suite.ts';
import { describeOnContainerd } from '../../../support/cri-suite.ts';
import { containerStatus, type Daemon, wasOOMKilled } from '../../../support/daemon.ts';
import { waitFor } from '../../../support/wait-for.ts';

const MIB = 2 ** 20;
const FULL = { cpu: '500m', memory: '64Mi' };

const { version, hierarchies } = findCgroupMounts(readFileSync('/proc/self/mountinfo', 'utf8'));
const withControllers = hierarchies.filter(({ controllers }) => controllers.length > 0);
const isV1 = version === 1;
if (noContainerdBecause() === undefined && !isV1) {
  process.stderr.write('SKIPPED: what is written into cgroups is read on cgroup v1 only\n');
}
const testOnV1 = isV1 ? test : test.skip;

describeOnContainerd('cgroups of pods', ({ containerd, openBed }) => {
  let bed: CriDaemonBed;
  let daemon: Daemon;

  async function startDaemon(config: CriDaemonOptions['config'] = {}): Promise<void> {
    bed = openBed({ config });
    daemon = await bed.start();
  }

  const resources = (requests: Container['resources']): Partial<Container> => ({ resources: requests ?? {} });
  const kubepods = () => join(containerd.cgroupRoot, 'kubepods');
  const groupOf = (pod: Pod, qosClass = '') => join(kubepods(), qosClass, `pod${pod.metadata.uid}`);
  const folder = (controller: string, group: string) => {
    const found = hierarchies.find(({ controllers }) => controllers.includes(controller));
    return join(found?.mountPoint ?? '/none', group);
  };
  const read = (controller: string, group: string, file: string) =>
    readFileSync(join(folder(controller, group), file), 'utf8').trim();
  const everywhere = (group: string) => hierarchies.map(({ mountPoint }) => join(mountPoint, group));
  const removed = (group: string) =>
    waitFor(() => !everywhere(group).some((path) => existsSync(path)), { what: `${group} to be gone` });
  const burstableShares = () => read('cpu', join(kubepods(), 'burstable'), 'cpu.shares');

  /** The pid of the container's first process on the node. */
  async function pidOf(pod: Pod, container = 'main'): Promise<number> {
    const lines = (await containerd.ctr('tasks', 'list')).split('\n').map((line) => line.split(/\s+/));
    return Number(lines.find(([id]) => id === bed.idOf(pod, container))?.[1]);
  }

  /** The cgroups of a process, by controller. */
  function cgroupsOf(pid: number): ReadonlyMap<string, string> {
    const lines = readFileSync(`/proc/${pid}/cgroup`, 'utf8').trim().split('\n');
    return new Map(
      lines.flatMap((line) => {
        const [, controllers = '', path = ''] = line.split(':');
        return controllers.split(',').map((controller) => [controller, path] as const);
      }),
    );
  }

  testOnV1('containers are below their pod, and pods below their QoS class, in every hierarchy', async () => {
    await startDaemon({ podPidsLimit: 77 });
    bed.apply('guaranteed', { containers: [bed.server(resources({ limits: FULL, requests: FULL }))] });
    bed.apply('burstable', {
      containers: [
        bed.server(resources({ requests: { cpu: '250m', memory: '16Mi' } })),
        bed.server({ name: 'other', ...resources({ limits: { memory: '32Mi' } }) }),
      ],
    });
    bed.apply('besteffort', { containers: [bed.server()] });
    const pods = {
      guaranteed: await daemon.running('guaranteed'),
      burstable: await daemon.running('burstable'),
      besteffort: await daemon.running('besteffort'),
    };
    for (const [name, pod] of Object.entries(pods)) {
      const group = groupOf(pod, name === 'guaranteed' ? '' : name);
      expect(pod.status?.qosClass?.toLowerCase()).toBe(name);
      const ofMain = cgroupsOf(await pidOf(pod));
      for (const { mountPoint, controllers } of withControllers) {
        expect(existsSync(join(mountPoint, group))).toBe(true);
        for (const controller of controllers) {
          expect(ofMain.get(controller)).toBe(join(group, bed.idOf(pod)));
        }
      }
      expect(read('pids', group, 'pids.max')).toBe('77');
    }
    expect(read('pids', kubepods(), 'pids.max')).toBe(String(await readMaxPIDs()));
    const guaranteed = groupOf(pods.guaranteed);
    const burstable = groupOf(pods.burstable, 'burstable');
    const besteffort = groupOf(pods.besteffort, 'besteffort');
    expect(read('cpu', guaranteed, 'cpu.shares')).toBe('512');
    expect(read('memory', guaranteed, 'memory.limit_in_bytes')).toBe(String(64 * MIB));
    const main = join(guaranteed, bed.idOf(pods.guaranteed));
    expect(read('cpu', main, 'cpu.shares')).toBe('512');
    expect(read('memory', main, 'memory.limit_in_bytes')).toBe(String(64 * MIB));
    // One container has no memory limit, so the pod has none; the other container has its own.
    expect(read('cpu', burstable, 'cpu.shares')).toBe('256');
    expect(Number(read('memory', burstable, 'memory.limit_in_bytes'))).toBeGreaterThan(2 ** 60);
    const other = join(burstable, bed.idOf(pods.burstable, 'other'));
    expect(read('memory', other, 'memory.limit_in_bytes')).toBe(String(32 * MIB));
    expect(read('cpu', besteffort, 'cpu.shares')).toBe('2');
    expect(read('cpu', join(besteffort, bed.idOf(pods.besteffort)), 'cpu.shares')).toBe('2');

    for (const name of Object.keys(pods)) bed.withdraw(name);
    await daemon.onlyPods();
    for (const group of [guaranteed, burstable, besteffort]) await removed(group);
  });

  testOnV1(
    'all pods together are limited to the unreserved resources, and a pod sees the allocatable memory',
    async () => {
      const reserved = { cpu: '500m', memory: '1Gi', pid: '1000' };
      await startDaemon({ kubeReserved: reserved, evictionHard: { 'memory.available': '100Mi' } });
      const hugePages = Array.from(await readHugePages(), ([bytes, count]) => bytes * count);
      const bytes = totalmem() - 1024 * MIB - hugePages.reduce((sum, taken) => sum + taken, 0);
      expect(read('memory', kubepods(), 'memory.limit_in_bytes')).toBe(String(bytes));
      expect(read('cpu', kubepods(), 'cpu.shares')).toBe(String(cpus().length * 1024 - 512));
      expect(read('pids', kubepods(), 'pids.max')).toBe(String((await readMaxPIDs()) - 1000));

      const env = [{ name: 'MEMORY', valueFrom: { resourceFieldRef: { resource: 'limits.memory' } } }];
      bed.apply('told', {
        containers: [bed.shell('echo "may have $MEMORY"', { env })],
        restartPolicy: 'Never',
      });
      const { metadata } = await daemon.inPhase('told', 'Succeeded');
      // The eviction threshold is part of the cgroup's limit, and not of the memory that a pod sees.
      expect(bed.containerLog(metadata, 'main')).toContain(`may have ${bytes - 100 * MIB}`);
    },
  );

  testOnV1('pods together weigh what the burstable of them ask for, as they come and go', async () => {
    await startDaemon();
    expect([burstableShares(), read('cpu', join(kubepods(), 'besteffort'), 'cpu.shares')]).toEqual([
      '2',
      '2',
    ]);
    bed.apply('one', { containers: [bed.server(resources({ requests: { cpu: '1' } }))] });
    await daemon.running('one');
    expect(burstableShares()).toBe('1024');
    bed.apply('two', { containers: [bed.server(resources({ requests: { cpu: '500m' } }))] });
    bed.apply('full', { containers: [bed.server(resources({ limits: FULL }))] });
    await Promise.all([daemon.running('two'), daemon.running('full')]);
    expect(burstableShares()).toBe('1536');

    // The next daemon after a killed one knows all pods.
    await daemon.end('SIGKILL');
    daemon = await bed.start();
    await Promise.all([daemon.running('one'), daemon.running('two')]);
    await waitFor(() => burstableShares() === '1536', { what: 'the shares of both' });
    bed.withdraw('one');
    await daemon.onlyPods('two', 'full');
    expect(burstableShares()).toBe('512');
    bed.withdraw('two');
    bed.withdraw('full');
    await daemon.onlyPods();
    expect(burstableShares()).toBe('2');
  });

  testOnV1('what is asked for by the pod as a whole is what its group gets', async () => {
    await startDaemon();
    const whole = { requests: { cpu: '200m', memory: '16Mi' }, limits: { cpu: '400m', memory: '48Mi' } };
    bed.apply('whole', { resources: whole, containers: [bed.server(), bed.server({ name: 'other' })] });
    const pod = await daemon.running('whole');
    const group = groupOf(pod, 'burstable');
    expect(cgroupsOf(await pidOf(pod)).get('memory')).toBe(join(group, bed.idOf(pod)));
    expect(read('cpu', group, 'cpu.shares')).toBe('204');
    expect(read('memory', group, 'memory.limit_in_bytes')).toBe(String(48 * MIB));
  });

  test('a container that exceeds its memory limit is killed, and has the reason OOMKilled', async () => {
    await startDaemon();
    const limits = { limits: { memory: '24Mi' } };
    // tail keeps a line in memory until the line ends.
    const greedy = `tail /dev/zero; echo outlived; ${SERVING}`;
    bed.apply('main-process', {
      restartPolicy: 'OnFailure',
      containers: [bed.shell('exec tail /dev/zero', resources(limits))],
    });
    bed.apply('child', { containers: [bed.shell(greedy, resources(limits)), bed.server({ name: 'other' })] });
    await daemon.until('main-process', 'killed for it', wasOOMKilled);
    // A container ends only with its main process.
    const { metadata } = await daemon.running('child');
    const outlived = () => bed.containerLog(metadata, 'main').includes('outlived');
    await waitFor(outlived, { what: 'the end of the child' });
    const pod = await daemon.running('child');
    expect(containerStatus(pod)).toMatchObject({ restartCount: 0 });
  });

  test('pods without their own cgroups are in cgroupRoot, and limits of containers apply', async () => {
    const root = join(containerd.cgroupRoot, 'plain');
    await startDaemon({ cgroupsPerQOS: false, cgroupRoot: root });
    bed.apply('plain', { containers: [bed.server(resources({ limits: { memory: '32Mi' } }))] });
    const pod = await daemon.running('plain');
    expect(everywhere(join(root, 'kubepods')).filter((path) => existsSync(path))).toEqual([]);
    if (!isV1) return;
    const group = cgroupsOf(await pidOf(pod)).get('memory') ?? '';
    expect(group).toBe(join(root, bed.idOf(pod)));
    expect(read('memory', group, 'memory.limit_in_bytes')).toBe(String(32 * MIB));
    bed.withdraw('plain');
    await daemon.onlyPods();
    await removed(group);
  });

  testOnV1('a process that has left its container ends with the pod, and so does the group', async () => {
    await startDaemon();
    // In its own PID namespace no process outlives the first process.
    bed.apply('hider', { hostPID: true, containers: [bed.shell(`setsid sleep 1000 & ${SERVING}`)] });
    const pod = await daemon.running('hider');
    const group = groupOf(pod, 'besteffort');
    const container = join(folder('memory', group), bed.idOf(pod), 'cgroup.procs');
    const main = await pidOf(pod);
    const leavers = () => processTable().filter(({ pid, sessionId }) => pid === sessionId && pid !== main);
    const isInside = ({ pid }: { pid: number }) => pidsIn(container).includes(pid);
    const { pid } = await waitFor(() => leavers().find(isInside), { what: 'the process that leaves' });
    for (const { mountPoint } of withControllers) {
      writeFileSync(join(mountPoint, group, 'cgroup.procs'), String(pid));
    }
    bed.withdraw('hider');
    await daemon.onlyPods();
    await removed(group);
    expect(processTable().filter((process) => process.pid === pid)).toEqual([]);
  });
});

function pidsIn(procsFile: string): number[] {
  return readFileSync(procsFile, 'utf8').trim().split('\n').map(Number);
}
