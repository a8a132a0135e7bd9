import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { CRASH_LOOP_BACK_OFF } from '../../../../src/agent/policies/pod-actions/back-off.ts';
import { ContainerStarter } from '../../../../src/agent/runtime/pods/container-starter.ts';
import { ImageError, type PodNode } from '../../../../src/agent/runtime/node/pod-node.ts';
import { PodKiller } from '../../../../src/agent/runtime/pods/pod-killer.ts';
import { StartGate } from '../../../../src/agent/runtime/pods/start-gate.ts';
import { processNode } from '../../../../src/embedded/process-node.ts';
import type { RuntimeService } from '../../../../src/agent/runtime/service/runtime-service.ts';
import { StateletError } from '../../../../src/types/errors.ts';
import type { Container, Pod } from '../../../../src/types/kubernetes.ts';
import { whenExited } from '../../../support/runtime-configs.ts';
import { VirtualClock } from '../../../../src/simulation/node/virtual-clock.ts';
import { podBed, type PodBed, podOf, shell } from './pod-bed.ts';

const SLEEPER = shell('main', 'sleep 1000');

let bed: PodBed;
let clock: VirtualClock;
let abort: AbortController;

beforeAll(() => {
  bed = podBed();
});
afterAll(async () => bed.cleanup());
beforeEach(() => {
  clock = new VirtualClock(Date.now());
  abort = new AbortController();
  bed.events.length = 0;
});

/** A failure after which the start is tried again in a second. */
const failsFor = (reason: string) => ({ reason, retryAt: clock.now() + 1_000 });

/** A starter on the real runtime and node. A test may replace some of their methods. */
function newStarter(runtime: Partial<RuntimeService> = {}, node: Partial<PodNode> = {}): ContainerStarter {
  const context = { ...bed.context, clock };
  const parts = {
    runtime: { ...bed.runtime, ...runtime },
    node: { ...processNode({ hostIPs: ['127.0.0.1'], podLogsDir: join(bed.rootDir, 'pods') }), ...node },
    backOff: CRASH_LOOP_BACK_OFF,
    gate: new StartGate(context, 1),
  };
  return new ContainerStarter(context, parts, new PodKiller(context, parts.runtime, parts.node));
}

/** A pod of that container, with its sandbox, and a function that starts the container. */
async function podWith(container: Container) {
  const pod = podOf({ containers: [container] });
  const sandbox = await bed.newSandbox(pod);
  return {
    pod,
    sandbox,
    /** `laterMs`: moves the ends of its instances; `changed`: the container's present spec. */
    start: async (starter: ContainerStarter, { laterMs = 0, changed = container } = {}) => {
      const seen = await bed.read(pod);
      const containers = seen.containers.map((status) => ({
        ...status,
        finishedAt: status.finishedAt + laterMs,
      }));
      const request = { pod, container: changed, podStatus: { ...seen, containers }, ...sandbox };
      return starter.start(request, abort.signal);
    },
    /** Attempt and state of its instances, newest first. */
    containers: async () =>
      (await bed.read(pod)).containers.map(({ restartCount, state }) => `${restartCount} ${state}`),
    ended: async () => {
      for (const { id } of (await bed.read(pod)).containers) await whenExited(bed.runtime, id);
    },
  };
}

describe('a container that starts', () => {
  test('runs, and has events', async () => {
    const it = await podWith(SLEEPER);
    expect(await it.start(newStarter())).toBeUndefined();
    expect(await it.containers()).toEqual(['0 running']);
    expect(bed.events).toEqual(['Normal Created: Container created', 'Normal Started: Container started']);
  });

  test('gets the attempt after its newest instance', async () => {
    const it = await podWith(shell('main', 'exit 0'));
    const starter = newStarter();
    await it.start(starter);
    await it.ended();
    await it.start(starter);
    expect((await it.containers()).map((line) => line.split(' ')[0])).toEqual(['1', '0']);
  });
});

