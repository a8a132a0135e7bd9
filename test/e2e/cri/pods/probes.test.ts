/** Probes of real containers: the results show in the status, in events and in restarts. */
import { expect, test } from '@jest/globals';
import type { Container, ContainerStatus, Pod } from '../../../../src/types/kubernetes.ts';
import { SERVING } from '../../../support/cri-daemon.ts';
import { describeOnDaemon } from '../../../support/cri-suite.ts';
import { containerStatus, NODE_NAME, stateOf } from '../../../support/daemon.ts';
import { HealthServer } from '../../../support/health-server.ts';
import { waitFor } from '../../../support/wait-for.ts';

const EVERY_SECOND = { periodSeconds: 1, timeoutSeconds: 10, failureThreshold: 1 };

describeOnDaemon('probes of real containers', ({ bed, daemon, restart }) => {
  const exists = (file: string, more = {}) => ({
    ...EVERY_SECOND,
    exec: { command: ['test', '-e', file] },
    ...more,
  });
  const sh = (pod: Pod, script: string, container = 'main') => bed.exec(pod, ['sh', '-c', script], container);
  const until = (
    name: string,
    what: string,
    isWanted: (status: ContainerStatus, pod: Pod) => boolean,
    container = 'main',
  ) =>
    daemon.until(name, what, (pod) => {
      const status = containerStatus(pod, container);
      return status !== undefined && isWanted(status, pod);
    });
  const ready = (name: string, wanted = true) =>
    until(name, wanted ? 'ready' : 'not ready', (status, pod) => {
      const condition = pod.status?.conditions?.find(({ type }) => type === 'Ready')?.status;
      return status.ready === wanted && condition === (wanted ? 'True' : 'False');
    });
  const eventsOf = (name: string, reason: string) =>
    daemon.log.filter((line) => line.pod?.endsWith(`/${name}-${NODE_NAME}`) && line.reason === reason);
  const told = (name: string, reason: string, text: string) =>
    waitFor(() => eventsOf(name, reason).find(({ msg }) => msg.includes(text)), {
      what: `${reason} of ${name}: ${text}; it is ${JSON.stringify(eventsOf(name, reason))}`,
    });

  test('the startup probe delays the others; readiness changes; liveness restarts, with the grace period of the probe', async () => {
    const container: Partial<Container> = {
      startupProbe: exists('/tmp/started', { failureThreshold: 1000 }),
      readinessProbe: exists('/tmp/ready'),
      livenessProbe: exists('/tmp/alive', { terminationGracePeriodSeconds: 1 }),
    };
    const deaf = 'trap "" TERM; while [ ! -e /tmp/end ]; do sleep 0.1; done';
    bed.apply('steps', { terminationGracePeriodSeconds: 1000, containers: [bed.shell(deaf, container)] });
    await told('steps', 'Unhealthy', 'Startup probe failed: ');
    const starting = await daemon.running('steps');
    expect(containerStatus(starting)).toMatchObject({ started: false, ready: false, restartCount: 0 });
    await sh(starting, 'touch /tmp/alive /tmp/ready /tmp/started');
    const up = await ready('steps');
    expect(containerStatus(up)).toMatchObject({ started: true, restartCount: 0 });
    expect(eventsOf('steps', 'Unhealthy').filter(({ msg }) => !msg.startsWith('Startup'))).toEqual([]);

    await sh(up, 'rm /tmp/ready');
    const unready = await ready('steps', false);
    expect(unready.status?.conditions?.find(({ type }) => type === 'Ready')?.reason).toBe(
      'ContainersNotReady',
    );
    expect(containerStatus(unready)).toMatchObject({ started: true, restartCount: 0 });
    await sh(up, 'touch /tmp/ready');
    await ready('steps');

    await sh(up, 'rm /tmp/alive');
    await told('steps', 'Unhealthy', 'Liveness probe failed: ');
    await told('steps', 'Killing', 'Container main failed liveness probe, will be restarted');
    const again = await until(
      'steps',
      'restarted',
      (status) => status.restartCount === 1 && status.state?.running !== undefined,
    );
    expect(containerStatus(again)).toMatchObject({
      started: false,
      ready: false,
      lastState: { terminated: { exitCode: 137, reason: 'Error' } },
    });
    await bed.execLast(again, ['touch', '/tmp/end']);
    bed.withdraw('steps');
  });

  test('httpGet with a port name and tcpSocket reach the pod on its network', async () => {
    const httpd = 'mkdir /www; touch /www/ok; trap "exit 0" TERM; httpd -f -p 8080 -h /www & wait';
    const late = `while [ ! -e /tmp/listen ]; do sleep 0.1; done; ${httpd.replace('8080', '8081')}`;
    bed.apply('networked', {
      hostNetwork: false,
      containers: [
        bed.shell(httpd, {
          ports: [{ name: 'web', containerPort: 8080 }],
          readinessProbe: { ...EVERY_SECOND, httpGet: { port: 'web', path: '/ok' } },
        }),
        bed.shell(late, { name: 'tcp', readinessProbe: { ...EVERY_SECOND, tcpSocket: { port: 8081 } } }),
      ],
    });
    const pod = await until('networked', 'ready', (status) => status.ready);
    const { podIP } = pod.status ?? {};
    await told(
      'networked',
      'Unhealthy',
      `Readiness probe failed: dial tcp ${podIP}:8081: connect: connection refused`,
    );
    await sh(pod, 'touch /tmp/listen', 'tcp');
    await until('networked', 'ready on TCP', (status) => status.ready, 'tcp');
    await ready('networked');
    await sh(pod, 'rm /www/ok');
    await ready('networked', false);
    await told('networked', 'Unhealthy', 'Readiness probe failed: HTTP probe failed with statuscode: 404');
    bed.withdraw('networked');
  });

  test('grpc calls the health service; a failed liveness probe restarts the container', async () => {
    const health = new HealthServer();
    const port = await health.listen();
    try {
      bed.apply('grpc', {
        containers: [
          bed.server({
            readinessProbe: { ...EVERY_SECOND, grpc: { port, service: 'ready' } },
            livenessProbe: { ...EVERY_SECOND, grpc: { port } },
          }),
        ],
      });
      await ready('grpc');
      health.notServing.add('ready');
      await ready('grpc', false);
      await told(
        'grpc',
        'Unhealthy',
        'Readiness probe failed: service unhealthy (responded with "NOT_SERVING")',
      );
      health.notServing.add('');
      await told(
        'grpc',
        'Unhealthy',
        'Liveness probe failed: service unhealthy (responded with "NOT_SERVING")',
      );
      health.notServing.clear();
      await until('grpc', 'restarted and ready', (status) => status.restartCount > 0 && status.ready);
      bed.withdraw('grpc');
    } finally {
      health.stop();
    }
  });

  test('an exec probe that takes too long fails, and its process is ended', async () => {
    // Of each `$$` in a command, one `$` is left.
    const command = ['sh', '-c', 'echo $$$$ >> /tmp/probes; exec sleep 600'];
    const readinessProbe = { ...EVERY_SECOND, timeoutSeconds: 1, exec: { command } };
    bed.apply('dawdling', { containers: [bed.server({ readinessProbe })] });
    await told(
      'dawdling',
      'Unhealthy',
      'Readiness probe failed: command timed out: "sh -c echo $$ >> /tmp/probes; exec sleep 600" timed out after 1s',
    );
    const pod = await ready('dawdling', false);
    const begun = await waitFor(
      async () => {
        const pids = (await sh(pod, 'cat /tmp/probes')).trim().split('\n');
        return pids.length > 2 && pids;
      },
      { what: 'it to be tried again' },
    );
    // Each try begins after the one before it has ended: only the last may still run.
    const ofEnded = begun.slice(0, -1).map((pid) => `/proc/${pid}`);
    expect(
      await sh(pod, `for one in /proc/1 ${ofEnded.join(' ')}; do [ ! -e $one ] || echo $one; done`),
    ).toBe('/proc/1\n');
    bed.withdraw('dawdling');
  });

  test('a sidecar must pass its startup probe before the next container starts; its liveness probe restarts only the sidecar', async () => {
    const side = bed.server({
      name: 'side',
      restartPolicy: 'Always',
      startupProbe: exists('/tmp/started', { failureThreshold: 1000 }),
      livenessProbe: exists('/tmp/started'),
    });
    bed.apply('with-sidecar', { initContainers: [side], containers: [bed.server()] });
    await told('with-sidecar', 'Unhealthy', 'Startup probe failed: ');
    const waiting = await until('with-sidecar', 'waiting', (status) => status.state?.waiting !== undefined);
    expect(containerStatus(waiting)?.state?.waiting?.reason).toBe('PodInitializing');
    expect(containerStatus(waiting, 'side')).toMatchObject({ started: false, ready: false });
    await sh(waiting, 'touch /tmp/started', 'side');
    const pod = await ready('with-sidecar');
    const id = bed.idOf(pod);
    await sh(pod, 'rm /tmp/started', 'side');
    await told('with-sidecar', 'Killing', 'Init container side failed liveness probe');
    const again = await until(
      'with-sidecar',
      'restarted',
      ({ restartCount, state }) => restartCount === 1 && state?.running !== undefined,
      'side',
    );
    expect(bed.idOf(again)).toBe(id);
    expect(containerStatus(again)).toMatchObject({
      restartCount: 0,
      state: { running: expect.anything() },
    });
    bed.withdraw('with-sidecar');
  });

  test('an ending pod keeps its readiness probe, and no probe kills or restarts it', async () => {
    const preStop = { exec: { command: ['sh', '-c', 'while [ ! -e /tmp/go ]; do sleep 0.1; done'] } };
    bed.apply('ending', {
      terminationGracePeriodSeconds: 600,
      containers: [
        bed.shell(`touch /tmp/ready /tmp/alive; ${SERVING}`, {
          lifecycle: { preStop },
          readinessProbe: exists('/tmp/ready'),
          livenessProbe: exists('/tmp/alive', { terminationGracePeriodSeconds: 1 }),
        }),
      ],
    });
    const pod = await ready('ending');
    bed.withdraw('ending');
    await daemon.inState('ending', 'Terminating.Stopping');
    await sh(pod, 'rm /tmp/ready /tmp/alive');
    expect(stateOf(await ready('ending', false))).toBe('Terminating.Stopping');
    await sh(pod, 'touch /tmp/ready');
    expect(stateOf(await ready('ending'))).toBe('Terminating.Stopping');
    await bed.execLast(pod, ['touch', '/tmp/go']);
    await daemon.waitFor(
      async () => (await daemon.pods()).every(({ metadata }) => metadata.uid !== pod.metadata.uid),
      {
        what: 'the pod to be gone',
      },
    );
    expect(eventsOf('ending', 'Unhealthy').filter(({ msg }) => msg.startsWith('Liveness'))).toEqual([]);
    expect(eventsOf('ending', 'Killing').map(({ msg }) => msg)).toEqual(['Stopping container main']);
  });

  test('the next agent continues the probes: ready containers stay ready, and nothing is restarted', async () => {
    bed.apply('adopted', {
      containers: [
        bed.shell(`touch /tmp/ready; ${SERVING}`, {
          startupProbe: exists('/tmp/ready'),
          readinessProbe: { ...exists('/tmp/ready'), periodSeconds: 3600 },
          livenessProbe: exists('/tmp/ready'),
        }),
      ],
    });
    const pod = await ready('adopted');
    await daemon.end('SIGKILL');
    await restart();
    const found = await ready('adopted');
    expect(bed.idOf(found)).toBe(bed.idOf(pod));
    await sh(found, 'rm /tmp/ready');
    await told('adopted', 'Killing', 'Container main failed liveness probe, will be restarted');
    bed.withdraw('adopted');
  });
});
