import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { runPostStartHook, runPreStopHook } from '../../src/runtime/lifecycle-hooks.ts';
import type { Container } from '../../src/types/kubernetes.ts';
import { isRunning } from '../support/process-runtime.ts';
import { settled, VirtualClock } from '../support/virtual-clock.ts';
import { waitFor } from '../support/wait-for.ts';
import { podBed, type PodBed, podOf, runContainer, shell } from './pod-bed.ts';

type Lifecycle = NonNullable<Container['lifecycle']>;

let bed: PodBed;
let containerId: string;
let clock: VirtualClock;
let abort: AbortController;

beforeAll(async () => {
  bed = podBed();
  const pod = podOf({ containers: [shell('main', 'sleep 1000')] });
  const { sandboxId, sandboxConfig } = await bed.newSandbox(pod);
  containerId = await runContainer(bed.runtime, pod, pod.spec.containers[0]!, sandboxId, sandboxConfig);
});
afterAll(async () => bed.cleanup());
beforeEach(() => {
  clock = new VirtualClock();
  abort = new AbortController();
  bed.events.length = 0;
});

function target(lifecycle: Lifecycle) {
  const container = shell('main', 'sleep 1000', { lifecycle });
  const { runtime, recorder } = bed;
  return { runtime, recorder, clock, pod: podOf({ containers: [container] }), container, containerId };
}
const exec = (script: string) => ({ exec: { command: ['sh', '-c', script] } });
const postStart = (hook: Lifecycle['postStart']) =>
  runPostStartHook(target({ ...(hook && { postStart: hook }) }), abort.signal);
const preStop = (hook: Lifecycle['preStop'], graceSeconds = 30) =>
  runPreStopHook(target({ ...(hook && { preStop: hook }) }), graceSeconds, abort.signal);

/** Whether the promise has settled without being waited for. */
async function isDone(promise: Promise<unknown>): Promise<boolean> {
  let done = false;
  void promise.finally(() => (done = true)).catch(() => undefined);
  await settled();
  return done;
}

describe('postStart', () => {
  test('a container without one: nothing', async () => {
    await postStart(undefined);
  });

  test('exec runs in the container and resolves when the command was good', async () => {
    await postStart(exec(bed.say('post-started')));
    expect(bed.lines()).toContain('post-started');
  });

  test('exec that fails rejects with exit code and what was said', async () => {
    await expect(postStart(exec('echo not today >&2; exit 3'))).rejects.toThrow(
      'command exited with 3: not today',
    );
  });

  test('a sleep takes as long as it says: there is no time limit', async () => {
    const hook = postStart({ sleep: { seconds: 100_000 } });
    await clock.advance(99_999_000);
    expect(await isDone(hook)).toBe(false);
    await clock.advance(1_000);
    await hook;
  });

  test('other handlers are refused by name, not ignored', async () => {
    const httpGet = { path: '/', port: 80 };
    await expect(postStart({ httpGet })).rejects.toMatchObject({ kind: 'Unimplemented' });
  });
});

describe('preStop', () => {
  test('a container without one: nothing', async () => {
    await preStop(undefined);
  });

  test('one that fails is told and does not hold up the stop', async () => {
    await preStop(exec('exit 4'));
    expect(bed.events).toEqual(['Warning FailedPreStopHook: PreStopHook failed: command exited with 4']);
  });

  test('exec gets the grace period and no more; that it took too long is told', async () => {
    await preStop(exec('sleep 1000'), 1);
    expect(bed.events).toHaveLength(1);
    expect(bed.events[0]).toContain('did not end within 1 s');
  });

  test('a sleep gets the grace period and no more', async () => {
    const hook = preStop({ sleep: { seconds: 1000 } }, 5);
    await clock.advance(4_999);
    expect(await isDone(hook)).toBe(false);
    await clock.advance(1);
    await hook;
    expect(bed.events).toEqual([]);
  });

  test('a shorter sleep ends when it is over', async () => {
    const hook = preStop({ sleep: { seconds: 2 } }, 5);
    await clock.advance(2_000);
    await hook;
    expect(clock.armed).toBe(0);
  });
});

describe('aborted', () => {
  test('a sleep ends at once and leaves no timer', async () => {
    const hook = postStart({ sleep: { seconds: 1000 } });
    await settled();
    abort.abort();
    await expect(hook).rejects.toMatchObject({ kind: 'Canceled' });
    expect(clock.armed).toBe(0);
  });

  test.each([['sleep', { sleep: { seconds: 1000 } }] as const, ['exec', exec('sleep 1000')] as const])(
    'before it began: %s does not begin',
    async (_name, handler) => {
      abort.abort();
      await expect(postStart(handler)).rejects.toThrow();
      await expect(preStop(handler)).rejects.toThrow();
      expect(clock.armed).toBe(0);
    },
  );

  test('exec ends at once, and so does its command', async () => {
    const hook = preStop(exec(`${bed.say('$$')}; sleep 1000`));
    const pid = await waitFor(() => Number(bed.lines().find((line) => /^\d+$/.test(line))) || undefined, {
      what: 'the hook to run',
    });
    expect(isRunning(pid)).toBe(true);
    abort.abort();
    await expect(hook).rejects.toMatchObject({ name: 'AbortError' });
    await waitFor(() => !isRunning(pid), { what: 'the end of the hook' });
    expect(bed.events).toEqual([]);
  });
});
