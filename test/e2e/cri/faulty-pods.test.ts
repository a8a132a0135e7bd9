/** Pods that cannot run as they are, and what is done to them behind the daemon's back. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { type ContainerdBed, startContainerd } from '../../support/containerd/containerd.ts';
import { busyboxImage } from '../../support/containerd/images.ts';
import { describeWithContainerd, SET_UP_TIMEOUT_MS } from '../../support/containerd/suite.ts';
import { CriDaemonBed } from '../../support/cri-daemon.ts';
import { containerStatus } from '../../support/daemon.ts';

const WITHOUT_COMMAND = 'statelet.test/without-command:1';
const TEST_TIMEOUT_MS = 90_000;

describeWithContainerd('faulty pods', () => {
  let containerd: ContainerdBed;
  let bed: CriDaemonBed;

  beforeAll(async () => {
    containerd = await startContainerd({
      images: [busyboxImage(WITHOUT_COMMAND, { Cmd: [], Entrypoint: [] })],
    });
  }, SET_UP_TIMEOUT_MS);
  afterAll(async () => containerd.stop(), SET_UP_TIMEOUT_MS);
  beforeEach(() => {
    bed = new CriDaemonBed(containerd);
  });
  afterEach(async () => bed.cleanUp(), TEST_TIMEOUT_MS);

  test(
    'a command that does not exist, an image without one: status and event say so, the rest of the pod runs',
    async () => {
      const daemon = await bed.start();
      bed.apply('no-command', {
        containers: [bed.server({ command: ['no-such-command'] }), bed.server({ name: 'other' })],
      });
      bed.apply('nothing-to-run', { containers: [{ name: 'main', image: WITHOUT_COMMAND }] });
      bed.apply('no-job', {
        containers: [bed.server({ command: ['no-such-command'] })],
        restartPolicy: 'Never',
      });

      const crashing = await daemon.until(
        'no-command',
        'backing off beside a container that runs',
        (pod) =>
          containerStatus(pod)?.state?.waiting?.reason === 'CrashLoopBackOff' &&
          containerStatus(pod, 'other')?.state?.running !== undefined,
      );
      expect(containerStatus(crashing)?.lastState?.terminated).toMatchObject({
        exitCode: 128,
        reason: 'StartError',
        message: expect.stringContaining('no-such-command'),
      });
      const failed = daemon.log.filter(({ reason }) => reason === 'Failed').map(({ msg }) => msg);
      expect(failed).toContainEqual(expect.stringMatching(/no-such-command/));

      const empty = await daemon.until(
        'nothing-to-run',
        'waiting',
        (pod) => containerStatus(pod)?.state?.waiting?.reason === 'CreateContainerError',
      );
      expect(containerStatus(empty)?.state?.waiting?.message).toContain('no command specified');
      expect((await daemon.event('nothing-to-run', 'Failed')).msg).toContain('no command specified');

      const job = await daemon.inPhase('no-job', 'Failed');
      expect(containerStatus(job)?.state?.terminated).toMatchObject({ exitCode: 128, reason: 'StartError' });

      bed.apply('nothing-to-run', { containers: [bed.server({ image: WITHOUT_COMMAND })] });
      await daemon.running('nothing-to-run');
      bed.withdraw('no-command');
      bed.withdraw('no-job');
      await daemon.onlyPods('nothing-to-run');
    },
    TEST_TIMEOUT_MS,
  );

  test(
    'a sandbox, a container that is killed or removed from outside: the pod comes back by itself',
    async () => {
      const daemon = await bed.start();
      for (const name of ['sandbox', 'killed', 'removed']) bed.apply(name, { containers: [bed.server()] });
      bed.apply('own-network', { hostNetwork: false, containers: [bed.server()] });
      const [sandbox, killed, removed, own] = await Promise.all(
        ['sandbox', 'killed', 'removed', 'own-network'].map((name) => daemon.running(name)),
      );
      if (!sandbox || !killed || !removed || !own) throw new Error('unreachable');
      const before = new Map([sandbox, killed, removed, own].map((pod) => [pod.metadata.uid, bed.idOf(pod)]));
      for (const pod of [sandbox, own]) {
        await containerd.ctr(
          'tasks',
          'kill',
          '--signal',
          'SIGKILL',
          await sandboxOf(containerd, bed.idOf(pod)),
        );
      }
      for (const pod of [killed, removed]) {
        await containerd.ctr('tasks', 'kill', '--signal', 'SIGKILL', bed.idOf(pod));
      }

      const isBack = (name: string) =>
        daemon.until(name, 'running anew', (pod) => {
          const status = containerStatus(pod);
          const { running } = status?.state ?? {};
          return running !== undefined && !status?.containerID?.endsWith(before.get(pod.metadata.uid) ?? '');
        });
      const [newSandbox, , , newOwn] = await Promise.all(
        ['sandbox', 'killed', 'removed', 'own-network'].map(isBack),
      );
      expect(containerStatus(newSandbox ?? sandbox)).toMatchObject({ restartCount: 1, ready: true });
      expect((await daemon.event('sandbox', 'SandboxChanged')).msg).toContain('sandbox changed');
      expect(newOwn?.status?.podIP).toMatch(/^10\./);
    },
    TEST_TIMEOUT_MS,
  );
});

async function sandboxOf(containerd: ContainerdBed, containerId: string): Promise<string> {
  const info = JSON.parse(await containerd.ctr('containers', 'info', containerId)) as {
    Spec: { annotations: Record<string, string> };
  };
  return info.Spec.annotations['io.kubernetes.cri.sandbox-id'] ?? '';
}
