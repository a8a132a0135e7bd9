import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import type { CriDaemonBed } from '../../../support/cri-daemon.ts';
import { describeOnContainerd } from '../../../support/cri-suite.ts';
import { type Daemon, NODE_NAME } from '../../../support/daemon.ts';
import { waitFor } from '../../../support/wait-for.ts';

const NAMES = ['a', 'b', 'c', 'd'];

describeOnContainerd('an agent that is killed', ({ openBed }) => {
  let bed: CriDaemonBed;
  let daemon: Daemon;

  function apply(): void {
    for (const name of NAMES) {
      const initContainers = [bed.shell('exit 0', { name: 'first' })];
      bed.apply(name, { initContainers, containers: [bed.server()] });
    }
  }

  /** What runs, as `sandbox name` and `container name`. */
  async function running(): Promise<string[]> {
    const [sandboxes, containers] = [await bed.runtime.listPodSandbox(), await bed.runtime.listContainers()];
    const names = new Map(sandboxes.map(({ id, metadata }) => [id, metadata.name]));
    return [
      ...sandboxes
        .filter(({ state }) => state === 'SANDBOX_READY')
        .map(({ metadata }) => `sandbox ${metadata.name}`),
      ...containers
        .filter(({ state }) => state === 'CONTAINER_RUNNING')
        .map(({ metadata, podSandboxId }) => `${metadata.name} ${names.get(podSandboxId) ?? '?'}`),
    ].toSorted();
  }

  const eachOnce = (...names: string[]) =>
    names.flatMap((name) => [`main ${name}-${NODE_NAME}`, `sandbox ${name}-${NODE_NAME}`]).toSorted();
  /** Containerd may have aborted a start when the agent was killed: that container ends, and is started again. */
  const eachRunsOnce = (...names: string[]) =>
    waitFor(async () => JSON.stringify(await running()) === JSON.stringify(eachOnce(...names)), {
      what: 'each to run once',
    });
  const idsOf = (pods: readonly Pod[]) => pods.map((pod) => bed.idOf(pod));
  const allRunning = () => Promise.all(NAMES.map((name) => daemon.running(name)));

  /** Longer, as an interrupted start may have to wait for its retry. */
  const allInPhaseRunning = () => Promise.all(NAMES.map((name) => daemon.until(name, 'Running', isRunning)));

  /** Resolves when the daemon has written the line for that many pods. */
  const when = (reason: string, count: number) =>
    daemon.logged(`${reason} of ${count} pods`, () => {
      const lines = daemon.log.filter((line) => line.reason === reason || line.msg.startsWith(reason));
      return new Set(lines.map(({ pod }) => pod)).size >= count;
    });

  test.each([
    ['before anything is created', 'Added', 0, 'when the first is asked to stop', 'Killing', 1],
    ['when the first container has been created', 'Created', 1, 'in the midst of it', 'Killing', 3],
    ['in the midst of it', 'Started', 2, 'when the first has ended', 'Container ended', 1],
    ['when all have begun', 'Started', 4, 'when all have ended', 'Container ended', 4],
  ])(
    'while it starts pods, %s (%s of %i), and ends them, %s: the next agent continues',
    async (...points) => {
      const [, startReason, started, , endReason, ended] = points;
      bed = openBed();
      apply();
      daemon = await bed.startToLeavePods();
      await (started === 0
        ? daemon.logged('a pod', ({ msg }) => msg.startsWith('Added'))
        : when(startReason, started));
      await daemon.end('SIGKILL');
      bed.apply('stays', { containers: [bed.server()] });
      daemon = await bed.startToLeavePods();
      await allInPhaseRunning();
      const stays = await daemon.running('stays');
      await eachRunsOnce('stays', ...NAMES);

      for (const name of NAMES) bed.withdraw(name);
      await when(endReason, ended);
      await daemon.end('SIGKILL');
      daemon = await bed.start();
      await daemon.onlyPods('stays');
      expect(bed.idOf(await daemon.running('stays'))).toBe(bed.idOf(stays));
      const count = async () =>
        (await bed.runtime.listContainers()).length + (await bed.runtime.listPodSandbox()).length;
      await waitFor(async () => (await count()) === 2, {
        what: 'the others to be gone',
      });
    },
  );

  test('while pods run: each next agent leaves them unchanged', async () => {
    bed = openBed();
    apply();
    daemon = await bed.startToLeavePods();
    const before = idsOf(await allRunning());
    const containers = (await bed.runtime.listContainers()).map(({ id }) => id).toSorted();
    for (let round = 0; round < 2; round++) {
      await daemon.end('SIGKILL');
      daemon = await bed.startToLeavePods();
      expect(idsOf(await allRunning())).toEqual(before);
    }
    expect((await bed.runtime.listContainers()).map(({ id }) => id).toSorted()).toEqual(containers);
    expect(
      daemon.log.filter(({ reason }) => ['Created', 'Started', 'Killing'].includes(reason ?? '')),
    ).toEqual([]);
  });

  test('while postStart hooks run: they run again in the same containers, and what comes after them waits until they have completed', async () => {
    bed = openBed();
    const notes = join(bed.dir, 'notes');
    mkdirSync(notes);
    const wrote = (line: string) => {
      const log = join(notes, 'log');
      return existsSync(log)
        ? readFileSync(log, 'utf8')
            .split('\n')
            .filter((one) => one === line).length
        : 0;
    };
    const until = (line: string, count: number) =>
      waitFor(() => wrote(line) === count, { what: `"${line}" ${count} times` });
    const volumeMounts = [{ name: 'notes', mountPath: '/notes' }];
    const hook = (name: string) => {
      const say = (what: string) => `echo ${name} ${what} >> /notes/log`;
      const script = `${say('began')}; until [ -e /notes/go-${name} ]; do sleep 0.05; done; ${say('done')}`;
      return { volumeMounts, lifecycle: { postStart: { exec: { command: ['sh', '-c', script] } } } };
    };
    const go = (name: string) => writeFileSync(join(notes, `go-${name}`), '');
    const shown = () => daemon.until('hooked', 'shown', (pod) => allStatuses(pod).length > 0);
    const WAITING = { ready: false, started: false, state: { waiting: { reason: expect.any(String) } } };
    bed.apply('hooked', {
      volumes: [{ name: 'notes', hostPath: { path: notes } }],
      initContainers: [bed.server({ name: 'sidecar', restartPolicy: 'Always', ...hook('sidecar') })],
      containers: [bed.server(hook('main'))],
    });

    daemon = await bed.startToLeavePods();
    await until('sidecar began', 1);
    await daemon.end('SIGKILL');
    daemon = await bed.startToLeavePods();
    await until('sidecar began', 2);
    expect(allStatuses(await shown())).toMatchObject([WAITING, WAITING]);
    const [{ id: sidecar } = { id: '' }] = await bed.runtime.listContainers();
    go('sidecar');

    await until('main began', 1);
    await daemon.end('SIGKILL');
    daemon = await bed.startToLeavePods();
    await until('main began', 2);
    expect(allStatuses(await shown())).toMatchObject([{ started: true, state: { running: {} } }, WAITING]);
    go('main');

    const pod = await daemon.running('hooked');
    expect(allStatuses(pod)).toMatchObject([READY, READY]);
    expect(bed.idOf(pod, 'sidecar')).toBe(sidecar);
    expect(await bed.runtime.listContainers()).toHaveLength(2);
    // They have completed: the next agent runs none of them.
    await daemon.end('SIGKILL');
    daemon = await bed.start();
    await daemon.inState('hooked', 'Syncing.Settled');
    const counts = ['sidecar began', 'sidecar done', 'main began', 'main done'].map(wrote);
    expect(counts).toEqual([2, 1, 2, 1]);
  });

  test('while it ends pods that are added again: the next agent starts them when the old ones have ended', async () => {
    bed = openBed();
    apply();
    daemon = await bed.startToLeavePods();
    await allRunning();
    for (const name of NAMES) bed.withdraw(name);
    await when('Killing', 2);
    await daemon.end('SIGKILL');
    apply();
    daemon = await bed.start();
    await allInPhaseRunning();
    await eachRunsOnce(...NAMES);
  });
});

const READY = { ready: true, started: true, restartCount: 0 };
const allStatuses = ({ status }: Pod) => [
  ...(status?.initContainerStatuses ?? []),
  ...(status?.containerStatuses ?? []),
];
const isRunning = ({ status }: Pod) => status?.phase === 'Running';
