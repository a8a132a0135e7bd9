/** The files of pods on the node: `/etc/hosts`, and the files that a killed agent leaves to the next one. */
import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import type { Pod, PodSpec } from '../../../../src/types/kubernetes.ts';
import { mountsBelow } from '../../../support/containerd/wipe.ts';
import type { CriDaemonBed, CriDaemonOptions } from '../../../support/cri-daemon.ts';
import { describeOnContainerd } from '../../../support/cri-suite.ts';
import { containerStatus } from '../../../support/daemon.ts';
import { waitFor } from '../../../support/wait-for.ts';

describeOnContainerd('the files of pods on the node', ({ containerd, openBed }) => {
  let bed: CriDaemonBed;

  const setUp = (options: CriDaemonOptions = {}) => void (bed = openBed(options));
  const podDir = ({ metadata }: Pod) => join(bed.rootDir, 'pods', metadata.uid);
  const memoryOf = (pod: Pod) => join(podDir(pod), 'volumes/kubernetes.io~empty-dir/memory');
  const inMemory = (): Partial<PodSpec> => ({
    volumes: [{ name: 'memory', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } }],
    containers: [bed.server({ volumeMounts: [{ name: 'memory', mountPath: '/memory' }] })],
  });
  /** Cgroups of others may go while `find` looks: it ends with 1 then, and has still printed all that are there. */
  const cgroupsOf = (uid: string) => {
    const search = [
      '/sys/fs/cgroup',
      '-type',
      'd',
      '-path',
      `*${containerd.cgroupRoot}*`,
      '-name',
      `pod${uid}`,
    ];
    return spawnSync('find', search, { encoding: 'utf8' }).stdout.split('\n').filter(Boolean);
  };
  const gone = (what: string, paths: () => readonly string[]) =>
    waitFor(() => paths().length === 0, { what: `${what} to go` });
  const logsOf = (uid: string) => readdirSync(bed.podLogsDir).filter((name) => name.endsWith(`_${uid}`));

  test('a pod has the same start time under the next agent, and its record goes with its folder', async () => {
    setUp();
    const first = await bed.startToLeavePods();
    bed.apply('old', { containers: [bed.server()] });
    const pod = await first.running('old');
    await first.end('SIGKILL');
    const record = join(podDir(pod), 'start-time');
    expect(readFileSync(record, 'utf8')).toBe(`${pod.status?.startTime}\n`);
    expect(statSync(record).mode & 0o777).toBe(0o600);
    writeFileSync(record, '2020-01-01T00:00:00Z\n');

    const second = await bed.start();
    expect((await second.running('old')).status?.startTime).toBe('2020-01-01T00:00:00Z');
    bed.withdraw('old');
    await second.onlyPods();
    expect(existsSync(podDir(pod))).toBe(false);
  });

  test('/etc/hosts has the names of the pod and the aliases; with hostNetwork it is that of the node', async () => {
    setUp({ config: { clusterDomain: 'cluster.local' } });
    const daemon = await bed.start();
    const hostAliases = [{ ip: '192.0.2.7', hostnames: ['db', 'db.example.com'] }];
    const own = { name: 'own', emptyDir: {} };
    bed.apply('networked', {
      hostNetwork: false,
      hostAliases,
      hostname: 'web',
      subdomain: 'shop',
      volumes: [own],
      containers: [
        bed.server(),
        bed.server({ name: 'second' }),
        bed.server({
          name: 'its-own',
          volumeMounts: [{ name: 'own', mountPath: '/etc/hosts', subPath: 'hosts' }],
        }),
      ],
    });
    bed.apply('on-the-node', { hostAliases, containers: [bed.server()] });
    const networked = await daemon.running('networked');
    const hosts = (pod: Pod, container = 'main') => bed.exec(pod, ['cat', '/etc/hosts'], container);
    const { podIP = '' } = networked.status ?? {};
    const lines = (await hosts(networked)).split('\n');
    expect(lines[0]).toBe('# Kubernetes-managed hosts file.');
    expect(lines).toContain('127.0.0.1\tlocalhost');
    expect(lines).toContain(`${podIP}\tweb.shop.default.svc.cluster.local\tweb`);
    expect(lines.slice(-3)).toEqual(['# Entries added by HostAliases.', '192.0.2.7\tdb\tdb.example.com', '']);
    expect(readFileSync(join(podDir(networked), 'etc-hosts'), 'utf8')).toBe(lines.join('\n'));

    await bed.exec(networked, ['sh', '-c', 'echo "192.0.2.9 mine" >> /etc/hosts']);
    expect(await hosts(networked, 'second')).toContain('192.0.2.9 mine');
    await expect(hosts(networked, 'its-own')).rejects.toThrow(/Is a directory/);

    const onTheNode = await hosts(await daemon.running('on-the-node'));
    expect(onTheNode).toBe(
      `# Kubernetes-managed hosts file (host network).\n${readFileSync('/etc/hosts', 'utf8')}\n${lines.slice(-3).join('\n')}`,
    );
  });

  test('the termination message of a finished pod stays when its volumes are released, and after a restart of the agent', async () => {
    setUp();
    const first = await bed.start();
    const script = 'echo work > /disk/file; printf "my last words" > /dev/termination-log; exit 3';
    bed.apply('finished', {
      restartPolicy: 'Never',
      volumes: [
        { name: 'disk', emptyDir: {} },
        { name: 'memory', emptyDir: { medium: 'Memory' } },
      ],
      containers: [
        bed.shell(script, {
          volumeMounts: ['disk', 'memory'].map((name) => ({ name, mountPath: `/${name}` })),
        }),
      ],
    });
    const expected = { exitCode: 3, message: 'my last words' };
    const pod = await first.inState('finished', 'Terminated.Finished');
    expect(containerStatus(pod)?.state?.terminated).toMatchObject(expected);
    expect([existsSync(join(podDir(pod), 'volumes')), mountsBelow(podDir(pod))]).toEqual([false, []]);
    await first.end('SIGKILL');
    const second = await bed.start();
    const found = await second.inState('finished', 'Terminated.Finished');
    expect(containerStatus(found)?.state?.terminated).toMatchObject(expected);
    expect([existsSync(join(podDir(pod), 'volumes')), mountsBelow(podDir(pod))]).toEqual([false, []]);
    bed.withdraw('finished');
    await gone('the folder of the pod', () => [podDir(pod)].filter((path) => existsSync(path)));
  });

  test('a killed agent leaves mounts, cgroups and logs: the next agent adopts those of wanted pods and removes the others', async () => {
    setUp();
    const first = await bed.startToLeavePods();
    for (const name of ['kept', 'dropped', 'ended']) bed.apply(name, inMemory());
    const pods = await Promise.all(['kept', 'dropped', 'ended'].map((name) => first.running(name)));
    const [kept, dropped, ended] = pods as [Pod, Pod, Pod];
    for (const pod of pods) writeFileSync(join(memoryOf(pod), 'file'), 'still here');
    await first.end('SIGKILL');
    for (const name of ['dropped', 'ended']) bed.withdraw(name);
    // The runtime no longer has anything of one of them.
    await removeFromRuntime(ended);
    const uids = [dropped, ended].map(({ metadata }) => metadata.uid);
    expect(uids.flatMap(cgroupsOf)).not.toEqual([]);
    expect(uids.flatMap(logsOf)).toHaveLength(2);

    const second = await bed.start();
    const found = await second.running('kept');
    expect(bed.idOf(found)).toBe(bed.idOf(kept));
    expect(await bed.exec(found, ['cat', '/memory/file'])).toBe('still here');
    await gone('folders of pods', () => uids.filter((uid) => existsSync(join(bed.rootDir, 'pods', uid))));
    await gone('cgroups of pods', () => uids.flatMap(cgroupsOf));
    await gone('logs of pods', () => uids.flatMap(logsOf));
    expect(mountsBelow(join(bed.rootDir, 'pods'))).toEqual([memoryOf(kept)]);
    expect(containerStatus(found)?.restartCount).toBe(0);
    // Garbage collection removes the log link of a removed container within minutes.
    for (const link of readdirSync(bed.containerLogsDir)) {
      if (link.startsWith('ended-')) rmSync(join(bed.containerLogsDir, link));
    }
  });

  test('an agent is killed while a pod ends: the next agent releases the volumes when the pod has ended', async () => {
    setUp();
    const first = await bed.startToLeavePods();
    const spec = inMemory();
    const [container] = spec.containers ?? [];
    const preStop = {
      exec: {
        command: ['sh', '-c', 'touch /memory/ending; while [ ! -e /memory/go ]; do sleep 0.05; done'],
      },
    };
    bed.apply('ending', {
      ...spec,
      terminationGracePeriodSeconds: 60,
      containers: [{ ...container, name: 'main', lifecycle: { preStop } }],
    });
    const pod = await first.running('ending');
    bed.withdraw('ending');
    await waitFor(() => existsSync(join(memoryOf(pod), 'ending')), { what: 'the pod to be ending' });
    await first.end('SIGKILL');
    expect(mountsBelow(podDir(pod))).toEqual([memoryOf(pod)]);
    await bed.start();
    await gone('the folder of the pod', () => [podDir(pod)].filter((path) => existsSync(path)));
    expect(mountsBelow(podDir(pod))).toEqual([]);
  });

  test('logs in the folder of pods are not treated as orphaned', async () => {
    setUp({ logsAmongPods: true });
    const first = await bed.startToLeavePods();
    bed.apply('kept', {
      containers: [bed.shell('echo hello; trap "exit 0" TERM; while :; do sleep 1000 & wait $!; done')],
    });
    const pod = await first.running('kept');
    await first.end('SIGKILL');
    mkdirSync(join(bed.rootDir, 'pods/orphan'));
    const second = await bed.start();
    await second.running('kept');
    await gone('an orphan', () => readdirSync(join(bed.rootDir, 'pods')).filter((name) => name === 'orphan'));
    expect(bed.containerLog(pod.metadata, 'main')).toContain('hello');
  });

  test('of a pod that ran on containerd, the embedded runtime removes folder and mounts once its containers are gone, and does not start before', async () => {
    setUp();
    const first = await bed.startToLeavePods();
    const data = { name: 'data', emptyDir: {} };
    const { volumes = [], containers = [] } = inMemory();
    const [container] = containers;
    const volumeMounts = [...(container?.volumeMounts ?? []), { name: 'data', mountPath: '/data' }];
    bed.apply('former', { volumes: [...volumes, data], containers: [bed.server({ volumeMounts })] });
    const pod = await first.running('former');
    await bed.exec(pod, ['sh', '-c', 'echo precious > /data/file']);
    await first.end('SIGKILL');
    bed.withdraw('former');
    const embedded = ['--container-runtime-endpoint', 'embedded'];

    const second = bed.launch(['--pods', bed.manifestDir, ...embedded]);
    expect(await second.ended).not.toBe(0);
    expect(second.stderr).toContain(`uses /pods/${pod.metadata.uid}/containers/): go on with that runtime (`);
    expect(await bed.exec(pod, ['cat', '/data/file'])).toBe('precious\n');
    expect(mountsBelow(podDir(pod))).toEqual([memoryOf(pod)]);

    await removeFromRuntime(pod);
    await bed.start(...embedded);
    await gone('the folder of the pod', () => [podDir(pod)].filter((path) => existsSync(path)));
    expect(mountsBelow(podDir(pod))).toEqual([]);
    rmSync(join(bed.podLogsDir), { recursive: true });
    rmSync(join(bed.containerLogsDir), { recursive: true });
    for (const cgroup of cgroupsOf(pod.metadata.uid)) rmdirSync(cgroup);
  });

  /** Removes containers and sandbox, as another client of the runtime would. */
  async function removeFromRuntime({ metadata: { uid } }: Pod): Promise<void> {
    const filter = `labels."io.kubernetes.pod.uid"==${uid}`;
    const ids = (await containerd.ctr('containers', 'list', '--quiet', filter)).split('\n').filter(Boolean);
    // containerd removes some of the killed containers by itself.
    for (const id of ids) await containerd.ctr('tasks', 'delete', '--force', id).catch(() => undefined);
    for (const id of ids) await containerd.ctr('containers', 'delete', id);
    await containerd.restart();
  }
});
