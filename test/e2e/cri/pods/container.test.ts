/** The effect of the fields of a container, seen inside it and in the cgroups of the node. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import type { Container, Pod } from '../../../../src/types/kubernetes.ts';
import {
  BUSYBOX_ENTRYPOINT,
  BUSYBOX_USER_ID,
  BUSYBOX_USER_NAME,
} from '../../../support/containerd/images.ts';
import { restrictsOomScoreAdj } from '../../../support/containerd/layout.ts';
import { type CriDaemonBed } from '../../../support/cri-daemon.ts';
import { describeOnDaemon } from '../../../support/cri-suite.ts';
import { containerStatus, wasOOMKilled } from '../../../support/daemon.ts';
import { waitFor } from '../../../support/wait-for.ts';

/** Prints the user, the group and the other groups of the container's first process. */
const IDS = 'grep -E "^(Uid|Gid|Groups):" /proc/1/status | tr -s "\\t " " "';
/** Seccomp mode, capabilities and the like of a process. */
const SECURITY = /^(Seccomp|NoNewPrivs|CapEff|CapBnd):\s+(\w+)$/gm;

function makeSeccompProfile({ rootDir }: CriDaemonBed): string[] {
  const profiles = join(rootDir, 'seccomp');
  mkdirSync(profiles, { recursive: true });
  const syscalls = [{ names: ['mkdir', 'mkdirat'], action: 'SCMP_ACT_ERRNO' }];
  const profile = { defaultAction: 'SCMP_ACT_ALLOW', syscalls };
  writeFileSync(join(profiles, 'no-mkdir.json'), JSON.stringify(profile));
  return [];
}