describe('a container that was created and not started, as the agent died or the start was not answered,', () => {
  const unanswered: Partial<RuntimeService> = {
    startContainer: () => Promise.reject(new StateletError('DeadlineExceeded', 'no answer')),
  };
  /** Such a container. Its start may still reach the runtime later. */
  async function unstarted(container: Container = SLEEPER) {
    const it = await podWith(container);
    await it.start(newStarter(unanswered));
    expect(await it.containers()).toEqual(['0 created']);
    bed.events.length = 0;
    return it;
  }

  test('is started, and no second container is created', async () => {
    const it = await unstarted();
    const told: string[] = [];
    const created: PodNode['created'] = (_pod, id) => void told.push(`created ${id}`);
    const reused: PodNode['reused'] = (_pod, id) => void told.push(`reused ${id}`);
    expect(await it.start(newStarter({}, { created, reused }))).toBeUndefined();
    expect(await it.containers()).toEqual(['0 running']);
    expect(bed.events).toEqual(['Normal Started: Container started']);
    expect(told).toEqual([expect.stringMatching(/^reused /u)]);
  });

  test('is removed, and another one is created, if it was made with other devices', async () => {
    const it = await unstarted();
    const starter = newStarter();
    const annotations = { 'statelet.dev/devices': '{"example.com/nic":["nic-1"]}' };
    const node = processNode({ hostIPs: ['127.0.0.1'], podLogsDir: join(bed.rootDir, 'pods') });
    const container: PodNode['container'] = async (request) => {
      const config = await node.container(request);
      return { ...config, annotations: { ...config.annotations, ...annotations } };
    };
    const failure = await it.start(newStarter(unanswered, { container }));
    expect(failure?.reason).toBe('RunContainerError');
    expect(await it.containers()).toEqual(['1 created']);
    expect(await it.start(starter)).toBeUndefined();
    expect(await it.containers()).toEqual(['2 running']);
  });

  test('counts as started if the late start was carried out first', async () => {
    const it = await unstarted();
    const startContainer = async (id: string) => {
      await bed.runtime.startContainer(id);
      await bed.runtime.startContainer(id);
    };
    expect(await it.start(newStarter({ startContainer }))).toBeUndefined();
    expect(await it.containers()).toEqual(['0 running']);
  });

  test('is tried again soon if the late start is under way or its container has already ended', async () => {
    const it = await unstarted(shell('main', 'exit 0'));
    const startContainer = async (id: string) => {
      await bed.runtime.startContainer(id);
      await whenExited(bed.runtime, id);
      await bed.runtime.startContainer(id);
    };
    expect(await it.start(newStarter({ startContainer }))).toMatchObject(failsFor('RunContainerError'));
    expect(await it.containers()).toEqual(['0 exited']);
  });

  test('is replaced if it can never be started', async () => {
    const it = await unstarted();
    const refuse = new StateletError('FailedPrecondition', 'its start was given up');
    let refused = 0;
    const startContainer = (id: string) =>
      refused++ === 0 ? Promise.reject(refuse) : bed.runtime.startContainer(id);
    expect(await it.start(newStarter({ startContainer }))).toBeUndefined();
    expect(await it.containers()).toEqual(['1 running']);
  });

  test('is replaced if its spec has changed', async () => {
    const it = await unstarted({ ...SLEEPER, image: 'one' });
    expect(await it.start(newStarter(), { changed: { ...SLEEPER, image: 'other' } })).toBeUndefined();
    expect(await it.containers()).toEqual(['1 running']);
  });

  test('is tried again after a second if another call is still creating it', async () => {
    const it = await podWith(SLEEPER);
    const createContainer = () => Promise.reject(new StateletError('AlreadyExists', 'the name is taken'));
    expect(await it.start(newStarter({ createContainer }))).toMatchObject(failsFor('CreateContainerError'));
  });
});

