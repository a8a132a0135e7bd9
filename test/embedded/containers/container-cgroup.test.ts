import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ContainerConfig, LinuxContainerResources } from '../../../src/types/cri.ts';
import { testAsRoot } from '../../support/as-root.ts';
import { PodGroup } from '../../support/pod-group.ts';
import {
  isRunning,
  kill9,
  logLines,
  monitorPid,
  processRuntimeBed,
  type ProcessRuntimeBed,
} from '../../support/process-runtime.ts';
import { containerConfig, shell, startPod, whenExited } from '../../support/runtime-configs.ts';
import { waitFor } from '../../support/wait-for.ts';

const MEBIBYTE = 2 ** 20;
const RESOURCES: LinuxContainerResources = {
  cpuPeriod: 100_000,
  cpuQuota: 50_000,
  cpuShares: 256,
  memoryLimitInBytes: 32 * MEBIBYTE,
  oomScoreAdj: 900,
};
/** Uses more memory than it may. */
const HOG = 'a=x; while :; do a=$a$a; done';

/** The log has long lines in pieces. */
function wholeLines(logFile: string): readonly string[] {
  const pieces = logLines(logFile).map((line) =>
    line.startsWith('stdout P ') ? line.slice(9) : `${line.slice(9)}\n`,
  );
  return pieces.join('').split('\n').slice(0, -1);
}

const isRoot = process.getuid?.() === 0;

