import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { runPostStartHook, runPreStopHook } from '../../../../src/agent/runtime/pods/lifecycle-hooks.ts';
import type { Container } from '../../../../src/types/kubernetes.ts';
import { isRunning } from '../../../support/process-runtime.ts';
import { RecordedMeasurements } from '../../../support/recorded-measurements.ts';
import { settled, VirtualClock } from '../../../../src/simulation/node/virtual-clock.ts';
import { waitFor } from '../../../support/wait-for.ts';
import { podBed, type PodBed, podOf, shell } from './pod-bed.ts';
import { closedPort, closeServers, httpServer, httpsServer, tcpServer } from '../probes/servers.ts';

type Lifecycle = NonNullable<Container['lifecycle']>;

let bed: PodBed;
let containerId: string;
let clock: VirtualClock;
let abort: AbortController;
let measurements: RecordedMeasurements;

beforeAll(async () => {
  bed = podBed();
  const { containers } = await bed.run(podOf({ containers: [shell('main', 'sleep 1000')] }));
  containerId = containers[0]!.id;
});
afterAll(async () => {
  await closeServers();
  await bed.cleanup();
});
beforeEach(() => {
  clock = new VirtualClock();
  abort = new AbortController();
  measurements = new RecordedMeasurements();
  bed.events.length = 0;
  bed.debugged.length = 0;
});

function target(lifecycle: Lifecycle, podIP = '127.0.0.1') {
  const container = shell('main', 'sleep 1000', { lifecycle });
  const { context, runtime } = bed;
  const pod = podOf({ containers: [container] });
  return { ...context, measurements, clock, runtime, pod, container, containerId, podIP: () => podIP };
}
const exec = (script: string) => ({ exec: { command: ['sh', '-c', script] } });
const postStart = (hook: Lifecycle['postStart']) =>
  runPostStartHook(target({ ...(hook && { postStart: hook }) }), abort.signal);
const preStop = (hook: Lifecycle['preStop'], graceSeconds = 30) =>
  runPreStopHook(target({ ...(hook && { preStop: hook }) }), graceSeconds, abort.signal);

/** Whether the promise has settled already. */
async function isDone(promise: Promise<unknown>): Promise<boolean> {
  let done = false;
  void promise.finally(() => (done = true)).catch(() => undefined);
  await settled();
  return done;
}

describe('postStart', () => {
  test('a container without the hook: nothing happens', async () => {
    await postStart(undefined);
  });

  test('exec runs in the container and resolves when the command succeeds', async () => {
    await postStart(exec(bed.say('post-started')));
    expect(bed.lines()).toContain('post-started');
  });

  test('a failed exec rejects with its exit code and output; the log has the output, the event does not', async () => {
    const message = 'command exited with 3: not today';
    await expect(postStart(exec('echo not today >&2; exit 3'))).rejects.toThrow(message);
    expect(bed.events).toEqual(['Warning FailedPostStartHook: PostStartHook failed']);
    expect(bed.debugged).toEqual([`PostStartHook failed: ${message}`]);
  });

  test('a sleep takes its full time: there is no time limit', async () => {
    const hook = postStart({ sleep: { seconds: 100_000 } });
    await clock.advance(99_999_000);
    expect(await isDone(hook)).toBe(false);
    await clock.advance(1_000);
    await hook;
  });

  test('a hook without a handler is refused, not ignored', async () => {
    await expect(postStart({})).rejects.toMatchObject({ kind: 'InvalidArgument' });
  });
});

describe('preStop', () => {
  test('a container without the hook: nothing happens', async () => {
    await preStop(undefined);
  });

  test('a hook that fails has an event, and the stop goes on', async () => {
    await preStop(exec('echo secret >&2; exit 4'));
    expect(bed.events).toEqual(['Warning FailedPreStopHook: PreStopHook failed']);
    expect(bed.debugged).toEqual(['PreStopHook failed: command exited with 4: secret']);
  });

  test('exec gets the grace period and no more; a hook that takes too long has an event', async () => {
    await preStop(exec('sleep 1000'), 1);
    expect(bed.events).toEqual(['Warning FailedPreStopHook: PreStopHook failed']);
    expect(bed.debugged[0]).toContain('did not end within 1 s');
  });

  test('a sleep gets the grace period and no more', async () => {
    const hook = preStop({ sleep: { seconds: 1000 } }, 5);
    await clock.advance(4_999);
    expect(await isDone(hook)).toBe(false);
    await clock.advance(1);
    await hook;
    expect(bed.events).toEqual([]);
    expect(measurements.told).toEqual(['sleep cut short']);
  });

  test('a sleep shorter than the grace period ends by itself', async () => {
    const hook = preStop({ sleep: { seconds: 2 } }, 5);
    await clock.advance(2_000);
    await hook;
    expect(clock.armed).toBe(0);
    expect(measurements.told).toEqual([]);
  });
});

