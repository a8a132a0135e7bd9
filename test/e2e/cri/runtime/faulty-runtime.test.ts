/** A runtime that is missing, stops, restarts or does not answer; a network that is not ready. */
import { once } from 'node:events';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { type ContainerdBed } from '../../../support/containerd/containerd.ts';
import type { CriDaemonBed } from '../../../support/cri-daemon.ts';
import { describeOnContainerd } from '../../../support/cri-suite.ts';
import { containerStatus, type Daemon } from '../../../support/daemon.ts';
import { sendSignal } from '../../../support/send-signal.ts';
import { waitFor } from '../../../support/wait-for.ts';

describeOnContainerd('a faulty runtime', ({ containerd, openBed }) => {
  let bed: CriDaemonBed;

  beforeEach(() => {
    bed = openBed();
  });
  afterEach(async () => {
    containerd.resume();
    if (containerd.pid === undefined) await containerd.start();
  });

  const launch = (...flags: string[]) =>
    bed.launch(['--pod-manifest-path', bed.manifestDir, '--exit-with-pods', ...flags]);
  const health = async (daemon: Daemon) => {
    const response = await daemon.fetch('/healthz');
    return { ok: response.ok, text: await response.text() };
  };
  const unhealthy = (daemon: Daemon, ...parts: string[]) =>
    waitFor(
      async () => {
        const { ok, text } = await health(daemon);
        return !ok && parts.every((part) => text.includes(part));
      },
      { what: `/healthz to say ${parts.join()}` },
    );
  /** The tasks of the runtime itself. */
  const tasks = async () =>
    (await containerd.ctr('tasks', 'list')).split('\n').filter((line) => line.includes('RUNNING'));

  test('no runtime listens at the endpoint: /healthz and the log name it with advice; SIGTERM ends the daemon', async () => {
    const plainFile = join(bed.dir, 'file.sock');
    writeFileSync(plainFile, '');
    const other = createServer((_request, response) => response.end('not CRI')).listen(
      join(bed.dir, 'http.sock'),
    );
    await once(other, 'listening');
    try {
      for (const path of [join(bed.dir, 'none.sock'), plainFile, join(bed.dir, 'http.sock')]) {
        const daemon = launch('--container-runtime-endpoint', `unix://${path}`);
        await daemon.serves();
        await unhealthy(daemon, path);
        expect((await health(daemon)).text).toMatch(/[Cc]heck that/);
        const line = await daemon.warning('Container runtime is not ready');
        expect(JSON.stringify(line)).toContain(path);
        expect(await daemon.end()).toBe(0);
      }
    } finally {
      other.close();
    }
  });

  test('the runtime is down at the start: /healthz reports it, and pods run when the runtime is up', async () => {
    await containerd.kill();
    bed.apply('early', { containers: [bed.server()] });
    const daemon = launch();
    await daemon.serves();
    await unhealthy(daemon, containerd.endpoint);
    bed.apply('later', { containers: [bed.server()] });
    bed.apply('dropped', { containers: [bed.server()] });
    expect(await daemon.pods()).toEqual([]);
    bed.withdraw('dropped');
    await containerd.start();
    await Promise.all(['early', 'later'].map((name) => daemon.running(name)));
    await daemon.onlyPods('early', 'later');
    expect(await health(daemon)).toEqual({ ok: true, text: 'ok' });
  });

  test('the runtime stops: containers keep running; ended containers and changed pods are handled when it is back', async () => {
    const daemon = await bed.start();
    const names = ['stays', 'dies', 'withdrawn', 'changed'];
    for (const name of names) bed.apply(name, { containers: [bed.server()] });
    bed.apply('job', {
      containers: [bed.shell('trap "exit 3" TERM; sleep 1000 & wait')],
      restartPolicy: 'Never',
    });
    const [stays, dies, , changed] = await Promise.all(names.map((name) => daemon.running(name)));
    const job = await daemon.running('job');
    if (!stays || !dies || !changed) throw new Error('unreachable');
    const ids = [stays, dies, changed].map((pod) => bed.idOf(pod));
    const [diesPid, jobPid] = await Promise.all([dies, job].map((pod) => pidOf(containerd, bed.idOf(pod))));

    for (let round = 1; round <= 2; round += 1) {
      await containerd.kill();
      if (round === 2) {
        sendSignal(diesPid ?? NaN, 'SIGKILL');
        sendSignal(jobPid ?? NaN, 'SIGTERM');
        bed.withdraw('withdrawn');
        bed.apply('changed', { containers: [bed.server({ env: [{ name: 'NEW', value: 'yes' }] })] });
      }
      bed.apply(`added-${round}`, { containers: [bed.server()] });
      await unhealthy(daemon, containerd.endpoint);
      expect(containerStatus(await daemon.running('stays'))).toEqual(containerStatus(stays));
      await containerd.start();
      await daemon.running(`added-${round}`);
    }

    const restarted = await daemon.until('dies', 'restarted', (pod) => {
      const status = containerStatus(pod);
      return status?.restartCount === 1 && status.state?.running !== undefined;
    });
    expect(containerStatus(restarted)?.lastState?.terminated?.exitCode).toBe(137);
    expect(containerStatus(await daemon.inPhase('job', 'Failed'))?.state?.terminated?.exitCode).toBe(3);
    const anew = await daemon.until(
      'changed',
      'changed',
      ({ spec, status }) => spec.containers[0]?.env !== undefined && status?.phase === 'Running',
    );
    expect(bed.idOf(anew)).not.toBe(ids[2]);
    await daemon.onlyPods('stays', 'dies', 'changed', 'job', 'added-1', 'added-2');
    expect(containerStatus(await daemon.running('stays'))).toEqual(containerStatus(stays));
    // One container and one sandbox for each pod.
    await waitFor(async () => (await tasks()).length === 2 * 5, { what: 'five sandboxes and containers' });
  });

  test('the runtime hangs: calls end by their deadline, and all changes are handled when it answers again', async () => {
    const patient = await bed.startToLeavePods();
    for (const name of ['stays', 'withdrawn']) bed.apply(name, { containers: [bed.server()] });
    const [stays] = await Promise.all(['stays', 'withdrawn'].map((name) => patient.running(name)));
    await patient.end();
    const daemon = await bed.start('--runtime-request-timeout', '3s');
    await Promise.all(['stays', 'withdrawn'].map((name) => daemon.running(name)));
    await containerd.pause();
    bed.apply('added', { containers: [bed.server()] });
    bed.withdraw('withdrawn');
    await unhealthy(daemon, containerd.endpoint, 'has not answered');
    expect((await daemon.pods()).map(({ metadata }) => metadata.name)).toContain('added-node-a');
    containerd.resume();
    await daemon.running('added');
    await daemon.onlyPods('stays', 'added');
    expect(containerStatus(await daemon.running('stays'))).toEqual(stays && containerStatus(stays));
    await waitFor(async () => (await tasks()).length === 4, { what: 'nothing to run twice' });
  });

  test('the runtime hangs: the daemon can be ended, before and after it was ready; the pods are adopted', async () => {
    const first = await bed.startToLeavePods();
    bed.apply('kept', { containers: [bed.server()] });
    const kept = await first.running('kept');
    await containerd.pause();
    bed.apply('hanging', { containers: [bed.server()] });
    await first.logged(
      'it to be added',
      ({ msg, pod }) => msg.startsWith('Added') && pod === 'default/hanging-node-a',
    );
    expect(await first.end()).toBe(0);
    const second = bed.launch(['--pod-manifest-path', bed.manifestDir]);
    await second.serves();
    expect((await health(second)).ok).toBe(false);
    expect(await second.end()).toBe(0);
    containerd.resume();
    const third = await bed.start();
    await third.running('hanging');
    expect(containerStatus(await third.running('kept'))).toEqual(containerStatus(kept));
  });

  test('the network is not ready: pods with hostNetwork run; the others wait with a reason, and start when it is ready', async () => {
    const conf = join(containerd.cniConfDir, '10-pods.conflist');
    const away = join(containerd.dir, 'away');
    mkdirSync(away, { recursive: true });
    await containerd.kill();
    renameSync(conf, join(away, 'conf'));
    await containerd.start();
    const daemon = await bed.start();
    bed.apply('on-host', { containers: [bed.server()] });
    for (const name of ['own', 'dropped'])
      bed.apply(name, { hostNetwork: false, containers: [bed.server()] });
    await daemon.running('on-host');
    const { msg } = await daemon.event('own', 'NetworkNotReady');
    expect(msg).toMatch(/^network is not ready: .*cni/i);
    const waiting = await daemon.inPhase('own', 'Pending');
    expect(containerStatus(waiting)?.state?.waiting?.reason).toBe('ContainerCreating');
    await daemon.event('dropped', 'NetworkNotReady');
    bed.withdraw('dropped');
    await daemon.onlyPods('on-host', 'own');
    // containerd notices a file that is written, but not a file that is moved there.
    writeFileSync(conf, readFileSync(join(away, 'conf')));
    expect((await daemon.running('own')).status?.podIP).toMatch(/^10\./);
  });
});

async function pidOf(containerd: ContainerdBed, id: string): Promise<number> {
  const line = (await containerd.ctr('tasks', 'list')).split('\n').find((text) => text.startsWith(id));
  return Number(line?.split(/\s+/)[1]);
}
