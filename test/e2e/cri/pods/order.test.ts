/** The order in which the containers of a pod start and end: init containers, sidecars, hooks, one deadline for all. */
import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import type { Container, Pod } from '../../../../src/types/kubernetes.ts';
import { containerStatus } from '../../../support/daemon.ts';
import { waitFor } from '../../../support/wait-for.ts';
import { describeOnDaemon } from '../../../support/cri-suite.ts';

describeOnDaemon('the order of a pod’s containers', ({ bed, daemon }) => {
  const notesOf = (name: string) => join(bed.dir, 'notes', name);

  /** The spec of a pod whose containers write into `/notes`. */
  const withNotes = (name: string): Partial<Pod['spec']> => {
    mkdirSync(notesOf(name), { recursive: true });
    return { volumes: [{ name: 'notes', hostPath: { path: notesOf(name) } }] };
  };
  const volumeMounts = [{ name: 'notes', mountPath: '/notes' }];
  const writer = (name: string, script: string, fields: Partial<Container> = {}) =>
    bed.shell(script, { name, volumeMounts, ...fields });
  /** Records its start and its end; ends at once on SIGTERM. */
  const noted = (name: string, fields: Partial<Container> = {}) =>
    writer(
      name,
      `trap "echo -${name} >> /notes/log; exit 0" TERM; echo +${name} >> /notes/log; while :; do sleep 1000 & wait $!; done`,
      fields,
    );
  const lines = (name: string) => {
    const file = join(notesOf(name), 'log');
    return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
  };
  const wrote = (name: string, line: string) =>
    waitFor(() => lines(name).includes(line), { what: `"${line}" of ${name}` });
  const gone = (name: string) =>
    daemon.waitFor(
      async () => !(await daemon.pods()).some(({ metadata }) => metadata.name.startsWith(`${name}-`)),
      { what: `${name} to be gone` },
    );
  /** For pods whose containers end at once: a busy machine may need longer than a few seconds for all of them. */
  const NO_HURRY = { terminationGracePeriodSeconds: 600 };
  const note = (name: string) => ['sh', '-c', `echo ${name} >> /notes/log`];

  test('init containers run one by one, each after the start of the sidecars before it, and all containers end in reverse order', async () => {
    bed.apply('ordered', {
      ...withNotes('ordered'),
      ...NO_HURRY,
      initContainers: [
        writer('first', 'echo first >> /notes/log; sleep 0.2; echo first done >> /notes/log'),
        noted('early', {
          restartPolicy: 'Always',
          lifecycle: { postStart: { exec: { command: note('early hook') } } },
          startupProbe: {
            exec: { command: ['test', '-e', '/notes/go'] },
            periodSeconds: 1,
            timeoutSeconds: 10,
            failureThreshold: 1000,
          },
        }),
        writer('second', 'echo second >> /notes/log'),
        noted('late', { restartPolicy: 'Always' }),
      ],
      containers: [noted('main')],
    });
    await wrote('ordered', 'early hook');
    const waiting = await daemon.until(
      'ordered',
      'waiting for its sidecar',
      ({ status }) =>
        status?.initContainerStatuses?.find(({ name }) => name === 'early')?.state?.running !== undefined,
    );
    expect(waiting.status?.phase).toBe('Pending');
    expect(lines('ordered')).not.toContain('second');
    appendFileSync(join(notesOf('ordered'), 'go'), '');
    const pod = await daemon.running('ordered');
    expect(pod.status?.phase).toBe('Running');
    for (const name of ['early', 'late', 'main']) await wrote('ordered', `+${name}`);
    const started = lines('ordered');
    expect(started.filter((line) => line !== 'early hook' && line !== '+early')).toEqual([
      'first',
      'first done',
      'second',
      '+late',
      '+main',
    ]);
    bed.withdraw('ordered');
    await gone('ordered');
    expect(lines('ordered').slice(started.length)).toEqual(['-main', '-late', '-early']);
  });

  test('a failed init container is tried again, and later containers start only after its success', async () => {
    bed.apply('stubborn', {
      ...withNotes('stubborn'),
      initContainers: [writer('tries', 'echo try >> /notes/log; test "$(grep -c try /notes/log)" -ge 2')],
      containers: [noted('main')],
    });
    bed.apply('hopeless', {
      ...withNotes('hopeless'),
      restartPolicy: 'Never',
      initContainers: [writer('fails', 'echo try >> /notes/log; exit 3')],
      containers: [noted('main')],
    });
    const pod = await daemon.running('stubborn');
    await wrote('stubborn', '+main');
    expect(lines('stubborn')).toEqual(['try', 'try', '+main']);
    expect(containerOf(pod, 'tries')).toMatchObject({
      restartCount: 1,
      state: { terminated: { exitCode: 0, reason: 'Completed' } },
    });
    const failed = await daemon.inPhase('hopeless', 'Failed');
    expect(containerOf(failed, 'fails')?.state?.terminated).toMatchObject({ exitCode: 3, reason: 'Error' });
    expect(lines('hopeless')).toEqual(['try']);
  });

  test('an ended sidecar is started again, and ends when the containers of its pod have completed', async () => {
    bed.apply('job', {
      ...withNotes('job'),
      ...NO_HURRY,
      restartPolicy: 'Never',
      initContainers: [
        writer(
          'helper',
          'trap "echo -helper >> /notes/log; exit 0" TERM; echo +helper >> /notes/log; test "$(grep -c +helper /notes/log)" -ge 2 || exit 1; while :; do sleep 1000 & wait $!; done',
          { restartPolicy: 'Always' },
        ),
      ],
      containers: [
        writer(
          'main',
          'until test "$(grep -c +helper /notes/log)" -ge 2; do sleep 0.05; done; echo done >> /notes/log',
        ),
      ],
    });
    const pod = await daemon.inPhase('job', 'Succeeded');
    await wrote('job', '-helper');
    expect(lines('job')).toEqual(['+helper', '+helper', 'done', '-helper']);
    expect(containerOf(pod, 'helper')?.restartCount).toBe(1);
  });

  test('hooks run as exec, httpGet, tcpSocket and sleep, after the start and before the end', async () => {
    const requests: string[] = [];
    const server = createServer((request, response) => {
      requests.push(`${String(request.method)} ${String(request.url)}`);
      response.end();
    });
    let connections = 0;
    server.on('connection', () => (connections += 1));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const httpGet = (path: string) => ({ httpGet: { host: '127.0.0.1', port, path } });
    try {
      bed.apply('hooked', {
        ...withNotes('hooked'),
        ...NO_HURRY,
        containers: [
          noted('exec', {
            lifecycle: {
              postStart: { exec: { command: note('exec started') } },
              preStop: { exec: { command: note('exec stops') } },
            },
          }),
          noted('http', { lifecycle: { postStart: httpGet('/started'), preStop: httpGet('/stops') } }),
          noted('slept', { lifecycle: { preStop: { sleep: { seconds: 1 } } } }),
          noted('tcp', {
            lifecycle: {
              postStart: { tcpSocket: { host: '127.0.0.1', port } },
              preStop: { tcpSocket: { host: '127.0.0.1', port } },
            },
          }),
        ],
      });
      await daemon.running('hooked');
      // A shell that has not said so yet would not hear that it is to end.
      for (const name of ['exec', 'http', 'slept', 'tcp']) await wrote('hooked', `+${name}`);
      expect(lines('hooked')).toContain('exec started');
      expect(requests).toEqual(['GET /started']);
      const before = connections;
      bed.withdraw('hooked');
      await gone('hooked');
      const ended = lines('hooked');
      expect(ended.indexOf('exec stops')).toBeLessThan(ended.indexOf('-exec'));
      expect(ended).toEqual(expect.arrayContaining(['-exec', '-http', '-slept', '-tcp']));
      expect(requests).toEqual(['GET /started', 'GET /stops']);
      expect(connections).toBeGreaterThan(before);
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });

  test('a failed postStart hook kills its container; the event and the status have the cause', async () => {
    bed.apply('bad-hook', {
      containers: [
        bed.server({ lifecycle: { postStart: { exec: { command: ['sh', '-c', 'echo no way; exit 4'] } } } }),
      ],
    });
    const event = await daemon.event('bad-hook', 'FailedPostStartHook');
    expect(event.msg).toBe('PostStartHook failed');
    expect((await daemon.event('bad-hook', 'Killing')).msg).toBe('FailedPostStartHook');
    await daemon.until('bad-hook', 'waiting', (pod) =>
      ['PostStartHookError', 'CrashLoopBackOff'].includes(
        containerOf(pod, 'main')?.state?.waiting?.reason ?? '',
      ),
    );
  });

  test('preStop hook, SIGTERM and sidecars share one deadline: after the deadline, the remaining containers get the minimum', async () => {
    bed.apply('slow', {
      ...withNotes('slow'),
      // Long enough for a busy machine to begin the hook.
      terminationGracePeriodSeconds: 10,
      initContainers: [noted('sidecar', { restartPolicy: 'Always' })],
      containers: [
        writer('main', 'trap "echo TERM >> /notes/log" TERM; while :; do sleep 1000 & wait $!; done', {
          lifecycle: {
            preStop: { exec: { command: ['sh', '-c', 'echo stops >> /notes/log; exec sleep 1000'] } },
          },
        }),
      ],
    });
    await daemon.running('slow');
    await wrote('slow', '+sidecar');
    bed.withdraw('slow');
    // Neither the hook nor the shell would ever end by itself.
    await gone('slow');
    expect(lines('slow').slice(0, 2)).toEqual(['+sidecar', 'stops']);
    expect(await daemon.event('slow', 'FailedPreStopHook')).toMatchObject({ level: 'warn' });
  });

  test('termination messages come from the file of the container, or from its log with FallbackToLogsOnError', async () => {
    const ends = (name: string, script: string, fields: Partial<Container> = {}) =>
      bed.shell(script, { name, ...fields });
    const fallback = { terminationMessagePolicy: 'FallbackToLogsOnError' };
    bed.apply('messages', {
      restartPolicy: 'Never',
      containers: [
        ends('file', 'printf "from file" > /dev/termination-log; echo log; exit 1'),
        ends('own-path', 'printf "own file" > /tmp/words; exit 0', { terminationMessagePath: '/tmp/words' }),
        ends('no-fallback', 'echo log; exit 1'),
        ends('fallback', 'echo first; echo "from log"; exit 1', fallback),
        ends('fallback-of-success', 'echo log', fallback),
        ends('long', 'head -c 9000 /dev/zero | tr "\\0" x > /dev/termination-log; exit 1'),
      ],
    });
    const pod = await daemon.inPhase('messages', 'Failed');
    const message = (name: string) => containerOf(pod, name)?.state?.terminated?.message;
    expect(message('file')).toBe('from file');
    expect(message('own-path')).toBe('own file');
    expect(message('no-fallback')).toBeUndefined();
    expect(message('fallback')).toBe('first\nfrom log\n');
    expect(message('fallback-of-success')).toBeUndefined();
    // The limit of the API for all messages of a pod, divided by its containers.
    expect(message('long')).toBe('x'.repeat((12 * 1024) / 6));
  });

  function containerOf(pod: Pod, name: string) {
    const { initContainerStatuses = [] } = pod.status ?? {};
    return containerStatus(pod, name) ?? initContainerStatuses.find((status) => status.name === name);
  }
});
