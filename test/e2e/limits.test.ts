/** Limits of plain processes by cgroups, where the daemon may make some: here as root. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect } from '@jest/globals';
import { CgroupTree } from '../../src/agent/runtime/cgroups/cgroup-tree.ts';
import { pidsIn } from '../../src/agent/runtime/cgroups/cgroup-removal.ts';
import { isRunning as isAlive, readStat } from '../../src/embedded/containers/proc.ts';
import { processGroup } from '../../src/embedded/process-cgroups.ts';
import type { Summary } from '../../src/types/stats.ts';
import { testAsRoot } from '../support/as-root.ts';
import { cgroupsOf, containerStatus, DaemonBed, mainProcesses } from '../support/daemon.ts';
import { isRunning, kill9, monitorPid } from '../support/process-runtime.ts';
import { silentLogger } from '../support/silent-logger.ts';
import { waitFor } from '../support/wait-for.ts';
import { manifest, SERVE, shell } from './manifests.ts';

const HOG = 'a=x; while :; do a=$a$a; done';
const LIMITS = { resources: { limits: { memory: '24Mi', cpu: '500m' } } };

let bed: DaemonBed;
beforeEach(() => {
  bed = new DaemonBed();
});
afterEach(() => bed.cleanUp());

const file = () => join(bed.manifestDir, 'web.json');
const apply = (fields: Parameters<typeof manifest>[1]) => writeFileSync(file(), manifest('web', fields));
const memoryFolder = () =>
  new CgroupTree('/proc/self/mountinfo', ['memory'], silentLogger).folder(
    'memory',
    `/${processGroup(bed.rootDir)}/kubepods`,
  );
const inGroups = () => pidsIn(memoryFolder());

testAsRoot(
  'a pod has its limits without a warning, its figures come from its cgroup, and OOMKilled is its reason',
  async () => {
    const daemon = await bed.start();
    const hog = {
      ...shell(`cat /proc/self/cgroup; until [ -e go ]; do sleep 0.05; done; ${HOG}`, LIMITS),
      name: 'hog',
    };
    apply({ restartPolicy: 'Never', containers: [shell(SERVE, LIMITS), hog] });
    const pod = await daemon.running('web');
    expect(daemon.log.filter(({ msg }) => msg.includes('resources.limits'))).toEqual([]);
    const summary = (await (await daemon.fetch('/stats/summary')).json()) as Summary;
    const [main] = summary.pods.flatMap(({ containers = [] }) => containers);
    expect(main?.memory).toMatchObject({ availableBytes: expect.any(Number) });
    const id = containerStatus(pod, 'hog')?.containerID?.replace('statelet://', '') ?? '';
    const home = readFileSync(`/proc/${String(mainProcesses(pod, 'hog')[0]?.pid)}/environ`, 'latin1');
    await waitFor(() => bed.containerLog(pod.metadata, 'hog').includes(id), { what: 'its group in the log' });
    writeFileSync(join(/HOME=([^\0]*)/.exec(home)?.[1] ?? '', 'go'), '');
    const ended = await daemon.until(
      'web',
      'without the hog',
      (now) => containerStatus(now, 'hog')?.state?.terminated !== undefined,
    );
    expect(containerStatus(ended, 'hog')?.state?.terminated).toMatchObject({
      exitCode: 137,
      reason: 'OOMKilled',
    });
  },
);

testAsRoot('nothing of a pod is left, and nothing runs twice, whatever was killed in between', async () => {
  const first = await bed.startToLeavePods();
  apply({ containers: [shell(`setsid env -i sleep 1000 & ${SERVE}`, LIMITS)] });
  const [main] = mainProcesses(await first.running('web'));
  const escaped = await waitFor(
    () => inGroups().find((pid) => readStat(pid)?.sessionId === pid && pid !== main?.pid),
    {
      what: 'the process that left its session',
    },
  );
  await first.end('SIGKILL');
  await kill9(await monitorPid(bed.rootDir));
  const second = await bed.startToLeavePods();
  expect(mainProcesses(await second.running('web'))).toEqual([main]);
  await second.end('SIGKILL');
  await kill9(await monitorPid(bed.rootDir));
  rmSync(file());
  const third = await bed.startToLeavePods();
  await waitFor(() => inGroups().length === 0, { what: 'the end of its processes' });
  expect(isRunning(escaped)).toBe(false);
  expect(main && isAlive(main)).toBe(false);
  await waitFor(async () => (await bed.leftBehind()).length === 0, { what: 'its files to go' });
  await third.end();
  expect(cgroupsOf(bed.rootDir)).toEqual([]);
});

testAsRoot(
  'with --cgroups-per-qos=false, pods have no cgroups, and a warning names their limits',
  async () => {
    const daemon = await bed.start('--cgroups-per-qos=false');
    apply({ containers: [shell(SERVE, LIMITS)] });
    await daemon.running('web');
    expect(
      daemon.log.find(({ msg }) => msg.includes('spec.containers[main].resources.limits')),
    ).toBeDefined();
    expect(cgroupsOf(bed.rootDir)).toEqual([]);
  },
);

testAsRoot('a --cgroup-root that does not exist is refused', async () => {
  const daemon = bed.launch(['--pods', bed.manifestDir, '--cgroup-root', '/no-such-group']);
  expect(await daemon.ended).not.toBe(0);
  expect(daemon.stderr + daemon.stdout).toContain('--cgroup-root (cgroupRoot) /no-such-group does not exist');
});