test('if the runtime has no instances of a container, the next attempt number follows from its logs', async () => {
  const it = await podWith(SLEEPER);
  const logs = join(it.sandbox.sandboxConfig.logDirectory, 'main');
  mkdirSync(logs, { recursive: true });
  for (const name of ['1.log', '2.log.20300101-000000.gz']) writeFileSync(join(logs, name), '');
  expect(await it.start(newStarter())).toBeUndefined();
  expect(await it.containers()).toEqual(['3 running']);
});

describe('the image', () => {
  test('that cannot be pulled is the reason of the failure; there is no second event', async () => {
    const failure = new ImageError('ImagePullBackOff', 'Back-off pulling image "app:1"', {
      kind: 'Unavailable',
      retryAt: 7,
    });
    const it = await podWith(SLEEPER);
    expect(await it.start(newStarter({}, { image: () => Promise.reject(failure) }))).toEqual({
      reason: 'ImagePullBackOff',
      message: 'Back-off pulling image "app:1"',
      retryAt: 7,
    });
    expect([await it.containers(), bed.events]).toEqual([[], []]);
  });

  test('that the runtime has lost is checked again at the next start', async () => {
    const forgotten: string[] = [];
    const it = await podWith({ ...SLEEPER, image: 'app:1' });
    const createContainer = () => Promise.reject(new StateletError('NotFound', 'no such image'));
    const starter = newStarter({ createContainer }, { forgetImage: (image) => forgotten.push(image) });
    expect(await it.start(starter)).toMatchObject({ reason: 'CreateContainerError' });
    expect(forgotten).toEqual(['app:1']);
  });
});

describe('a container that cannot be started', () => {
  test('references that cannot be resolved: CreateContainerConfigError', async () => {
    const it = await podWith(SLEEPER);
    const error = new StateletError('FailedPrecondition', 'there is no Secret s');
    const starter = newStarter({}, { container: () => Promise.reject(error) });
    expect(await it.start(starter)).toEqual({
      reason: 'CreateContainerConfigError',
      message: 'there is no Secret s',
    });
    expect(await it.containers()).toEqual([]);
  });

  test('no command: CreateContainerConfigError that says why', async () => {
    const it = await podWith({ name: 'main', image: 'app:1' });
    const failure = await it.start(newStarter());
    expect(failure?.reason).toBe('CreateContainerConfigError');
    expect(failure?.message).toContain('has no command: the embedded runtime runs plain processes');
    expect(await it.containers()).toEqual([]);
  });

  test('a refusal by the runtime: CreateContainerError', async () => {
    const it = await podWith(SLEEPER);
    await bed.runtime.stopPodSandbox(it.sandbox.sandboxId);
    expect(await it.start(newStarter())).toMatchObject({ reason: 'CreateContainerError' });
    expect(await it.containers()).toEqual([]);
  });

  test('a command that does not exist: RunContainerError, and the container has ended', async () => {
    const it = await podWith({ name: 'main', command: ['/no/such/program'] });
    const failure = await it.start(newStarter());
    expect(failure).toMatchObject({ reason: 'RunContainerError' });
    expect(failure?.message).toContain('/no/such/program');
    expect(await it.containers()).toEqual(['0 exited']);
    expect(bed.events.at(-1)).toContain('Warning Failed: Error: ');
  });

  test('keeps its reason until it starts', async () => {
    const it = await podWith(SLEEPER);
    const { uid } = it.pod.metadata;
    let isThere = false;
    const configuring = processNode({ hostIPs: [], podLogsDir: bed.rootDir });
    const starter = newStarter(
      {},
      {
        container: (request) =>
          isThere ? configuring.container(request) : Promise.reject(new Error('there is no Secret s')),
      },
    );
    await it.start(starter);
    expect([...starter.failures(uid)]).toEqual([
      ['main', { reason: 'CreateContainerConfigError', message: 'there is no Secret s' }],
    ]);
    isThere = true;
    await it.start(starter);
    expect(starter.failures(uid).size).toBe(0);
  });

  test('has no reason any more once its pod is forgotten', async () => {
    const it = await podWith({ name: 'main' });
    const starter = newStarter();
    await it.start(starter);
    starter.forget(it.pod.metadata.uid);
    expect(starter.failures(it.pod.metadata.uid).size).toBe(0);
  });
});

