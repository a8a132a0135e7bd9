import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import { processesOf } from '../../../support/containerd/wipe.ts';
import { describeOnDaemon } from '../../../support/cri-suite.ts';
import { containerStatus } from '../../../support/daemon.ts';
import { waitFor } from '../../../support/wait-for.ts';

describeOnDaemon('changes of containers by another client', ({ bed, daemon }) => {
  afterEach(async () => {
    for (const name of readdirSync(bed.manifestDir)) rmSync(join(bed.manifestDir, name));
    await daemon.onlyPods();
  });

  const withLabel = (pod: Pod) => ({ labelSelector: { 'io.kubernetes.pod.uid': pod.metadata.uid } });
  const sandboxesOf = (pod: Pod) => bed.runtime.listPodSandbox(withLabel(pod));
  const containersOf = (pod: Pod) => bed.runtime.listContainers(withLabel(pod));
  const kill = (id: string) => bed.containerd.ctr('tasks', 'kill', '--signal', 'SIGKILL', id);

  /** Resolves when the container runs in another instance. */
  const runningAnew = (name: string, before: Pod, container = 'main') =>
    daemon.until(name, 'running anew', (pod) => {
      const { state, containerID } = containerStatus(pod, container) ?? {};
      return state?.running !== undefined && containerID !== containerStatus(before, container)?.containerID;
    });

  test('a killed container is started again, and the others keep running', async () => {
    bed.apply('killed', { containers: [bed.server(), bed.server({ name: 'other' })] });
    const before = await daemon.running('killed');
    await kill(bed.idOf(before));
    const after = await runningAnew('killed', before);
    expect(containerStatus(after)).toMatchObject({
      restartCount: 1,
      lastState: { terminated: { exitCode: 137 } },
    });
    expect(containerStatus(after, 'other')).toMatchObject({
      restartCount: 0,
      containerID: containerStatus(before, 'other')?.containerID,
    });
  });

  test('a killed sandbox is created again, with all its containers', async () => {
    bed.apply('headless', { containers: [bed.server(), bed.server({ name: 'other' })] });
    const before = await daemon.running('headless');
    const [sandbox] = await sandboxesOf(before);
    await kill(sandbox?.id ?? '');
    const after = await runningAnew('headless', before);
    await runningAnew('headless', before, 'other');
    await daemon.event('headless', 'SandboxChanged');
    expect(containerStatus(after)?.restartCount).toBe(1);
    const sandboxes = (await sandboxesOf(after)).map(({ metadata, state }) => `${metadata.attempt} ${state}`);
    expect(sandboxes).toContain('1 SANDBOX_READY');
    expect(sandboxes.filter((text) => text.endsWith('SANDBOX_READY'))).toHaveLength(1);
  });

  test('a removed container is started again, with a new log', async () => {
    bed.apply('removed', { containers: [bed.server()] });
    const before = await daemon.running('removed');
    await bed.runtime.stopContainer(bed.idOf(before), 0);
    await bed.runtime.removeContainer(bed.idOf(before));
    const after = await runningAnew('removed', before);
    expect(containerStatus(after)?.restartCount).toBe(1);
    expect(bed.containerLog(after.metadata, 'main', 1)).toBe('');
  });

  test('a pod whose sandbox and containers were removed is created again', async () => {
    bed.apply('gone', { containers: [bed.server()] });
    const before = await daemon.running('gone');
    const [sandbox] = await sandboxesOf(before);
    // While the sandbox is being removed, a container may be started in it once more.
    const remove = () => bed.runtime.removePodSandbox(sandbox?.id ?? '');
    await waitFor(
      () =>
        remove().then(
          () => true,
          () => false,
        ),
      { what: 'the sandbox to be gone' },
    );
    const after = await runningAnew('gone', before);
    expect((await containersOf(after)).filter(({ state }) => state === 'CONTAINER_RUNNING')).toHaveLength(1);
  });

  test('a container whose task and record are removed without CRI is started again', async () => {
    bed.apply('behind', { containers: [bed.server()] });
    const before = await daemon.running('behind');
    const id = bed.idOf(before);
    await kill(id);
    await bed.containerd.ctr('tasks', 'delete', '--force', id).catch(() => undefined);
    await bed.containerd.ctr('containers', 'delete', id);
    await runningAnew('behind', before);
  });

  test('when the shim of a pod is killed, the pod is created again', async () => {
    bed.apply('shimless', { containers: [bed.server()] });
    const before = await daemon.running('shimless');
    // The shims of other tests' pods may still be ending.
    const onlyShim = () => {
      const [pid, ...others] = processesOf(bed.containerd.dir, 'containerd-shim');
      return others.length === 0 && pid;
    };
    process.kill(await waitFor(onlyShim, { what: 'one shim alone' }), 'SIGKILL');
    const after = await runningAnew('shimless', before);
    expect((await sandboxesOf(after)).filter(({ state }) => state === 'SANDBOX_READY')).toHaveLength(1);
  });

  test('containers that end while containerd is down are started again when it is back, and no others are', async () => {
    bed.apply('dies', { containers: [bed.server()] });
    bed.apply('stays', { containers: [bed.server()] });
    const [dies, stays] = [await daemon.running('dies'), await daemon.running('stays')];
    const pid = await pidOf(dies);
    await bed.containerd.kill();
    process.kill(pid, 'SIGKILL');
    await bed.containerd.start();
    const after = await runningAnew('dies', dies);
    expect(containerStatus(after)?.restartCount).toBe(1);
    expect(containerStatus(await daemon.running('stays'))).toMatchObject({
      restartCount: 0,
      containerID: containerStatus(stays)?.containerID,
    });
    // The daemon receives events again.
    await kill(bed.idOf(after));
    await daemon.until(
      'dies',
      'ended twice',
      (pod) => containerStatus(pod)?.lastState?.terminated !== undefined,
    );
  });

  async function pidOf(pod: Pod): Promise<number> {
    const lines = (await bed.containerd.ctr('tasks', 'list')).split('\n').map((line) => line.split(/\s+/));
    return Number(lines.find(([id]) => id === bed.idOf(pod))?.[1]);
  }
});
