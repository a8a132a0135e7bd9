import { status } from '@grpc/grpc-js';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Probe, ProbeKind } from '../../../../src/agent/policies/probes/probe.ts';
import { probeContainer } from '../../../../src/agent/runtime/probes/prober.ts';
import type { RuntimeService } from '../../../../src/agent/runtime/service/runtime-service.ts';
import { callError } from '../../../../src/agent/runtime/cri/calls/channel.ts';
import { StateletError } from '../../../../src/types/errors.ts';
import type { Container } from '../../../../src/types/kubernetes.ts';
import { VirtualClock } from '../../../../src/simulation/node/virtual-clock.ts';
import { HealthServer } from '../../../support/health-server.ts';
import { podBed, type PodBed, podOf, shell } from '../pods/pod-bed.ts';
import { closedPort, closeServers, httpServer, tcpServer } from './servers.ts';

let bed: PodBed;
let containerId: string;
let clock: VirtualClock;
let runtime: RuntimeService;

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
  runtime = bed.runtime;
  bed.events.length = 0;
});

interface Options {
  readonly kind?: ProbeKind;
  readonly container?: Partial<Container>;
  readonly podIP?: string | undefined;
  readonly signal?: AbortSignal;
}

function run(probe: Probe, options: Options = {}) {
  const {
    kind = 'liveness',
    container,
    podIP = '127.0.0.1',
    signal = new AbortController().signal,
  } = options;
  const probed = { name: 'main', ...container, [`${kind}Probe`]: probe };
  const target = { kind, pod: podOf({ containers: [probed] }), container: probed };
  return probeContainer({ ...bed.context, clock }, { runtime, target, containerId, podIP }, signal);
}
const exec = (script: string, more: Probe = {}): Probe => ({
  exec: { command: ['sh', '-c', script] },
  timeoutSeconds: 30,
  ...more,
});

describe('exec', () => {
  test('good when the command is', async () => {
    expect(await run(exec('exit 0'))).toBe('Success');
    expect(bed.events).toEqual([]);
  });

  test('bad when the command is, with what it said', async () => {
    expect(await run(exec('echo so; echo sad >&2; exit 7'), { kind: 'readiness' })).toBe('Failure');
    expect(bed.events).toEqual(['Warning Unhealthy: Readiness probe failed: so\nsad\n']);
  });

  test('no more than 10 KiB of that is kept', async () => {
    await run(exec('head -c 100000 /dev/zero; exit 1'));
    expect(bed.events[0]).toHaveLength('Warning Unhealthy: Liveness probe failed: '.length + 10 * 1024);
  });

  test('sees the literal values of the environment', async () => {
    const container = { env: [{ name: 'CODE', value: '5' }] };
    expect(await run(exec('exit $(CODE)'), { container })).toBe('Failure');
    expect(await run(exec('[ $(CODE) = 5 ]'), { container })).toBe('Success');
  });

  test('that takes too long is a failure', async () => {
    expect(await run(exec('sleep 1000', { timeoutSeconds: 1 }), { kind: 'startup' })).toBe('Failure');
    expect(bed.events).toEqual([
      'Warning Unhealthy: Startup probe failed: command timed out: "sh -c sleep 1000" timed out after 1s',
    ]);
  });

  test('that the runtime cannot carry out is tried three times, and says nothing then', async () => {
    let tries = 0;
    runtime = {
      ...bed.runtime,
      execSync: () => Promise.reject(new StateletError('NotFound', `no container (${String((tries += 1))})`)),
    };
    expect(await run(exec('exit 0'))).toBe('Error');
    expect(bed.events).toEqual([
      'Warning Unhealthy: Liveness probe errored and resulted in unknown state: no container (3)',
    ]);
  });

  test('a command that the runtime cannot run has an event with the message and code of the runtime', async () => {
    const details = 'failed to exec in container';
    const answer = callError('ExecSync', 'unix:///run/x.sock', { code: status.UNKNOWN, details });
    runtime = { ...bed.runtime, execSync: () => Promise.reject(answer) };
    expect(await run(exec('exit 0'), { kind: 'readiness' })).toBe('Error');
    expect(bed.events).toEqual([
      `Warning Unhealthy: Readiness probe errored and resulted in unknown state: rpc error: code = Unknown desc = ${details}`,
    ]);
  });

  test('that succeeds at the second try is good', async () => {
    const tries = [() => Promise.reject(new Error('busy'))];
    runtime = { ...bed.runtime, execSync: (...args) => tries.pop()?.() ?? bed.runtime.execSync(...args) };
    expect(await run(exec('exit 0'))).toBe('Success');
    expect(bed.events).toEqual([]);
  });

  test('aborted: it is not tried again, and nothing is reported', async () => {
    const abort = new AbortController();
    runtime = {
      ...bed.runtime,
      execSync: () => {
        abort.abort();
        return Promise.reject(new Error('gone'));
      },
    };
    await expect(run(exec('exit 0'), { signal: abort.signal })).rejects.toMatchObject({ name: 'AbortError' });
    expect(bed.events).toEqual([]);
  });
});

