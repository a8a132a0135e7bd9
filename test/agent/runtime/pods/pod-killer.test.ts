import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { PodKiller } from '../../../../src/agent/runtime/pods/pod-killer.ts';
import type { RuntimeService } from '../../../../src/agent/runtime/service/runtime-service.ts';
import { systemClock } from '../../../../src/system/timer.ts';
import type { Clock } from '../../../../src/types/clock.ts';
import { StateletError } from '../../../../src/types/errors.ts';
import type { Container, Pod } from '../../../../src/types/kubernetes.ts';
import type { RuntimePodStatus } from '../../../../src/types/runtime-pod.ts';
import { settled, VirtualClock } from '../../../../src/simulation/node/virtual-clock.ts';
import { waitFor } from '../../../support/wait-for.ts';
import { podBed, type PodBed, podOf, runContainer, shell } from './pod-bed.ts';
import { closeServers, httpServer } from '../probes/servers.ts';

let bed: PodBed;
let abort: AbortController;
/** The stops that the runtime received: container name and time-out in seconds; `sandbox` for sandboxes. */
let stops: (readonly [name: string, timeoutSeconds: number])[];
/** Containers whose stop fails, by name. */
let stuck: Set<string>;

beforeAll(() => {
  bed = podBed();
});
afterAll(async () => {
  await closeServers();
  await bed.cleanup();
});
beforeEach(() => {
  abort = new AbortController();
  stops = [];
  stuck = new Set();
  bed.events.length = 0;
});

/** The real runtime. Its stops are recorded, and a test can let them fail. */
const runtime = (): RuntimeService => ({
  ...bed.runtime,
  stopContainer: async (id, timeoutSeconds, options) => {
    const { name } = (await bed.runtime.containerStatus(id)).metadata;
    stops.push([name, timeoutSeconds]);
    if (stuck.has(name)) throw new StateletError('Unavailable', `${name} cannot be stopped`);
    await bed.runtime.stopContainer(id, timeoutSeconds, options);
  },
  stopPodSandbox: (id, options) => {
    stops.push(['sandbox', 0]);
    return bed.runtime.stopPodSandbox(id, options);
  },
});
const podIP = () => '127.0.0.1';
const killer = (clock: Clock = systemClock) => new PodKiller({ ...bed.context, clock }, runtime(), { podIP });

/** A container that runs until SIGTERM, waits, writes a line and ends. */
function server(name: string, more: Partial<Container> = {}, wait = ':'): Container {
  const end = `${wait}; ${bed.say(`${name}-ends`)}; exit 0`;
  return shell(name, `trap '${end}' TERM; ${bed.say(`${name}-ready`)}; sleep 1000 & wait`, more);
}
async function run(pod: Pod): Promise<RuntimePodStatus> {
  const status = await bed.run(pod);
  for (const { name } of status.containers) await bed.until(`${name}-ready`);
  return status;
}
const ends = (...names: string[]) =>
  bed
    .lines()
    .filter((line) => names.some((name) => line === `${name}-ends`))
    .map((line) => line.replace('-ends', ''));
const states = async (pod: Pod) =>
  Object.fromEntries((await bed.read(pod)).containers.map(({ name, state }) => [name, state]));
const preStop = (handler: NonNullable<Container['lifecycle']>['preStop']): Partial<Container> => ({
  lifecycle: { ...(handler && { preStop: handler }) },
});
const exec = (script: string) => ({ exec: { command: ['sh', '-c', script] } });

