/** Pods that cannot run as specified, and pods that other clients of the runtime kill or remove. */
import { beforeEach, expect, test } from '@jest/globals';
import { Channel } from '../../../../src/agent/runtime/cri/calls/channel.ts';
import { REMOVE_CONTAINER, REMOVE_POD_SANDBOX } from '../../../../src/agent/runtime/cri/messages/methods.ts';
import { busyboxImage } from '../../../support/containerd/images.ts';
import type { CriDaemonBed } from '../../../support/cri-daemon.ts';
import { describeOnContainerd } from '../../../support/cri-suite.ts';
import { waitFor } from '../../../support/wait-for.ts';
import { containerStatus } from '../../../support/daemon.ts';

const WITHOUT_COMMAND = 'statelet.test/without-command:1';
const IMAGES = [busyboxImage(WITHOUT_COMMAND, { Cmd: [], Entrypoint: [] })];

describeOnContainerd('faulty pods', { images: IMAGES }, ({ containerd, openBed }) => {
  let bed: CriDaemonBed;

  beforeEach(() => {
    bed = openBed();
  });

  const kill = (id: string) => containerd.ctr('tasks', 'kill', '--signal', 'SIGKILL', id);
  const sandboxOf = async (containerId: string) => {
    const info = JSON.parse(await containerd.ctr('containers', 'info', containerId)) as {
      Spec: { annotations: Record<string, string> };
    };
    return info.Spec.annotations['io.kubernetes.cri.sandbox-id'] ?? '';
  };

  test('a missing command, an image without a command: status and event have the cause, and the other containers run', async () => {
    const daemon = await bed.start();
    bed.apply('no-command', {
      containers: [bed.server({ command: ['no-such-command'] }), bed.server({ name: 'other' })],
    });
    bed.apply('nothing-to-run', { containers: [{ name: 'main', image: WITHOUT_COMMAND }] });
    bed.apply('no-init', {
      initContainers: [bed.server({ name: 'init', command: ['no-such-command'] })],
      containers: [bed.server()],
    });
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

    const stuck = await daemon.until(
      'no-init',
      'backing off at its init container',
      (pod) => containerStatus(pod, 'init')?.state?.waiting?.reason === 'CrashLoopBackOff',
    );
    expect(stuck.status?.phase).toBe('Pending');
    expect(containerStatus(stuck)?.state?.waiting?.reason).toBe('PodInitializing');

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
    bed.withdraw('no-init');
    bed.withdraw('no-command');
    bed.withdraw('no-job');
    await daemon.onlyPods('nothing-to-run');
  });

  test('a sandbox or a container that another client kills or removes: the pod recovers by itself', async () => {
    const daemon = await bed.start();
    const names = ['sandbox', 'killed', 'removed', 'sandbox-removed', 'own-network'];
    for (const name of names.slice(0, 4)) bed.apply(name, { containers: [bed.server()] });
    bed.apply('own-network', { hostNetwork: false, containers: [bed.server()] });
    const before = new Map<string, string>();
    for (const name of names) before.set(name, bed.idOf(await daemon.running(name)));
    const id = (name: string) => before.get(name) ?? '';
    for (const name of ['sandbox', 'own-network']) await kill(await sandboxOf(id(name)));
    await kill(id('killed'));
    const channel = new Channel(containerd.endpoint);
    try {
      await channel.call(REMOVE_CONTAINER, { containerId: id('removed') });
      const podSandboxId = await sandboxOf(id('sandbox-removed'));
      // The daemon may just be starting a container in it, which cannot be removed.
      const removed = () =>
        channel.call(REMOVE_POD_SANDBOX, { podSandboxId }).then(
          () => true,
          () => false,
        );
      await waitFor(removed, { what: 'the sandbox to be removed' });
    } finally {
      channel.close();
    }

    const [newSandbox, killed, , , newOwn] = await Promise.all(
      names.map((name) =>
        daemon.until(name, 'running anew', (pod) => {
          const { state, containerID = '' } = containerStatus(pod) ?? {};
          return state?.running !== undefined && !containerID.endsWith(id(name));
        }),
      ),
    );
    for (const pod of [newSandbox, killed]) {
      expect(pod && containerStatus(pod)).toMatchObject({ restartCount: 1, ready: true });
    }
    expect((await daemon.event('sandbox', 'SandboxChanged')).msg).toContain('sandbox changed');
    expect(newOwn?.status?.podIP).toMatch(/^10\./);
  });
});
