/** The life of pods with a real CRI-O: Debian has no package of it, so that it is tested where the machine has one. */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { findRuntimes } from '../../../../src/agent/runtime/cri/find-runtimes.ts';
import type { Finding } from '../../../../src/doctor/policies/finding.ts';
import { noContainerdBecause } from '../../../support/containerd/suite.ts';
import { type CrioBed, startCrio } from '../../../support/crio/crio.ts';
import { findCrio } from '../../../support/crio/crio-programs.ts';
import { CriDaemonBed, SERVING } from '../../../support/cri-daemon.ts';
import { containerStatus, type Daemon, statelet } from '../../../support/daemon.ts';
import { waitFor } from '../../../support/wait-for.ts';

const programs = findCrio();
const reason = typeof programs === 'string' ? programs : noContainerdBecause();
if (reason !== undefined)
  process.stderr.write(`\nSKIPPED, NOTHING PROVED: "pods of CRI-O" needs a CRI-O, and ${reason}.\n`);

(reason === undefined ? describe : describe.skip)('pods of CRI-O', () => {
  let crio: CrioBed;
  let bed: CriDaemonBed<CrioBed>;
  let daemon: Daemon;
  beforeAll(async () => {
    if (typeof programs === 'string') return;
    crio = await startCrio(programs);
    bed = new CriDaemonBed(crio);
    daemon = await bed.start();
  });
  afterAll(async () => {
    await bed.cleanUp();
    await crio.stop();
  });
  const client = async (command: string, ...args: readonly string[]) => {
    const { code, stdout, stderr } = await statelet(command, '--root-dir', bed.rootDir, ...args);
    return { code, text: stdout + stderr };
  };

  test('it is found at its socket, by its own name', async () => {
    const socket = join(crio.dir, 'crio.sock');
    expect(await findRuntimes([socket])).toEqual([
      { socket, found: { name: 'cri-o', version: expect.stringMatching(/^\d+\.\d+/u) } },
    ]);
  });

  test('doctor has nothing to mend: runtime, network, driver, sandbox image', async () => {
    const flags = ['--container-runtime-endpoint', crio.endpoint, '--cgroup-root', crio.cgroupRoot];
    const { stdout } = await statelet(
      'doctor',
      '--root-dir',
      bed.rootDir,
      '--healthz-port',
      '0',
      ...flags,
      '-o',
      'json',
    );
    const { findings } = JSON.parse(stdout) as { readonly findings: readonly Finding[] };
    const of = (check: string) => findings.filter((one) => one.check === check);
    expect(of('runtime')).toMatchObject([{ status: 'ok', message: expect.stringMatching(/^cri-o \d/u) }]);
    expect(of('runtime-network')).toMatchObject([{ status: 'ok' }]);
    expect(of('sandbox-image')).toMatchObject([{ message: expect.stringContaining('pause') }]);
    expect(of('cgroup-driver')).toMatchObject([{ status: 'ok', message: 'cgroupfs on both sides' }]);
  });

  test('a pod pulls its image, starts, and has logs and exec', async () => {
    bed.apply('talker', {
      hostNetwork: false,
      containers: [bed.shell(`echo hello; ${SERVING}`, { imagePullPolicy: 'Always' })],
    });
    const pod = await daemon.running('talker');
    expect(containerStatus(pod)?.containerID).toMatch(/^cri-o:\/\/[0-9a-f]{64}$/u);
    expect(pod.status?.podIP).toMatch(/^10\./u);
    expect(await client('logs', 'talker')).toEqual({ code: 0, text: 'hello\n' });
    expect(await client('exec', 'talker', '--', 'cat', '/etc/hostname')).toMatchObject({
      code: 0,
      text: 'talker-node-a\n',
    });
  });

  test('a container that exceeds its memory limit is OOMKilled', async () => {
    const resources = { limits: { memory: '32Mi' } };
    bed.apply('greedy', {
      restartPolicy: 'Never',
      containers: [bed.shell('head -c 100m /dev/zero | tail', { resources })],
    });
    const pod = await daemon.inPhase('greedy', 'Failed');
    expect(containerStatus(pod)?.state?.terminated).toMatchObject({ reason: 'OOMKilled', exitCode: 137 });
    bed.withdraw('greedy');
  });

  test('a container that ends is started again, and its former log is read', async () => {
    bed.apply('restarts', { containers: [bed.shell('echo once; sleep 1; exit 3')] });
    await daemon.until('restarts', 'restarted', (pod) => (containerStatus(pod)?.restartCount ?? 0) > 0);
    await waitFor(async () => (await client('logs', 'restarts', '--previous')).text === 'once\n', {
      what: 'the log of the first instance',
    });
    bed.withdraw('restarts');
  });

  test('pods outlive a kill -9 of the agent and of CRI-O', async () => {
    const before = await daemon.running('talker');
    await daemon.end('SIGKILL');
    daemon = await bed.start();
    await crio.kill();
    await crio.start();
    bed.apply('later', { containers: [bed.server()] });
    await daemon.running('later');
    const after = await daemon.running('talker');
    expect(containerStatus(after)).toMatchObject({
      restartCount: 0,
      containerID: containerStatus(before)?.containerID,
    });
  });

  test('a container has its limits', async () => {
    const resources = { limits: { memory: '64Mi', cpu: '500m' } };
    bed.apply('limited', { containers: [bed.server({ resources })] });
    const pod = await daemon.running('limited');
    const files = ['/sys/fs/cgroup/memory/memory.limit_in_bytes', '/sys/fs/cgroup/memory.max'];
    const limit = await bed.exec(pod, ['sh', '-c', `cat ${files.join(' || cat ')}`]);
    expect(limit).toBe(`${64 * 1024 * 1024}\n`);
  });
});
