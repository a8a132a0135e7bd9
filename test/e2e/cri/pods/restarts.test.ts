/** Restarts after the end of a container, the end of a sandbox and a change of the spec. */
import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import { containerStatus } from '../../../support/daemon.ts';
import { waitFor } from '../../../support/wait-for.ts';
import { describeOnDaemon } from '../../../support/cri-suite.ts';

describeOnDaemon('restarts', ({ bed, daemon }) => {
  const ofPod = (uid: string) => ({ labelSelector: { 'io.kubernetes.pod.uid': uid } });
  const sandboxesOf = async ({ metadata }: Pod) =>
    (await bed.runtime.listPodSandbox(ofPod(metadata.uid))).toSorted(
      (a, b) => a.metadata.attempt - b.metadata.attempt,
    );
  const main = (pod: Pod) => containerStatus(pod, 'main');

  /** The first process of a container, or of a sandbox. */
  async function pidOf(id: string): Promise<number> {
    const pid = new RegExp(`^${id}\\s+(\\d+)`, 'm').exec(await bed.containerd.ctr('tasks', 'list'))?.[1];
    if (pid === undefined) throw new Error(`nothing runs of ${id}`);
    return Number(pid);
  }

  const restarted = (name: string) =>
    daemon.until(name, 'running again', (pod) => {
      const status = main(pod);
      return (status?.restartCount ?? 0) > 0 && status?.state?.running !== undefined;
    });

  test('9: a manifest that is removed and made again at once restarts its pod, whose containers count on', async () => {
    bed.apply('returning', { containers: [bed.server()] });
    const before = await daemon.running('returning');
    const file = join(bed.manifestDir, 'returning.json');
    const content = readFileSync(file, 'utf8');
    rmSync(file);
    writeFileSync(file, content);
    const after = await restarted('returning');
    expect(after.metadata.uid).toBe(before.metadata.uid);
    expect(main(after)?.restartCount).toBe(1);
  });

  test('a killed container restarts at once; a container that keeps failing waits, and the status shows how long', async () => {
    bed.apply('killed', { containers: [bed.server()] });
    const pod = await daemon.running('killed');
    process.kill(await pidOf(bed.idOf(pod)), 'SIGKILL');
    const again = await restarted('killed');
    expect(main(again)).toMatchObject({
      restartCount: 1,
      lastState: { terminated: { exitCode: 137, reason: 'Error', containerID: main(pod)?.containerID } },
    });
    // Not earlier: the first back-off lasts ten seconds, and must be seen.
    bed.apply('failing', { containers: [bed.shell('exit 7')] });
    const failing = await daemon.until(
      'failing',
      'backing off',
      (one) => main(one)?.state?.waiting?.reason === 'CrashLoopBackOff',
    );
    expect(main(failing)).toMatchObject({
      restartCount: 1,
      state: {
        waiting: { message: expect.stringContaining('back-off 10s restarting failed container=main') },
      },
      lastState: { terminated: { exitCode: 7 } },
    });
    expect(await daemon.event('failing', 'BackOff')).toMatchObject({ level: 'warn' });
  });

  test('restart rules of a container override its policy, and its policy overrides that of the pod', async () => {
    const rules = (values: number[]) => ({
      restartPolicy: 'Never',
      restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values } }],
    });
    bed.apply('ruled', {
      restartPolicy: 'Always',
      containers: [
        bed.shell('exit 42', { name: 'matches', ...rules([42]) }),
        bed.shell('exit 43', { name: 'does-not', ...rules([42]) }),
        bed.shell('exit 0', { name: 'on-failure', restartPolicy: 'OnFailure' }),
      ],
    });
    const pod = await daemon.until(
      'ruled',
      'settled',
      (one) =>
        (containerStatus(one, 'matches')?.restartCount ?? 0) > 0 &&
        ['does-not', 'on-failure'].every(
          (name) => containerStatus(one, name)?.state?.terminated !== undefined,
        ),
    );
    expect(containerStatus(pod, 'does-not')).toMatchObject({
      restartCount: 0,
      state: { terminated: { exitCode: 43 } },
    });
    expect(containerStatus(pod, 'on-failure')).toMatchObject({ restartCount: 0 });
    expect(pod.status?.phase).toBe('Running');
  });

  test('a sandbox that another client kills is replaced with the next attempt, and all containers start again', async () => {
    bed.apply('orphaned', { hostNetwork: false, containers: [bed.server(), bed.server({ name: 'second' })] });
    const pod = await daemon.running('orphaned');
    const [before] = await sandboxesOf(pod);
    process.kill(await pidOf(before?.id ?? ''), 'SIGKILL');
    const again = await daemon.until('orphaned', 'running again', (one) =>
      ['main', 'second'].every((name) => {
        const status = containerStatus(one, name);
        return (status?.restartCount ?? 0) > 0 && status?.state?.running !== undefined;
      }),
    );
    expect(again.metadata.uid).toBe(pod.metadata.uid);
    const after = (await sandboxesOf(again)).filter(({ state }) => state === 'SANDBOX_READY');
    expect(after.map(({ metadata }) => metadata.attempt)).toEqual([1]);
    expect(await daemon.event('orphaned', 'SandboxChanged')).toBeDefined();
    expect(again.status?.podIP).toMatch(/^10\./);
    const { ip } = (await bed.runtime.podSandboxStatus(after[0]?.id ?? '')).network ?? {};
    expect(again.status?.podIP).toBe(ip);
  });

  test('a sandbox whose network is gone is replaced', async () => {
    bed.apply('cut-off', { hostNetwork: false, containers: [bed.server()] });
    const pod = await daemon.running('cut-off');
    const [sandbox] = await sandboxesOf(pod);
    const info = await bed.containerd.ctr('containers', 'info', sandbox?.id ?? '');
    const netns = /"(\/[^"]*\/netns\/cni-[^"]+)"/.exec(info)?.[1] ?? '';
    execFileSync('umount', ['--lazy', netns]);
    rmSync(netns);
    // An event has to lead to a sync of the pod.
    process.kill(await pidOf(bed.idOf(pod)), 'SIGKILL');
    const again = await restarted('cut-off');
    const ready = (await sandboxesOf(again)).filter(({ state }) => state === 'SANDBOX_READY');
    expect(ready.map(({ metadata }) => metadata.attempt)).toEqual([1]);
    expect(again.status?.podIP).not.toBe(pod.status?.podIP);
  });

  test('a pod that exceeds its active deadline is ended, and fails with DeadlineExceeded', async () => {
    bed.apply('timed', { activeDeadlineSeconds: 15, containers: [bed.server()] });
    await daemon.running('timed');
    await daemon.inPhase('timed', 'Failed');
    const pod = await daemon.until('timed', 'ended', (one) => main(one)?.state?.terminated !== undefined);
    expect(pod.status).toMatchObject({
      reason: 'DeadlineExceeded',
      message: 'Pod was active on the node longer than the specified deadline',
    });
    expect(main(pod)?.state?.terminated).toMatchObject({ exitCode: 0, reason: 'Completed' });
    await waitFor(
      async () =>
        (await bed.runtime.listContainers({ ...ofPod(pod.metadata.uid), state: 'CONTAINER_RUNNING' }))
          .length === 0,
      { what: 'nothing of it to run' },
    );
  });
});