describe('the postStart hook', () => {
  const hooked = (script: string, more: Partial<Container> = {}): Container => ({
    ...SLEEPER,
    lifecycle: { postStart: { exec: { command: ['sh', '-c', script] } } },
    ...more,
  });

  test('has ended when the container counts as started', async () => {
    const it = await podWith(hooked(`sleep 0.1; ${bed.say('hook-done')}`));
    expect(await it.start(newStarter())).toBeUndefined();
    expect(bed.lines()).toContain('hook-done');
  });

  test('that fails ends the container, whose preStop hook runs: PostStartHookError', async () => {
    const { lifecycle } = hooked('echo broken >&2; exit 3');
    const preStop = { exec: { command: ['sh', '-c', bed.say('in-good-order')] } };
    const it = await podWith({ ...SLEEPER, lifecycle: { ...lifecycle, preStop } });
    expect(await it.start(newStarter())).toEqual({
      reason: 'PostStartHookError',
      message: 'command exited with 3: broken',
    });
    expect(await it.containers()).toEqual(['0 exited']);
    expect(bed.lines()).toContain('in-good-order');
    expect(bed.events.slice(-2)).toEqual([
      'Warning FailedPostStartHook: PostStartHook failed',
      'Normal Killing: FailedPostStartHook',
    ]);
  });

  test('that is aborted leaves the container to the stop that follows', async () => {
    const it = await podWith(hooked(`${bed.say('hook-begun')}; sleep 1000`));
    const starting = it.start(newStarter());
    starting.catch(() => undefined);
    await bed.until('hook-begun');
    abort.abort();
    await expect(starting).rejects.toThrow();
    expect(await it.containers()).toEqual(['0 running']);
  });
});

describe('aborted (I2)', () => {
  test('before the start: nothing is created', async () => {
    const it = await podWith(SLEEPER);
    abort.abort();
    await expect(it.start(newStarter())).rejects.toThrow();
    expect(await it.containers()).toEqual([]);
  });

  test('during a pull: nothing is created, and it is no failure of the container', async () => {
    const image = () => {
      abort.abort();
      return Promise.reject(new StateletError('Canceled', 'given up'));
    };
    const it = await podWith({ ...SLEEPER, image: 'app:1', imagePullPolicy: 'Always' });
    const starter = newStarter({}, { image });
    await expect(it.start(starter)).rejects.toThrow();
    expect([await it.containers(), starter.failures(it.pod.metadata.uid).size]).toEqual([[], 0]);
    expect(bed.events).toEqual([]);
  });

  test('between create and start: nothing is left running', async () => {
    const it = await podWith(SLEEPER);
    const starter = newStarter({
      createContainer: async (...args) => {
        const id = await bed.runtime.createContainer(...args);
        abort.abort();
        return id;
      },
    });
    await expect(it.start(starter)).rejects.toThrow();
    expect(await it.containers()).toEqual(['0 created']);
  });

  test('during the start: the start is awaited, so that nothing starts later', async () => {
    const it = await podWith(SLEEPER);
    const started: string[] = [];
    const starter = newStarter({
      startContainer: async (id, options) => {
        expect(options?.signal).toBeUndefined();
        abort.abort();
        await bed.runtime.startContainer(id, options);
        started.push(id);
      },
    });
    await it.start(starter).catch(() => undefined);
    expect([started.length, await it.containers()]).toEqual([1, ['0 running']]);
  });
});

