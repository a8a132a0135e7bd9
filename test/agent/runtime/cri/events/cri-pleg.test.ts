/** PLEG with the events of a real containerd, and without any relist. */
import { silentLogger } from '../../../../support/silent-logger.ts';
import { systemClock } from '../../../../../src/system/timer.ts';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { sandboxLabels } from '../../../../../src/agent/policies/cri/cri-labels.ts';
import { Channel } from '../../../../../src/agent/runtime/cri/calls/channel.ts';
import { createCriRuntime } from '../../../../../src/agent/runtime/cri/cri-runtime.ts';
import { GET_CONTAINER_EVENTS, VERSION } from '../../../../../src/agent/runtime/cri/messages/methods.ts';
import { Pleg } from '../../../../../src/agent/runtime/pleg/pleg.ts';
import type { RuntimeService } from '../../../../../src/agent/runtime/service/runtime-service.ts';
import { errorKind } from '../../../../../src/types/errors.ts';
import { type ContainerdBed, startContainerd } from '../../../../support/containerd/containerd.ts';
import { describeWithContainerd, SET_UP_TIMEOUT_MS } from '../../../../support/containerd/suite.ts';
import { podConfig, shell, startPod } from '../../../../support/runtime-configs.ts';
import { VirtualClock } from '../../../../../src/simulation/node/virtual-clock.ts';
import { testContext } from '../../../../support/test-context.ts';
import { waitFor } from '../../../../support/wait-for.ts';
import { ToldChanges } from '../../pleg/told-changes.ts';
import { HOST_SANDBOX, hostContainer } from '../support.ts';

describeWithContainerd('what containerd tells of, without any relist,', () => {
  let containerd: ContainerdBed;
  let runtime: RuntimeService;
  let pleg: Pleg;
  let logsDir: string;
  let told: ToldChanges;
  let relists: number;
  let warnings: string[];

  beforeAll(async () => {
    containerd = await startContainerd();
    logsDir = mkdtempSync(join(tmpdir(), 'statelet-pleg-'));
  }, SET_UP_TIMEOUT_MS);
  afterAll(async () => {
    await containerd.stop();
    rmSync(logsDir, { recursive: true });
  });
  beforeEach(() => {
    [told, relists, warnings] = [new ToldChanges(), 0, []];
    const logger = {
      ...silentLogger,
      warn: (_fields: object, message: string) => void warnings.push(message),
    };
    runtime = createCriRuntime(testContext({ clock: systemClock, logger }), {
      endpoint: containerd.endpoint,
      requestTimeoutMs: 20_000,
    });
    // It stands still: no relist comes, and nothing is older than what was read.
    const clock = new VirtualClock(Date.now());
    pleg = new Pleg(testContext({ clock }), runtime, () => void (relists += 1));
    told.listen(pleg);
  });
  afterEach(async () => {
    pleg.stop();
    // What has just been stopped may count as running for a moment, and cannot be removed then.
    await waitFor(nothingLeft, { what: 'every sandbox to be removed' });
    await runtime.close();
  });

  async function nothingLeft(): Promise<boolean> {
    const sandboxes = await runtime.listPodSandbox();
    const removals = sandboxes.map(({ id }) => runtime.removePodSandbox(id));
    return (await Promise.allSettled(removals)).every(({ status }) => status === 'fulfilled');
  }

  async function runningPod() {
    const sandbox = podConfig(logsDir);
    const { uid } = sandbox.metadata;
    const labels = sandboxLabels({
      metadata: { name: 'pod', namespace: 'default', uid },
      spec: { containers: [] },
    });
    const container = shell('sleep 1000', { ...hostContainer(containerd.image), labels });
    return startPod(runtime, logsDir, container, { ...HOST_SANDBOX, ...sandbox, labels });
  }

  /** Knowing what there is, and listening. */
  async function started(): Promise<void> {
    await pleg.relist();
    pleg.start();
    // Until the stream stands nothing is heard: what comes too early for that is tried again.
    await waitFor(heardOfAnother, { what: 'the stream of events to stand' });
    told.clear();
  }

  async function heardOfAnother(): Promise<boolean> {
    const { id, sandboxId } = await runningPod();
    const heard = () => told.all.includes(`${id}=running`);
    await waitFor(heard, { what: 'its start', timeoutMs: 2_000 }).catch(() => undefined);
    const wasHeard = heard();
    await runtime.removePodSandbox(sandboxId);
    if (wasHeard) await untilTold(`${sandboxId}=gone`);
    return wasHeard;
  }

  const untilTold = (event: string) =>
    waitFor(() => told.all.includes(event), {
      what: `${event} among ${told.all.join()}`,
    });

  test('the death of a container', async () => {
    const { id } = await runningPod();
    await started();
    await containerd.ctr('tasks', 'kill', '--signal', 'SIGKILL', id);
    await untilTold(`${id}=exited`);
    expect(pleg.pods()[0]?.containers[0]).toMatchObject({ id, state: 'exited', exitCode: 137 });
    expect([told.all, warnings]).toEqual([[`${id}=exited`], []]);
  });

  test('the death of a sandbox', async () => {
    const { sandboxId } = await runningPod();
    await started();
    await containerd.ctr('tasks', 'kill', '--signal', 'SIGKILL', sandboxId);
    await untilTold(`${sandboxId}=notready`);
    expect(pleg.pods()[0]?.sandboxes[0]).toMatchObject({ id: sandboxId, ready: false });
  });

  test('the removal of containers by another client', async () => {
    const { id, sandboxId } = await runningPod();
    await started();
    const other = createCriRuntime(testContext({ clock: systemClock }), {
      endpoint: containerd.endpoint,
      requestTimeoutMs: 20_000,
    });
    await other.removeContainer(id);
    await untilTold(`${id}=gone`);
    await other.removePodSandbox(sandboxId);
    await untilTold(`${sandboxId}=gone`);
    await other.close();
    expect(pleg.pods()).toEqual([]);
  });

  test('changes while the runtime was down', async () => {
    const [dies, stays] = [await runningPod(), await runningPod()];
    await started();
    const pid = await pidOf(dies.id);
    await containerd.kill();
    process.kill(pid, 'SIGKILL');
    await containerd.start();
    await untilTold(`${dies.id}=exited`);
    await containerd.ctr('tasks', 'kill', '--signal', 'SIGKILL', stays.id);
    await untilTold(`${stays.id}=exited`);
    expect(relists).toBe(0);
  });

  test('containerd before 1.7, which has no events of CRI, sends them by its own service', async () => {
    const channel = new Channel(containerd.endpoint);
    const listening = { signal: new AbortController().signal, onAnswer: () => undefined };
    const asked = channel.listen(GET_CONTAINER_EVENTS, {}, listening);
    const kind = await asked.then(() => undefined, errorKind);
    const { runtimeVersion } = await channel.call(VERSION, {});
    channel.close();
    const isBeforeItHadThem = /^v?1\.[0-6]\./.test(runtimeVersion);
    expect(kind === 'Unimplemented').toBe(isBeforeItHadThem);
  });

  async function pidOf(id: string): Promise<number> {
    const lines = (await containerd.ctr('tasks', 'list')).split('\n').map((line) => line.split(/\s+/));
    return Number(lines.find(([task]) => task === id)?.[1]);
  }
});