describe('a whole pod', () => {
  test('every container is stopped, then the sandbox', async () => {
    const pod = podOf({ containers: [server('all-1'), server('all-2')] });
    await killer().killPod(pod, await run(pod), undefined, abort.signal);
    expect(await states(pod)).toEqual({ 'all-1': 'exited', 'all-2': 'exited' });
    expect((await bed.read(pod)).sandboxes.map(({ ready }) => ready)).toEqual([false]);
    expect(stops.at(-1)?.[0]).toBe('sandbox');
    expect(stops).toHaveLength(3);
  });

  test('sidecars stop after the regular containers, in reverse order', async () => {
    const sidecar = { restartPolicy: 'Always' };
    const slow = server('slow', {}, `until ${bed.has('quick-ends')}; do sleep 0.05; done`);
    const pod = podOf({
      initContainers: [server('side-1', sidecar), server('side-2', sidecar), server('side-3', sidecar)],
      containers: [slow, server('quick')],
    });
    await killer().killPod(pod, await run(pod), undefined, abort.signal);
    expect(ends('side-1', 'side-2', 'side-3', 'slow', 'quick')).toEqual([
      'quick',
      'slow',
      'side-3',
      'side-2',
      'side-1',
    ]);
  });

  test('an ended container is not stopped, and no other container waits for it', async () => {
    const pod = podOf({
      initContainers: [shell('done', 'exit 0'), server('helper', { restartPolicy: 'Always' })],
      containers: [shell('gone', 'exit 1')],
    });
    const status = await bed.run(pod);
    await bed.until('helper-ready');
    const ended = status.containers.map((container) =>
      container.name === 'helper' ? container : { ...container, state: 'exited' as const },
    );
    await killer().killPod(pod, { ...status, containers: ended }, undefined, abort.signal);
    expect(stops.map(([name]) => name)).toEqual(['helper', 'sandbox']);
  });

  test('two instances of one container, which is a defect, both get their grace period', async () => {
    const pod = podOf({ containers: [server('twin')] });
    const { sandboxId, sandboxConfig } = await bed.newSandbox(pod);
    for (const attempt of [0, 1]) {
      const twin = server('twin', {}, `sleep ${String(attempt * 0.3)}`);
      await runContainer(bed.runtime, pod, twin, sandboxId, sandboxConfig, attempt);
    }
    await waitFor(() => bed.lines().filter((line) => line === 'twin-ready').length === 2, {
      what: 'both to be ready',
    });
    await killer().killPod(pod, await bed.read(pod), undefined, abort.signal);
    expect(ends('twin')).toEqual(['twin', 'twin']);
  });

  test('a pod that only the runtime has gets the grace period of the caller', async () => {
    const pod = podOf({ containers: [server('orphan')] });
    await killer().killPod(undefined, await run(pod), 7, abort.signal);
    expect(stops).toEqual([
      ['orphan', 7],
      ['sandbox', 0],
    ]);
    expect(bed.events).toEqual([]);
  });

  test('without running containers only the sandbox is stopped', async () => {
    const pod = podOf({});
    const { sandboxId } = await bed.newSandbox(pod);
    await killer().killPod(pod, await bed.read(pod), undefined, abort.signal);
    expect((await bed.runtime.podSandboxStatus(sandboxId)).state).toBe('SANDBOX_NOTREADY');
  });
});

describe('when a stop fails', () => {
  test('all other containers are stopped, the failure is reported, and the sandbox stays for the next try', async () => {
    const pod = podOf({ containers: [server('stuck-1'), server('free-1')] });
    const status = await run(pod);
    stuck.add('stuck-1');
    await expect(killer().killPod(pod, status, undefined, abort.signal)).rejects.toThrow(
      'stuck-1 cannot be stopped',
    );
    expect(await states(pod)).toEqual({ 'stuck-1': 'running', 'free-1': 'exited' });
    expect(stops.map(([name]) => name)).not.toContain('sandbox');

    stuck.clear();
    await killer().killPod(pod, await bed.read(pod), undefined, abort.signal);
    expect(await states(pod)).toEqual({ 'stuck-1': 'exited', 'free-1': 'exited' });
  });

  test('several failures are reported together', async () => {
    const pod = podOf({ containers: [server('stuck-2'), server('stuck-3')] });
    const status = await run(pod);
    stuck.add('stuck-2').add('stuck-3');
    await expect(killer().killPod(pod, status, undefined, abort.signal)).rejects.toThrow(
      /(stuck-2|stuck-3) cannot be stopped; (stuck-3|stuck-2) cannot be stopped/,
    );
  });

  test('sidecars are stopped even if a regular container cannot be stopped', async () => {
    const pod = podOf({
      initContainers: [server('side-4', { restartPolicy: 'Always' })],
      containers: [server('stuck-4')],
    });
    const status = await run(pod);
    stuck.add('stuck-4');
    await expect(killer().killPod(pod, status, undefined, abort.signal)).rejects.toThrow('stuck-4');
    expect((await states(pod))['side-4']).toBe('exited');
  });
});