describe('restart back-off', () => {
  const CRASHER = shell('main', 'exit 1');

  /** Starts it and waits for its end. */
  async function crash(it: Awaited<ReturnType<typeof podWith>>, starter: ContainerStarter) {
    const failure = await it.start(starter);
    await it.ended();
    return failure;
  }
  const finishedAt = async ({ pod }: { pod: Pod }) => (await bed.read(pod)).containers[0]!.finishedAt;

  test('the first restart does not wait, the next one waits 10 s from the end, and then 20 s', async () => {
    const it = await podWith(CRASHER);
    const starter = newStarter();
    expect(await crash(it, starter)).toBeUndefined();
    expect(await crash(it, starter)).toBeUndefined();
    const { name, namespace, uid } = it.pod.metadata;
    const firstEnd = await finishedAt(it);
    expect(await it.start(starter)).toEqual({
      reason: 'CrashLoopBackOff',
      message: `back-off 10s restarting failed container=main pod=${name}_${namespace}(${uid})`,
      retryAt: firstEnd + 10_000,
    });
    await clock.advance(firstEnd + 10_000 - clock.now());
    expect(await crash(it, starter)).toBeUndefined();
    expect(await it.containers()).toHaveLength(3);
    expect((await it.start(starter))?.message).toContain('back-off 20s');
  });

  test('during the back-off nothing is created, an event gives the reason, and the reason is kept', async () => {
    const it = await podWith(CRASHER);
    const starter = newStarter();
    await crash(it, starter);
    await crash(it, starter);
    bed.events.length = 0;
    await it.start(starter);
    expect(await it.containers()).toHaveLength(2);
    expect(bed.events).toEqual([
      expect.stringMatching(
        /^Warning BackOff: Back-off restarting failed container main in pod \S+_\S+\(\S+\)$/,
      ),
    ]);
    expect(starter.failures(it.pod.metadata.uid).get('main')?.reason).toBe('CrashLoopBackOff');
  });

  test('a container that could not be started has the back-off, too', async () => {
    const it = await podWith({ name: 'main', command: ['/no/such/program'] });
    const starter = newStarter();
    await crash(it, starter);
    await crash(it, starter);
    expect(await it.start(starter)).toMatchObject({ reason: 'CrashLoopBackOff' });
  });

  test('a forgotten pod starts again without back-off', async () => {
    const it = await podWith(CRASHER);
    const starter = newStarter();
    await crash(it, starter);
    await crash(it, starter);
    starter.forget(it.pod.metadata.uid);
    expect(await crash(it, starter)).toBeUndefined();
  });

  test('each pod has its own back-off', async () => {
    const starter = newStarter();
    const [one, two] = [await podWith(CRASHER), await podWith(CRASHER)];
    await crash(one, starter);
    await crash(one, starter);
    await crash(two, starter);
    expect([await one.start(starter), await two.start(starter)]).toEqual([
      expect.objectContaining({ reason: 'CrashLoopBackOff' }),
      undefined,
    ]);
  });

  test('garbage collection removes entries that were not used for 10 min, and not before', async () => {
    const it = await podWith(CRASHER);
    const starter = newStarter();
    await crash(it, starter);
    await crash(it, starter);
    starter.collectGarbage();
    expect(await it.start(starter)).toMatchObject({ reason: 'CrashLoopBackOff' });
    await clock.advance(600_001);
    starter.collectGarbage();
    expect(await crash(it, starter)).toBeUndefined();
    // Not 20 s: the back-off has started again.
    expect((await it.start(starter, { laterMs: 600_001 }))?.message).toContain('back-off 10s');
  });

  test('without garbage collection in between the back-off continues', async () => {
    const it = await podWith(CRASHER);
    const starter = newStarter();
    await crash(it, starter);
    await crash(it, starter);
    await clock.advance(600_001);
    expect(await crash(it, starter)).toBeUndefined();
    expect((await it.start(starter, { laterMs: 600_001 }))?.message).toContain('back-off 20s');
  });
});