describe('httpGet', () => {
  test('any answer is a success, and the request has the user agent of the client', async () => {
    let agent: string | undefined = '';
    const port = await httpServer((incoming, response) => {
      agent = incoming.headers['user-agent'];
      response.writeHead(500).end();
    });
    await postStart({ httpGet: { port, path: '/started' } });
    expect(agent).toBe('kube-lifecycle/1.36');
    expect(bed.events).toEqual([]);
  });

  test('no answer fails the hook', async () => {
    const port = await closedPort();
    await expect(postStart({ httpGet: { port } })).rejects.toThrow('connection refused');
    await preStop({ httpGet: { port } });
    const address = `127.0.0.1:${String(port)}`;
    expect(bed.debugged.at(-1)).toBe(
      `PreStopHook failed: Get "http://${address}/": dial tcp ${address}: connect: connection refused`,
    );
  });

  test('with a host of its own the hook needs no pod IP; without a host it does', async () => {
    const port = await httpServer((_, response) => response.end());
    const run = (host: string) => {
      const hook = { postStart: { httpGet: { port, host } } };
      return runPostStartHook(target(hook, ''), abort.signal);
    };
    await run('127.0.0.1');
    await expect(run('')).rejects.toThrow('the pod has no address yet');
  });

  test('over HTTPS', async () => {
    const port = await httpsServer((_, response) => response.end());
    await postStart({ httpGet: { port, scheme: 'HTTPS' } });
    expect(bed.events).toEqual([]);
  });

  test('if the server speaks only HTTP, the request is sent again by HTTP, without confidential headers', async () => {
    let headers: unknown;
    const port = await httpServer((incoming, response) => {
      headers = incoming.headers;
      response.end();
    });
    const httpHeaders = [
      { name: 'authorization', value: 'Bearer x' },
      { name: 'X-A', value: '1' },
    ];
    await postStart({ httpGet: { port, scheme: 'HTTPS', httpHeaders } });
    expect(headers).toMatchObject({ 'x-a': '1' });
    expect(headers).not.toHaveProperty('authorization');
    expect(bed.events).toEqual([
      expect.stringMatching(/^Warning LifecycleHTTPFallback: .*got an HTTP response/u),
    ]);
    expect(measurements.told).toEqual(['hook by HTTP']);
  });

  test('before the stop it gets the grace period and no more', async () => {
    const port = await httpServer(() => void clock.advance(5_000));
    await preStop({ httpGet: { port } }, 5);
    expect(bed.debugged).toEqual([expect.stringContaining('context deadline exceeded')]);
    expect(clock.armed).toBe(0);
  });

  test('after the start it has no limit', async () => {
    const port = await httpServer((_, response) => {
      expect(clock.armed).toBe(0);
      response.end();
    });
    await postStart({ httpGet: { port } });
  });
});

describe('tcpSocket', () => {
  test('a connection is a success', async () => {
    await postStart({ tcpSocket: { port: await tcpServer() } });
  });

  test('a refused connection fails the hook', async () => {
    const port = await closedPort();
    await expect(postStart({ tcpSocket: { port } })).rejects.toThrow('connect: connection refused');
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

  test('httpGet ends at once', async () => {
    const port = await httpServer(() => abort.abort());
    await expect(preStop({ httpGet: { port } })).rejects.toMatchObject({ name: 'AbortError' });
    expect(clock.armed).toBe(0);
    expect(bed.events).toEqual([]);
  });

  test.each([
    ['sleep', { sleep: { seconds: 1000 } }] as const,
    ['exec', exec('sleep 1000')] as const,
    ['httpGet', { httpGet: { port: 1 } }] as const,
    ['tcpSocket', { tcpSocket: { port: 1 } }] as const,
  ])('before the hook began: %s does not begin', async (_name, handler) => {
    abort.abort();
    await expect(postStart(handler)).rejects.toThrow();
    await expect(preStop(handler)).rejects.toThrow();
    expect(clock.armed).toBe(0);
  });

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