describe('a container in the cgroup of its pod', () => {
  let bed: ProcessRuntimeBed;
  let group: PodGroup;
  beforeAll(() => {
    bed = processRuntimeBed();
    if (isRoot) group = new PodGroup();
  });
  afterAll(async () => {
    await bed.cleanup();
    if (isRoot) await group.remove();
  });

  const limited = (config: ContainerConfig): ContainerConfig => ({
    ...config,
    linux: { ...config.linux, resources: RESOURCES },
  });
  const start = (config: ContainerConfig) =>
    startPod(bed.runtime, join(bed.rootDir, 'pods'), limited(config), {
      linux: { cgroupParent: group.path },
    });
  const outputOf = async (config: ContainerConfig) => {
    const { id, logFile } = await start(config);
    const { exitCode } = await whenExited(bed.runtime, id);
    return { id, exitCode, lines: wholeLines(logFile) };
  };
  const firstLine = (logFile: string) =>
    waitFor(() => logLines(logFile)[0]?.replace(/^stdout F /, ''), { what: `a line in ${logFile}` });

  testAsRoot('has a group of its own from its first instruction, with its limits', async () => {
    const { id, logFile } = await start(
      containerConfig(['sh', '-c', 'cat /proc/self/cgroup /proc/self/oom_score_adj; exec sleep 1000']),
    );
    const lines = await waitFor(() => logLines(logFile).at(-1)?.endsWith(' 900') && logLines(logFile), {
      what: 'the output',
    });
    const groups = lines.slice(0, -1).map((line) => line.replace(/^stdout F \d+:/, ''));
    for (const { controllers } of group.tree.hierarchies)
      if (group.tree.version === 1 && controllers.length > 0)
        expect(groups).toContain(`${controllers.join(',')}:${group.path}/${id}`);
    await waitFor(() => group.pids(id).length === 1, { what: 'the end of cat' });
    if (group.tree.version === 1) {
      expect(group.read(id, 'cpu', 'cpu.shares')).toBe('256');
      expect(group.read(id, 'cpu', 'cpu.cfs_quota_us')).toBe('50000');
      expect(group.read(id, 'memory', 'memory.limit_in_bytes')).toBe(String(32 * MEBIBYTE));
    }
    await bed.runtime.stopContainer(id, 0);
    expect(group.has(id)).toBe(false);
  });

  testAsRoot('has exactly its environment, whatever a shell would do with it', async () => {
    const envs = [
      { key: 'dotted.name', value: `'"$HOME \`id\` \\n` },
      { key: 'IFS', value: ':' },
      { key: 'PWD', value: '/somewhere' },
      { key: '_', value: 'underscore' },
      { key: 'SHELLOPTS', value: 'xtrace' },
      { key: 'LARGE', value: 'x'.repeat(100_000) },
    ];
    const { lines } = await outputOf(containerConfig(['env'], { envs }));
    const defaults = ['HOME', 'HOSTNAME', 'PATH', 'STATELET_CONTAINER_ID', 'STATELET_TERMINATION_LOG'];
    const names = lines.map((line) => line.slice(0, line.indexOf('=')));
    expect(names.toSorted()).toEqual([...defaults, ...envs.map(({ key }) => key)].toSorted());
    for (const { key, value } of envs) expect(lines.includes(`${key}=${value}`)).toBe(true);
  });

  testAsRoot('has its own words, though they are more than a shell takes as one', async () => {
    const words = ["it's", '$HOME', '', '-n', 'x'.repeat(90_000), 'y'.repeat(90_000)];
    const { lines } = await outputOf(containerConfig(['printf', '<%s>', ...words]));
    expect(lines.join('\n') === words.map((word) => `<${word}>`).join('')).toBe(true);
  });

  testAsRoot('is told that there is too much environment, and leaves no group', async () => {
    const envs = Array.from({ length: 40 }, (_, index) => ({ key: `V${index}`, value: 'x'.repeat(100_000) }));
    await expect(start(containerConfig(['true'], { envs }))).rejects.toThrow('more bytes than the system');
    expect(group.pids()).toEqual([]);
  });

  testAsRoot(
    'runs its commands in the group, also those in a terminal and those of another user',
    async () => {
      const linux = { securityContext: { runAsUser: 65534, runAsGroup: 65534 } };
      const { id } = await start(shell('sleep 1000', { linux }));
      const { stdout } = await bed.runtime.execSync(id, ['sh', '-c', 'id -u; cat /proc/self/cgroup'], 0);
      expect(stdout.toString()).toMatch(/^65534\n/);
      expect(stdout.toString()).toContain(`:${group.path}/${id}`);
      const terminal = await outputOf(shell('cat /proc/self/cgroup', { tty: true }));
      expect(terminal.lines.join('\n')).toContain(`:${group.path}/${terminal.id}`);
      await bed.runtime.stopContainer(id, 0);
    },
  );

  testAsRoot(
    'that uses more memory than its limit is OOMKilled, and one that kills itself is not',
    async () => {
      const { id } = await start(shell(HOG));
      expect(await whenExited(bed.runtime, id)).toMatchObject({ exitCode: 137, reason: 'OOMKilled' });
      const other = await start(shell('kill -9 $$'));
      expect(await whenExited(bed.runtime, other.id)).toMatchObject({ exitCode: 137, reason: 'Error' });
    },
  );

  testAsRoot(
    'ends with all its processes, also one that has left its session and cleared its environment',
    async () => {
      const { id, logFile } = await start(
        shell('setsid env -i sleep 1000 & sleep 0.2; echo $!; exec sleep 1000'),
      );
      const pid = Number(await firstLine(logFile));
      expect(isRunning(pid)).toBe(true);
      await bed.runtime.stopContainer(id, 0);
      expect(isRunning(pid)).toBe(false);
      expect(group.has(id)).toBe(false);
    },
  );

  testAsRoot('cannot have more processes than its pod, and ends all the same', async () => {
    group.write([{ controller: 'pids', file: 'pids.max', value: '12' }]);
    try {
      const { id, lines } = await outputOf(shell('for i in $(seq 30); do sleep 1000 & done'));
      expect(lines.join()).toContain('Cannot fork');
      expect(group.has(id)).toBe(false);
    } finally {
      group.write([{ controller: 'pids', file: 'pids.max', value: 'max' }]);
    }
  });

  testAsRoot('is not started where its pod has no group any more', async () => {
    const { runtime } = bed;
    const gone = { linux: { cgroupParent: `${group.path}/gone` } };
    const started = startPod(runtime, join(bed.rootDir, 'pods'), limited(shell('sleep 1000')), gone);
    await expect(started).rejects.toThrow('ENOENT');
  });

  testAsRoot('is OOMKilled as well where no monitor was there when it happened, and runs once', async () => {
    const { id, logFile } = await start(
      shell(`echo $$; until [ -e go ]; do sleep 0.05; done; ${HOG}`, { workingDir: bed.rootDir }),
    );
    const pid = Number(await firstLine(logFile));
    await kill9(await monitorPid(bed.rootDir));
    writeFileSync(join(bed.rootDir, 'go'), '');
    await waitFor(() => !isRunning(pid), { what: 'the end of the container' });
    expect(await whenExited(bed.connect(), id)).toMatchObject({ exitCode: 137, reason: 'OOMKilled' });
    expect(logLines(logFile)).toHaveLength(1);
    expect(group.has(id)).toBe(false);
  });
});

test('a container of a pod without a cgroup runs as it is', async () => {
  const bed = processRuntimeBed();
  const { id } = await startPod(bed.runtime, join(bed.rootDir, 'pods'), shell('exit 3'));
  expect(await whenExited(bed.runtime, id)).toMatchObject({ exitCode: 3 });
  await bed.cleanup();
});
