import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { findCgroupMounts } from '../../../../src/agent/policies/cgroups/cgroup-mounts.ts';
import { containerLabels, sandboxLabels } from '../../../../src/agent/policies/cri/cri-labels.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import { type CriDaemonBed, type CriDaemonOptions, SERVING } from '../../../support/cri-daemon.ts';
import { describeOnContainerd } from '../../../support/cri-suite.ts';
import { containerStatus, type Daemon } from '../../../support/daemon.ts';
import { shell, startPod, whenExited } from '../../../support/runtime-configs.ts';
import { waitFor } from '../../../support/wait-for.ts';

const SHORT_BACK_OFF = { crashLoopBackOff: { maxContainerRestartPeriod: '1s' } };

describeOnContainerd('garbage', ({ containerd, openBed }) => {
  let bed: CriDaemonBed;
  let daemon: Daemon;

  const createBed = (config: CriDaemonOptions['config'] = {}) => (bed = openBed({ config }));

  /** A pod that an earlier agent has left: a sandbox and one container, with the kubelet's labels. */
  async function orphan(name: string, script: string) {
    const uid = `uid-of-${name}`;
    const pod: Pod = { metadata: { name, namespace: 'lost', uid }, spec: { containers: [] } };
    const network = { network: 'NODE', pid: 'CONTAINER', ipc: 'POD' } as const;
    const linux = { securityContext: { namespaceOptions: network } };
    const labels = containerLabels(pod, { name: 'main' });
    const image = { image: containerd.image };
    return startPod(bed.runtime, '', shell(script, { image, labels, linux }), {
      metadata: { name, namespace: 'lost', uid, attempt: 0 },
      logDirectory: join(bed.podLogsDir, `lost_${name}_${uid}`),
      labels: sandboxLabels(pod),
      linux,
    });
  }

  test('pods without a source are ended and removed, with their logs, folders and cgroups', async () => {
    createBed();
    // One ignores SIGTERM, one has exited, one has only a stopped sandbox, and one has only files and cgroups.
    await orphan('runs', 'trap "" TERM; while :; do sleep 1; done');
    const dead = await orphan('dead', 'exit 3');
    await whenExited(bed.runtime, dead.id);
    const empty = await orphan('empty', 'exit 0');
    await whenExited(bed.runtime, empty.id);
    await bed.runtime.removeContainer(empty.id);
    await bed.runtime.stopPodSandbox(empty.sandboxId);
    const { groups, folder } = remains('gone');
    // Not the sandbox of a pod, as it has no pod UID.
    const foreign = {
      metadata: { name: 'foreign', namespace: 'lost', uid: 'foreign', attempt: 0 },
      labels: {},
    };
    const { sandboxId } = await startPod(
      bed.runtime,
      bed.dir,
      shell(SERVING, { image: { image: containerd.image } }),
      {
        ...foreign,
        linux: { securityContext: { namespaceOptions: { network: 'NODE', pid: 'CONTAINER', ipc: 'POD' } } },
      },
    );

    bed.apply('wanted', { containers: [bed.server()] });
    daemon = await bed.start();
    const wanted = await daemon.running('wanted');
    const sandboxNames = async () =>
      (await bed.runtime.listPodSandbox()).map(({ metadata }) => metadata.name);
    await waitFor(async () => (await sandboxNames()).length === 2, {
      what: 'the orphans to be gone',
    });
    expect((await sandboxNames()).toSorted()).toEqual(['foreign', wanted.metadata.name]);
    expect(await bed.runtime.listContainers()).toHaveLength(2);
    const left = () => [...groups, folder, ...lostLogs()].filter((path) => existsSync(path));
    await waitFor(() => left().length === 0, { what: 'the rest of the orphans to be gone' });
    await bed.runtime.removePodSandbox(sandboxId);
  });

  /**
   * What the node has of a pod that the runtime does not have. `occupy` is given the pod's volume, and returns a process that uses it: the
   * process is in one of the pod's cgroups before an agent can see that cgroup empty.
   */
  function remains(name: string, occupy: (volume: string) => number | undefined = () => undefined) {
    const uid = `uid-of-${name}`;
    const drafted = join(bed.rootDir, uid);
    const volume = join(drafted, 'volumes/kubernetes.io~empty-dir/data');
    mkdirSync(volume, { recursive: true });
    writeFileSync(join(volume, 'file'), '');
    const pid = occupy(volume);
    const { hierarchies } = findCgroupMounts(readFileSync('/proc/self/mountinfo', 'utf8'));
    const groups = hierarchies.map(({ mountPoint, controllers }) => {
      const group = join(mountPoint, containerd.cgroupRoot, `kubepods/besteffort/pod${uid}`);
      mkdirSync(group, { recursive: true });
      if (pid !== undefined && controllers.includes('pids'))
        writeFileSync(join(group, 'cgroup.procs'), String(pid));
      return group;
    });
    const logs = join(bed.podLogsDir, `lost_${name}_${uid}`);
    mkdirSync(join(logs, 'main'), { recursive: true });
    writeFileSync(join(logs, 'main/0.log'), '2026-01-01T00:00:00.123456789Z stdout F said\n');
    const folder = join(bed.rootDir, `pods/${uid}`);
    mkdirSync(join(bed.rootDir, 'pods'), { recursive: true });
    renameSync(drafted, folder);
    return { groups, folder, logs };
  }

  test('later remains of an unknown pod are removed as well, and nothing of a pod that runs', async () => {
    createBed();
    bed.apply('wanted', {
      volumes: [{ name: 'data', emptyDir: {} }],
      containers: [bed.server({ volumeMounts: [{ name: 'data', mountPath: '/data' }] })],
    });
    daemon = await bed.start();
    const wanted = await daemon.running('wanted');
    await bed.exec(wanted, ['touch', '/data/file']);

    let end: Promise<unknown> | undefined;
    const { groups, folder, logs } = remains('late', (volume) => {
      execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', volume]);
      const child = spawn('sleep', ['1000'], { cwd: volume, stdio: 'ignore' });
      end = once(child, 'exit');
      return child.pid;
    });
    expect(await end).toEqual([null, 'SIGKILL']);
    await waitFor(() => [...groups, folder, logs].every((path) => !existsSync(path)), {
      what: 'what is left of the pod to be gone',
    });

    const alone = remains('without-folder');
    rmSync(alone.folder, { recursive: true });
    await waitFor(() => [...alone.groups, alone.logs].every((path) => !existsSync(path)), {
      what: 'cgroups and logs without a folder to be gone',
    });
    expect(bed.idOf(await daemon.running('wanted'))).toBe(bed.idOf(wanted));
    expect(await bed.exec(wanted, ['ls', '/data'])).toBe('file\n');
  });

  const lostLogs = () =>
    readdirSync(bed.podLogsDir)
      .filter((name) => name.startsWith('lost_'))
      .map((name) => join(bed.podLogsDir, name));

  test('one dead container is kept beside the running one; completed containers do not run again after their removal', async () => {
    createBed({ ...SHORT_BACK_OFF });
    const script = `n=$(ls /runs | wc -l); : > /runs/$n; [ $n = 3 ] || exit 1; ${SERVING}`;
    const volumeMounts = [{ name: 'runs', mountPath: '/runs' }];
    const once = (name: string, text: string) => bed.shell(text, { name, volumeMounts });
    bed.apply('mixed', {
      restartPolicy: 'OnFailure',
      volumes: [{ name: 'runs', emptyDir: {} }],
      initContainers: [bed.shell('exit 0', { name: 'first' })],
      containers: [once('main', script), bed.shell('exit 0', { name: 'once' })],
    });
    daemon = await bed.start('--maximum-dead-containers-per-container', '0');
    const isAtLast = (pod: Pod) => {
      const { restartCount, state } = containerStatus(pod) ?? {};
      return restartCount === 3 && state?.running !== undefined;
    };
    const pod = await daemon.until('mixed', 'running for the fourth time', isAtLast);
    expect(containerStatus(pod, 'once')).toMatchObject({
      restartCount: 0,
      state: { terminated: { exitCode: 0 } },
    });
    const instances = (await bed.runtime.listContainers()).map(
      ({ metadata, state }) => `${metadata.name} ${metadata.attempt} ${state}`,
    );
    expect(instances.toSorted()).toEqual([
      'first 0 CONTAINER_EXITED',
      'main 2 CONTAINER_EXITED',
      'main 3 CONTAINER_RUNNING',
      'once 0 CONTAINER_EXITED',
    ]);
  });
});