describe('the grace period', () => {
  test.each<[string, Partial<Pod['spec']>, Partial<Pod['metadata']>, number | undefined, number]>([
    ["the spec's", { terminationGracePeriodSeconds: 40 }, {}, undefined, 40],
    ["the deletion's before the spec's", {}, { deletionGracePeriodSeconds: 9 }, undefined, 9],
    ["the kill's before both", {}, { deletionGracePeriodSeconds: 9 }, 4, 4],
    ['never below what a SIGTERM needs to work', { terminationGracePeriodSeconds: 0 }, {}, undefined, 2],
  ])('%s', async (_name, spec, metadata, override, seconds) => {
    const pod = podOf({ containers: [server('granted')], ...spec }, metadata);
    await killer().killPod(pod, await run(pod), override, abort.signal);
    expect(stops[0]).toEqual(['granted', seconds]);
  });

  test('the time that a sidecar waits counts towards its grace period', async () => {
    const clock = new VirtualClock();
    const pod = podOf({
      initContainers: [server('side-5', { restartPolicy: 'Always' })],
      containers: [server('main-5', preStop({ sleep: { seconds: 10 } }))],
    });
    const killed = killer(clock).killPod(pod, await run(pod), undefined, abort.signal);
    await clock.advance(10_000);
    await killed;
    expect(stops.slice(0, 2)).toEqual([
      ['main-5', 20],
      ['side-5', 20],
    ]);
  });

  test('a sidecar does not wait for longer than the grace period', async () => {
    const clock = new VirtualClock();
    // The call returns when the test lets it.
    const { promise: released, resolve: release } = Promise.withResolvers<undefined>();
    const pod = podOf({
      initContainers: [server('side-6', { restartPolicy: 'Always' })],
      containers: [server('main-6')],
    });
    const status = await run(pod);
    const slow: RuntimeService = {
      ...runtime(),
      stopContainer: async (id, timeoutSeconds, options) => {
        const { name } = (await bed.runtime.containerStatus(id)).metadata;
        if (name === 'main-6') await released;
        await runtime().stopContainer(id, timeoutSeconds, options);
      },
    };
    const killed = new PodKiller({ ...bed.context, clock }, slow, { podIP }).killPod(
      pod,
      status,
      undefined,
      abort.signal,
    );
    await clock.advance(29_999);
    expect(ends('side-6')).toEqual([]);
    await clock.advance(1);
    await bed.until('side-6-ends');
    expect(stops).toEqual([['side-6', 2]]);
    release(undefined);
    await killed;
  });
});

describe('the preStop hook', () => {
  test('exec runs before SIGTERM', async () => {
    const hook = exec(`sleep 0.1; ${bed.say('hooked-7-ends')}`);
    const pod = podOf({ containers: [server('main-7', preStop(hook))] });
    await killer().killPod(pod, await run(pod), undefined, abort.signal);
    expect(ends('main-7', 'hooked-7')).toEqual(['hooked-7', 'main-7']);
  });

  test('an exec that takes longer than the grace period is aborted, and the container is stopped', async () => {
    const pod = podOf({ containers: [server('main-8', preStop(exec('sleep 1000')))] });
    await killer().killPod(pod, await run(pod), 1, abort.signal);
    expect(stops[0]).toEqual(['main-8', 2]);
    expect(bed.events).toContainEqual(expect.stringContaining('FailedPreStopHook'));
    expect(ends('main-8')).toEqual(['main-8']);
  });

  test('httpGet goes to the address of the pod, as the runtime shows it, before SIGTERM', async () => {
    let asked = '';
    const port = await httpServer((incoming, response) => {
      asked = `${incoming.url ?? ''} ${String(ends('main-10').length)}`;
      response.end();
    });
    const pod = podOf({ containers: [server('main-10', preStop({ httpGet: { port, path: '/bye' } }))] });
    const status = await run(pod);
    const seen: unknown[] = [];
    const address = (...given: unknown[]) => {
      seen.push(...given);
      return '127.0.0.1';
    };
    const killer = new PodKiller(bed.context, runtime(), { podIP: address });
    await killer.killPod(pod, status, undefined, abort.signal);
    expect(asked).toBe('/bye 0');
    expect(seen).toEqual([pod, status]);
    expect(ends('main-10')).toEqual(['main-10']);
  });

  test('of a sidecar begins when the pod is told to end, and its time runs beside that of the other containers', async () => {
    const clock = new VirtualClock();
    const pod = podOf({
      initContainers: [
        server('side-16', { restartPolicy: 'Always', ...preStop({ sleep: { seconds: 10 } }) }),
      ],
      containers: [server('main-16', preStop({ sleep: { seconds: 12 } }))],
    });
    const killed = killer(clock).killPod(pod, await run(pod), undefined, abort.signal);
    await settled();
    expect(bed.events.filter((event) => event.includes('Killing'))).toHaveLength(2);
    await clock.advance(12_000);
    await killed;
    expect(stops.slice(0, 2)).toEqual([
      ['main-16', 18],
      ['side-16', 18],
    ]);
  });

  test('of a sidecar runs although another container takes the whole grace period', async () => {
    const hook = exec(bed.say('hooked-17-ends'));
    const pod = podOf({
      initContainers: [server('side-17', { restartPolicy: 'Always', ...preStop(hook) })],
      containers: [server('main-17', preStop(exec('sleep 1000')))],
    });
    await killer().killPod(pod, await run(pod), 1, abort.signal);
    expect(ends('hooked-17', 'side-17')).toEqual(['hooked-17', 'side-17']);
  });

  test('a hook that fails does not delay the stop', async () => {
    const pod = podOf({ containers: [server('main-9', preStop(exec('exit 1')))] });
    await killer().killPod(pod, await run(pod), undefined, abort.signal);
    expect(ends('main-9')).toEqual(['main-9']);
  });

  test('the time of the hook counts towards the grace period', async () => {
    const clock = new VirtualClock();
    const pod = podOf({ containers: [server('main-10', preStop({ sleep: { seconds: 12 } }))] });
    const killed = killer(clock).killPod(pod, await run(pod), undefined, abort.signal);
    await clock.advance(11_999);
    expect(stops).toEqual([]);
    await clock.advance(1);
    await killed;
    expect(stops[0]).toEqual(['main-10', 18]);
  });

  test('after a sleep that uses up the grace period, the stop gets the minimum time-out', async () => {
    const clock = new VirtualClock();
    const pod = podOf({ containers: [server('main-11', preStop({ sleep: { seconds: 1000 } }))] });
    const killed = killer(clock).killPod(pod, await run(pod), undefined, abort.signal);
    await clock.advance(30_000);
    await killed;
    expect(stops[0]).toEqual(['main-11', 2]);
  });

  test('the hook does not run twice when the stop is repeated (4)', async () => {
    const hook = exec(`${bed.say('hooked-12-ends')}; sleep 1000`);
    const pod = podOf({ containers: [server('main-12', preStop(hook))] });
    const status = await run(pod);
    const it = killer();
    const first = it.killPod(pod, status, 600, abort.signal);
    await bed.until('hooked-12-ends');
    abort.abort();
    await expect(first).rejects.toThrow();
    expect(stops).toEqual([]);

    await it.killPod(pod, await bed.read(pod), 5, new AbortController().signal);
    expect(ends('main-12', 'hooked-12')).toEqual(['hooked-12', 'main-12']);
  });

  test('a pod that only the runtime has runs no hook', async () => {
    const pod = podOf({ containers: [server('main-13', preStop(exec(bed.say('hooked-13-ends'))))] });
    await killer().killPod(undefined, await run(pod), 5, abort.signal);
    expect(ends('main-13', 'hooked-13')).toEqual(['main-13']);
  });
});