describe('httpGet', () => {
  test.each([
    [200, 'Success'],
    [299, 'Success'],
    [304, 'Success'],
    [399, 'Success'],
    [400, 'Failure'],
    [500, 'Failure'],
  ])('%i: %s', async (code, outcome) => {
    const port = await httpServer((_, response) => response.writeHead(code).end());
    expect(await run({ httpGet: { port } })).toBe(outcome);
  });

  test("a failure is reported by its code, never by the server's text", async () => {
    const port = await httpServer((_, response) => response.writeHead(503).end('a secret'));
    await run({ httpGet: { port: 'web' } }, { container: { ports: [{ name: 'web', containerPort: port }] } });
    expect(bed.events).toEqual([
      'Warning Unhealthy: Liveness probe failed: HTTP probe failed with statuscode: 503',
    ]);
  });

  test('a redirect to another host is good, with a warning', async () => {
    const port = await httpServer((_, response) =>
      response.writeHead(302, { Location: 'http://elsewhere.invalid/' }).end('moved'),
    );
    expect(await run({ httpGet: { port } })).toBe('Success');
    expect(bed.events).toEqual([
      'Warning ProbeWarning: Liveness probe warning: Probe terminated redirects, Response body: moved',
    ]);
  });

  test('no answer in time is a failure; the limit covers all of it', async () => {
    const port = await httpServer(() => void clock.advance(2000));
    expect(await run({ httpGet: { port }, timeoutSeconds: 2 })).toBe('Failure');
    expect(bed.events[0]).toContain('(Client.Timeout exceeded while awaiting headers)');
    expect(clock.armed).toBe(0);
  });

  test('an answer that breaks off says nothing', async () => {
    let requests = 0;
    const port = await httpServer((_, response) => {
      requests += 1;
      response.writeHead(200, { 'Content-Length': 100 });
      response.write('half', () => response.destroy());
    });
    expect(await run({ httpGet: { port } })).toBe('Error');
    expect(requests).toBe(3);
  });

  test('a port that the container does not have has no result, and is reported', async () => {
    expect(await run({ httpGet: { port: 'admin' } })).toBe('Error');
    expect(bed.events[0]).toContain(
      'Liveness probe errored and resulted in unknown state: container main has no port of the name "admin"',
    );
  });

  test('a pod that has no address yet says nothing', async () => {
    expect(await run({ httpGet: { port: 80 } }, { podIP: '' })).toBe('Error');
    expect(bed.events[0]).toContain('the pod has no address yet');
  });
});

describe('tcpSocket', () => {
  test('a connection is enough', async () => {
    expect(await run({ tcpSocket: { port: await tcpServer() } })).toBe('Success');
    expect(bed.events).toEqual([]);
  });

  test('none is a failure', async () => {
    const port = await closedPort();
    expect(await run({ tcpSocket: { port, host: '127.0.0.1' } }, { podIP: undefined })).toBe('Failure');
    expect(bed.events).toEqual([
      `Warning Unhealthy: Liveness probe failed: dial tcp 127.0.0.1:${String(port)}: connect: connection refused`,
    ]);
  });
});

describe('grpc', () => {
  test('SERVING is good, all else a failure', async () => {
    const server = new HealthServer();
    server.notServing.add('');
    const port = await server.listen();
    expect(await run({ grpc: { port, service: 'x' } })).toBe('Success');
    expect(await run({ grpc: { port } })).toBe('Failure');
    server.stop();
    expect(bed.events).toEqual([
      'Warning Unhealthy: Liveness probe failed: service unhealthy (responded with "NOT_SERVING")',
    ]);
  });
});

test('a probe without a handler has no result, and is reported', async () => {
  expect(await run({})).toBe('Error');
  expect(bed.events[0]).toContain('the probe has no handler');
});