describeOnDaemon('a container of CRI', { beforeStart: makeSeccompProfile }, ({ bed, daemon }) => {
  const logOf = async (pod: Pod, container = 'main', lines = 1) => {
    const file = join(bed.podLogs(pod.metadata), container, '0.log');
    const read = () => readFileSync(file, 'utf8').trim().split('\n');
    const enough = () => {
      const all = read();
      return all.length >= lines && all[0] !== '' && all;
    };
    const all = await waitFor(enough, { what: `${String(lines)} lines in ${file}` });
    return all.map((line) => line.split(' ').slice(3).join(' '));
  };
  const sh = (pod: Pod, script: string, container = 'main') => bed.exec(pod, ['sh', '-c', script], container);
  const securityOf = async (pod: Pod, container: string) => {
    const text = await bed.exec(pod, ['cat', '/proc/1/status'], container);
    const found = [...text.matchAll(SECURITY)].map(([, key = '', value = '']) => [key, value] as const);
    return Object.fromEntries(found);
  };

  test('command, arguments, environment, working directory and user come from the pod, else from the image', async () => {
    const image = BUSYBOX_ENTRYPOINT;
    const { containers } = {
      containers: [
        { name: 'as-image', image },
        {
          name: 'other-args',
          image,
          args: ['mine', '$(WHO)', '$$(WHO)', '$(NOBODY)'],
          env: [{ name: 'WHO', value: 'me' }],
        },
        {
          name: 'other-command',
          image,
          command: [
            'sh',
            '-c',
            'echo "$0 $*"; echo $FROM_IMAGE; pwd; trap "exit 0" TERM; sleep 1000 & wait',
            '$(WHO)',
          ],
          workingDir: '/tmp',
          env: [
            { name: 'FROM_IMAGE', value: 'no' },
            { name: 'WHO', value: 'of-$(FROM_IMAGE)' },
          ],
        },
      ] satisfies Container[],
    };
    bed.apply('commands', { containers });
    const pod = await daemon.running('commands');
    expect(await logOf(pod, 'as-image', 3)).toEqual(['default arguments', 'yes', '/home/app']);
    expect(await logOf(pod, 'other-args', 3)).toEqual(['mine me $(WHO) $(NOBODY)', 'yes', '/home/app']);
    expect(await logOf(pod, 'other-command', 3)).toEqual(['of-no ', 'no', '/tmp']);
  });

  test('fields of the pod and resources of its containers are available in the environment', async () => {
    const field = (name: string, fieldPath: string) => ({ name, valueFrom: { fieldRef: { fieldPath } } });
    const resource = (name: string, of: string, divisor?: string) => ({
      name,
      valueFrom: { resourceFieldRef: { resource: of, ...(divisor !== undefined && { divisor }) } },
    });
    const env = [
      field('A', 'metadata.name'),
      field('B', 'metadata.namespace'),
      field('C', 'metadata.uid'),
      field('D', "metadata.labels['app']"),
      field('E', "metadata.annotations['note']"),
      field('F', 'spec.nodeName'),
      field('G', 'spec.serviceAccountName'),
      field('H', 'status.hostIP'),
      field('I', 'status.podIP'),
      resource('J', 'limits.cpu', '1m'),
      resource('K', 'limits.memory', '1Mi'),
      resource('L', 'requests.cpu'),
      resource('M', 'requests.memory'),
      { name: 'N', value: '$(B)/$(A)' },
    ];
    const resources = { limits: { cpu: '250m', memory: '64Mi' }, requests: { memory: '32Mi' } };
    bed.apply(
      'fields',
      { containers: [bed.server({ env, resources })] },
      { labels: { app: 'shop' }, annotations: { note: 'a b' } },
    );
    const pod = await daemon.running('fields');
    const { name, namespace, uid } = pod.metadata;
    const hostIP = pod.status?.hostIP;
    const values = await sh(pod, 'for v in A B C D E F G H I J K L M N; do eval echo \\"\\$$v\\"; done');
    const expected = [name, namespace, uid, 'shop', 'a b', 'node-a', '', hostIP, hostIP];
    expect(values.split('\n')).toEqual([
      ...expected,
      '250',
      '64',
      '1',
      '33554432',
      `${namespace}/${name}`,
      '',
    ]);
  });

  test('stdin and tty are present if the container requests them', async () => {
    const script =
      'test -t 1 && echo terminal || echo file; readlink /proc/self/fd/0; trap "exit 0" TERM; sleep 1000 & wait';
    bed.apply('terminals', {
      containers: [
        bed.shell(script, { name: 'tty', tty: true, stdin: true }),
        bed.shell(script, { name: 'plain' }),
        bed.shell(script, { name: 'open', stdin: true }),
      ],
    });
    const pod = await daemon.running('terminals');
    const tty = await logOf(pod, 'tty', 2);
    expect(tty[0]?.trim()).toBe('terminal');
    expect(tty[1]).toContain('/dev/pts/');
    expect(await logOf(pod, 'plain', 2)).toEqual(['file', '/dev/null']);
    expect((await logOf(pod, 'open', 2))[1]).toMatch(/^pipe:/);
  });

  test('users and groups: of the image, of the pod, of the container', async () => {
    const who = (
      name: string,
      securityContext?: Container['securityContext'],
      image = bed.containerd.image,
    ) => bed.server({ name, image, ...(securityContext && { securityContext }) });
    bed.apply('users-of-images', {
      containers: [
        who('root'),
        who('by-name', undefined, BUSYBOX_USER_NAME),
        who('by-number', undefined, BUSYBOX_USER_ID),
        who('number-checked', { runAsNonRoot: true }, BUSYBOX_USER_ID),
        who('other', { runAsUser: 0 }, BUSYBOX_USER_NAME),
      ],
    });
    bed.apply('users-of-pod', {
      securityContext: {
        runAsUser: 1234,
        runAsGroup: 5678,
        fsGroup: 4000,
        supplementalGroups: [3000],
        runAsNonRoot: true,
      },
      containers: [who('of-pod'), who('own', { runAsUser: 4321, runAsGroup: 8765 })],
    });
    bed.apply('users-merged', {
      securityContext: { runAsUser: 1000 },
      containers: [who('merged')],
    });
    const ofImages = await daemon.running('users-of-images');
    const ofPod = await daemon.running('users-of-pod');
    const merged = await daemon.running('users-merged');
    const ids = async (pod: Pod, container: string) =>
      (await sh(pod, IDS, container))
        .trim()
        .split('\n')
        .map((l) => l.trim());
    const same = (uid: number, gid: number) => [
      `Uid: ${`${uid} `.repeat(4)}`.trim(),
      `Gid: ${`${gid} `.repeat(4)}`.trim(),
    ];
    expect((await ids(ofImages, 'root')).slice(0, 2)).toEqual(same(0, 0));
    expect((await ids(ofImages, 'by-name')).slice(0, 2)).toEqual(same(1000, 1000));
    expect((await ids(ofImages, 'by-number')).slice(0, 2)).toEqual(same(1000, 1000));
    expect((await ids(ofImages, 'number-checked')).slice(0, 2)).toEqual(same(1000, 1000));
    expect((await ids(ofImages, 'other')).slice(0, 2)).toEqual(same(0, 0));
    const [uid, gid, groups] = await ids(ofPod, 'of-pod');
    expect([uid, gid]).toEqual(same(1234, 5678));
    expect(groups?.split(' ').slice(1).toSorted()).toEqual(expect.arrayContaining(['3000', '4000']));
    expect((await ids(ofPod, 'own')).slice(0, 2)).toEqual(same(4321, 8765));
    // The groups of the user in the image's /etc/group are added.
    expect((await ids(merged, 'merged'))[2]).toContain('2000');
  });

  test('runAsNonRoot refuses root and user names, with the cause', async () => {
    const securityContext = { runAsNonRoot: true };
    bed.apply('must-not-be-root', {
      containers: [
        bed.server({ name: 'root', securityContext }),
        bed.server({ name: 'by-name', image: BUSYBOX_USER_NAME, securityContext }),
        bed.server({ name: 'good', image: BUSYBOX_USER_ID, securityContext }),
      ],
    });
    const waitsFor = (pod: Pod, container: string) => containerStatus(pod, container)?.state?.waiting;
    const pod = await daemon.until(
      'must-not-be-root',
      'refused',
      (one) =>
        ['root', 'by-name'].every((name) => waitsFor(one, name)?.reason === 'CreateContainerConfigError') &&
        containerStatus(one, 'good')?.state?.running !== undefined,
    );
    expect(waitsFor(pod, 'root')?.message).toContain('container has runAsNonRoot and image will run as root');
    expect(waitsFor(pod, 'by-name')?.message).toContain('non-numeric user (app)');
    const event = await daemon.event('must-not-be-root', 'Failed');
    expect(event.msg).toContain('Error: container has runAsNonRoot and image will run as root');
    const messages = (name: string) => join(bed.rootDir, 'pods', pod.metadata.uid, 'containers', name);
    expect(readdirSync(messages('good'))).toHaveLength(1);
    expect(readdirSync(messages('root'))).toEqual([]);
  });

  test('a pod whose only container is refused has the folder of the container and the hosts file, as with the kubelet', async () => {
    bed.apply('only-root', {
      containers: [bed.server({ name: 'root', securityContext: { runAsNonRoot: true } })],
    });
    const pod = await daemon.until(
      'only-root',
      'refused',
      (one) => containerStatus(one, 'root')?.state?.waiting?.reason === 'CreateContainerConfigError',
    );
    const folder = join(bed.rootDir, 'pods', pod.metadata.uid);
    expect(readdirSync(folder)).toEqual(expect.arrayContaining(['containers', 'etc-hosts']));
    expect(readdirSync(join(folder, 'containers'))).toEqual(['root']);
  });

  test('capabilities, privileges, seccomp, masked paths and the root file system follow the spec', async () => {
    const secured = (name: string, securityContext: Container['securityContext'] = {}) =>
      bed.server({ name, securityContext });
    bed.apply('secured', {
      containers: [
        secured('default'),
        secured('more', { capabilities: { add: ['NET_ADMIN'], drop: ['CHOWN'] } }),
        secured('nothing', { capabilities: { drop: ['ALL'] }, allowPrivilegeEscalation: false }),
        secured('runtime-default', { seccompProfile: { type: 'RuntimeDefault' } }),
        secured('local', { seccompProfile: { type: 'Localhost', localhostProfile: 'no-mkdir.json' } }),
        secured('privileged', { privileged: true }),
        secured('read-only', { readOnlyRootFilesystem: true }),
      ],
    });
    const pod = await daemon.running('secured');
    const of: Record<string, Record<string, string | undefined>> = Object.fromEntries(
      await Promise.all(
        pod.spec.containers.map(async ({ name }) => [name, await securityOf(pod, name)] as const),
      ),
    );
    const has = (name: string, bit: bigint) => ((BigInt(`0x${of[name]?.CapEff}`) >> bit) & 1n) === 1n;
    const [CHOWN, NET_ADMIN] = [0n, 12n];
    expect([has('default', CHOWN), has('default', NET_ADMIN)]).toEqual([true, false]);
    expect([has('more', CHOWN), has('more', NET_ADMIN)]).toEqual([false, true]);
    expect(of.nothing).toMatchObject({ CapEff: '0'.repeat(16), CapBnd: '0'.repeat(16), NoNewPrivs: '1' });
    expect(of.default).toMatchObject({ NoNewPrivs: '0', Seccomp: '0' });
    expect(of['runtime-default']).toMatchObject({ Seccomp: '2' });
    expect(of.privileged).toMatchObject({ Seccomp: '0', NoNewPrivs: '0' });
    expect(has('privileged', NET_ADMIN)).toBe(true);

    const mkdir = 'mkdir /tmp/made 2>/dev/null && echo made || echo refused';
    expect(await sh(pod, mkdir, 'local')).toBe('refused\n');
    expect(await sh(pod, mkdir, 'default')).toBe('made\n');
    const masked = 'grep -c " /proc/" /proc/self/mountinfo || true';
    expect(Number(await sh(pod, masked, 'default'))).toBeGreaterThan(3);
    expect(Number(await sh(pod, masked, 'privileged'))).toBe(0);
    const write = 'touch /anywhere 2>&1 || true';
    expect(await sh(pod, write, 'read-only')).toContain('Read-only file system');
    expect(await sh(pod, write, 'default')).toBe('');
    const devices = 'ls /dev | wc -l';
    const [own, all] = [await sh(pod, devices, 'default'), await sh(pod, devices, 'privileged')];
    expect(Number(all)).toBeGreaterThan(Number(own));
    // No write here changes the node.
    const kernel =
      'cat /proc/sys/kernel/threads-max > /proc/sys/kernel/threads-max && echo ok || echo refused';
    expect(await sh(pod, `{ ${kernel}; } 2>/dev/null`, 'default')).toBe('refused\n');
  });

  test('SELinux options are accepted, and so are AppArmor profiles; without AppArmor in the kernel the pod is refused', async () => {
    const isOn = readIfThere('/sys/module/apparmor/parameters/enabled').startsWith('Y');
    bed.apply('selinux', {
      containers: [bed.server({ securityContext: { seLinuxOptions: { level: 's0:c1,c2' } } })],
    });
    bed.apply('apparmor', {
      securityContext: { appArmorProfile: { type: 'Unconfined' } },
      containers: [bed.server({ securityContext: { appArmorProfile: { type: 'RuntimeDefault' } } })],
    });
    await daemon.running('selinux');
    if (isOn) {
      expect(await sh(await daemon.running('apparmor'), 'cat /proc/1/attr/current')).toContain('enforce');
      return;
    }
    const refused = await daemon.inPhase('apparmor', 'Failed');
    expect(refused.status).toMatchObject({ reason: 'AppArmor' });
    expect(await daemon.event('apparmor', 'AppArmor')).toMatchObject({ level: 'warn' });
  });

  test('requests and limits become values of the container’s cgroup and its OOM score', async () => {
    const resources = {
      requests: { cpu: '250m', memory: '16Mi' },
      limits: { memory: '64Mi', cpu: '500m' },
    };
    bed.apply('limited', { containers: [bed.server({ resources }), bed.server({ name: 'none' })] });
    const guaranteed = { limits: { cpu: '100m', memory: '32Mi' } };
    bed.apply('guaranteed', { containers: [bed.server({ resources: guaranteed })] });
    bed.apply('best-effort', { containers: [bed.server()] });
    const [limited, best, exact] = [
      await daemon.running('limited'),
      await daemon.running('best-effort'),
      await daemon.running('guaranteed'),
    ];
    const cgroupOf = async (pod: Pod, container: string, controller: string) => {
      const { pid } = await pidOf(pod, container);
      const line = readFileSync(`/proc/${String(pid)}/cgroup`, 'utf8')
        .split('\n')
        .find((text) => text.split(':')[1]?.split(',').includes(controller));
      return `/sys/fs/cgroup/${controller}${line?.split(':')[2] ?? ''}`;
    };
    const pidOf = async (pod: Pod, container: string) => {
      const id = bed.idOf(pod, container);
      const list = await bed.containerd.ctr('tasks', 'list');
      const pid = Number(new RegExp(`^${id}\\s+(\\d+)`, 'm').exec(list)?.[1]);
      return { pid };
    };
    const value = async (pod: Pod, container: string, controller: string, file: string) =>
      readFileSync(join(await cgroupOf(pod, container, controller), file), 'utf8').trim();
    expect(await cgroupOf(limited, 'main', 'memory')).toContain(
      `/kubepods/burstable/pod${limited.metadata.uid}/`,
    );
    expect(await cgroupOf(exact, 'main', 'memory')).toContain(`/kubepods/pod${exact.metadata.uid}/`);
    expect(await value(limited, 'main', 'memory', 'memory.limit_in_bytes')).toBe(String(64 * 2 ** 20));
    const noSwap = join(await cgroupOf(limited, 'main', 'memory'), 'memory.memsw.limit_in_bytes');
    if (existsSync(noSwap)) expect(readFileSync(noSwap, 'utf8').trim()).toBe(String(64 * 2 ** 20));
    expect(await value(limited, 'main', 'cpu', 'cpu.shares')).toBe('256');
    expect(await value(limited, 'none', 'cpu', 'cpu.shares')).toBe('2');
    const score = async (pod: Pod, container = 'main') =>
      Number((await bed.exec(pod, ['cat', '/proc/1/oom_score_adj'], container)).trim());
    expect(await score(best)).toBe(1000);
    // Without the capability for lower scores, no score can be below that of the runtime.
    const floor = restrictsOomScoreAdj() ? Number(readFileSync('/proc/self/oom_score_adj', 'utf8')) : -1000;
    expect(await score(exact)).toBe(Math.max(-997, floor));
    const burstable = await score(limited);
    expect(burstable).toBeGreaterThanOrEqual(2);
    expect(burstable).toBeLessThan(1000);
  });

  test('a container that exceeds its memory limit has the reason OOMKilled', async () => {
    bed.apply('greedy', {
      restartPolicy: 'OnFailure',
      containers: [
        bed.shell('head -c 100m /dev/zero | tail -c 100m | sleep 1000', {
          command: ['tail', '/dev/zero'],
          resources: { limits: { memory: '16Mi' } },
        }),
      ],
    });
    await daemon.until('greedy', 'killed for it', wasOOMKilled);
  });

  test('a missing or unusable command and a missing profile have a status and an event', async () => {
    bed.apply('no-command', { containers: [bed.server({ command: ['/no/such/program'] })] });
    bed.apply('no-profile', {
      containers: [
        bed.server({
          securityContext: { seccompProfile: { type: 'Localhost', localhostProfile: 'none.json' } },
        }),
      ],
    });
    bed.apply('no-folder', { containers: [bed.server({ command: ['/etc'] })] });
    const ended = await daemon.until('no-command', 'ended before', (pod) =>
      [
        containerStatus(pod, 'main')?.lastState?.terminated,
        containerStatus(pod, 'main')?.state?.terminated,
      ].some((end) => end?.reason === 'StartError'),
    );
    const status = containerStatus(ended, 'main');
    const end = status?.lastState?.terminated ?? status?.state?.terminated;
    expect(end).toMatchObject({ exitCode: 128, reason: 'StartError' });
    expect(end?.message).toContain('/no/such/program');
    expect((await daemon.event('no-command', 'Failed')).msg).toContain('/no/such/program');

    const failed = await daemon.event('no-profile', 'Failed');
    expect(failed.msg).toContain('none.json');
    await daemon.until('no-profile', 'waiting with a reason', (pod) =>
      (containerStatus(pod, 'main')?.state?.waiting?.reason ?? '').startsWith('CreateContainer'),
    );
    expect((await daemon.event('no-folder', 'Failed')).msg).toContain('permission denied');
  });
});

function readIfThere(file: string): string {
  return existsSync(file) ? readFileSync(file, 'utf8') : '';
}