describe('aborted', () => {
  test('before the kill began: nothing is stopped', async () => {
    const pod = podOf({ containers: [server('main-14')] });
    const status = await run(pod);
    abort.abort();
    await expect(killer().killPod(pod, status, undefined, abort.signal)).rejects.toThrow();
    expect([stops, await states(pod)]).toEqual([[], { 'main-14': 'running' }]);
  });

  test('while a sidecar waits: the kill ends at once, leaves no timer and stops nothing later', async () => {
    const clock = new VirtualClock();
    const pod = podOf({
      initContainers: [server('side-15', { restartPolicy: 'Always' })],
      containers: [server('main-15', preStop({ sleep: { seconds: 20 } }))],
    });
    const killed = killer(clock).killPod(pod, await run(pod), undefined, abort.signal);
    killed.catch(() => undefined);
    await settled();
    abort.abort();
    await expect(killed).rejects.toThrow();
    await clock.advance(60_000);
    expect([stops, clock.armed]).toEqual([[], 0]);
    expect(await states(pod)).toEqual({ 'main-15': 'running', 'side-15': 'running' });
  });
});

describe('one container', () => {
  test('is stopped with an event, and the other containers keep running', async () => {
    const pod = podOf({ containers: [server('one-16'), server('other-16')] });
    const status = await run(pod);
    const { id } = status.containers.find(({ name }) => name === 'one-16')!;
    const kill = { id, name: 'one-16', reason: '', message: 'Container one-16 definition changed' } as const;
    await killer().killContainer(pod, status, kill, abort.signal);
    expect(await states(pod)).toEqual({ 'one-16': 'exited', 'other-16': 'running' });
    expect(bed.events).toEqual(['Normal Killing: Container one-16 definition changed']);
  });

  test.each([
    ['LivenessProbe', 7],
    ['', 30],
  ] as const)('killed for "%s" gets %d s', async (reason, seconds) => {
    const livenessProbe = { exec: { command: ['true'] }, terminationGracePeriodSeconds: 7 };
    const pod = podOf({ containers: [server('probed', { livenessProbe })] });
    const status = await run(pod);
    const { id } = status.containers[0]!;
    await killer().killContainer(pod, status, { id, name: 'probed', reason, message: '' }, abort.signal);
    expect(stops).toEqual([['probed', seconds]]);
  });

  test('a container that the runtime does not have is no error', async () => {
    const pod = podOf({ containers: [server('absent')] });
    const kill = { id: 'gone', name: 'absent', reason: '', message: '' } as const;
    await killer().killContainer(pod, await bed.read(pod), kill, abort.signal);
    expect(stops).toEqual([]);
  });
});
