/** Single calls to the runtime fail while all others are answered: only the pod of the call is affected. */
import grpc from '@grpc/grpc-js';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { CriDaemonBed } from '../../../support/cri-daemon.ts';
import { describeOnContainerd } from '../../../support/cri-suite.ts';
import { CriProxy } from '../../../support/cri-proxy.ts';
import { containerStatus, type Daemon } from '../../../support/daemon.ts';
import { waitFor } from '../../../support/wait-for.ts';

describeOnContainerd('faulty calls', ({ containerd, openBed, closeBeds }) => {
  let proxy: CriProxy;
  let bed: CriDaemonBed;

  beforeEach(async () => {
    bed = openBed();
    proxy = await new CriProxy(containerd.endpoint).start();
  });
  afterEach(async () => {
    try {
      await closeBeds();
    } finally {
      proxy.stop();
    }
  });

  const start = (...flags: string[]) =>
    bed.start('--container-runtime-endpoint', proxy.endpoint, '--runtime-request-timeout', '10s', ...flags);
  const serve = (...names: string[]) => {
    for (const name of names) bed.apply(name, { containers: [bed.server()] });
  };
  const waitsFor = (daemon: Daemon, name: string, ...texts: string[]) =>
    daemon.until(name, `waiting: ${texts.join()}`, (pod) => {
      const { reason = '', message = '' } = containerStatus(pod)?.state?.waiting ?? {};
      return texts.every((text) => `${reason}: ${message}`.includes(text));
    });
  /** All containers and sandboxes of the runtime. */
  const containersOf = async (name: string) => {
    const filter = `labels."io.kubernetes.pod.name"==${name}-node-a`;
    return (await containerd.ctr('containers', 'list', '--quiet', filter)).split('\n').filter(Boolean);
  };
  /** The running ones among them. */
  const running = async (name: string) => {
    const ids = (await containerd.ctr('tasks', 'list'))
      .split('\n')
      .filter((line) => line.includes('RUNNING'));
    const own = await containersOf(name);
    return own.filter((id) => ids.some((line) => line.startsWith(id)));
  };
  const runsOnce = (name: string) =>
    waitFor(async () => (await running(name)).length === 2, {
      what: `${name} to have one sandbox and one container`,
    });
  const nothingIsLeft = (name: string) =>
    waitFor(async () => (await containersOf(name)).length === 0, {
      what: `nothing of ${name} to be left`,
    });
  const others = ['other-1', 'other-2', 'other-3', 'other-4', 'other-5'];

  test('a call that hangs or loses its answer ends by its deadline; other pods start; late calls start nothing twice', async () => {
    const daemon = await start();
    const held = {
      start: proxy.hold('StartContainer', 'start-node-a'),
      sandbox: proxy.hold('RunPodSandbox', 'sandbox-node-a'),
      create: proxy.hold('CreateContainer', 'create-node-a'),
    };
    const lost = {
      created: proxy.loseAnswers('CreateContainer', 'created-node-a'),
      started: proxy.loseAnswers('StartContainer', 'started-node-a'),
      ran: proxy.loseAnswers('RunPodSandbox', 'ran-node-a'),
    };
    const names = [...Object.keys(held), ...Object.keys(lost)];
    containerd.hold('network-node-a');
    bed.apply('network', { hostNetwork: false, containers: [bed.server()] });
    serve(...names, ...others);

    const answered = 'has not answered';
    await Promise.all([
      ...others.map((name) => daemon.running(name)),
      waitsFor(daemon, 'start', 'RunContainerError', answered, 'StartContainer'),
      waitsFor(daemon, 'create', 'CreateContainerError', answered, 'CreateContainer'),
      waitsFor(daemon, 'created', 'CreateContainerError', answered, 'CreateContainer'),
      daemon.logged('its event', ({ reason, msg }) => reason === 'Failed' && msg.includes('StartContainer')),
      ...['sandbox', 'ran', 'network'].map(async (name) => {
        const { msg } = await daemon.event(name, 'FailedCreatePodSandBox');
        expect(msg).toContain(answered);
      }),
    ]);
    // The next attempts are passed on; the held calls reach the runtime later.
    for (const fault of [...Object.values(held), ...Object.values(lost)]) fault.lift();
    containerd.release('network-node-a');
    await Promise.all([...names, 'network'].map((name) => daemon.running(name)));
    await Promise.all(Object.values(held).map((hold) => hold.release()));
    await Promise.all([...names, 'network'].map(runsOnce));
    for (const name of ['created', 'started', 'ran']) {
      expect(await running(name)).toContain(bed.idOf(await daemon.running(name)));
    }
  });

  test('I2, I3: pods whose start or stop hangs or fails are deleted: each ends in time, and the results of late calls are removed', async () => {
    const daemon = await start();
    const stops = ['stop-hangs', 'stop-fails', 'network-fails', 'stops'];
    serve(...stops, 'other');
    await Promise.all([...stops, 'other'].map((name) => daemon.running(name)));
    const held = {
      start: proxy.hold('StartContainer', 'start-node-a'),
      create: proxy.hold('CreateContainer', 'create-node-a'),
      sandbox: proxy.hold('RunPodSandbox', 'sandbox-node-a'),
    };
    const starts = Object.keys(held);
    const heldStop = proxy.hold('StopContainer', 'stop-hangs-node-a');
    const failing = [
      proxy.fail('StopContainer', grpc.status.UNKNOWN, 'no mood for stopping', 'stop-fails-node-a'),
      proxy.fail('StopPodSandbox', grpc.status.UNKNOWN, 'the network plugin failed', 'network-fails-node-a'),
    ];
    serve(...starts);
    await Promise.all(Object.values(held).map((hold) => hold.wasHit()));
    for (const name of [...starts, ...stops]) bed.withdraw(name);
    await Promise.all(starts.map((name) => daemon.inState(name, 'Syncing.Draining')));
    await daemon.onlyPods('stop-hangs', 'stop-fails', 'network-fails', 'other');

    const killError = async (name: string) => (await daemon.event(name, 'FailedKillPod')).msg;
    expect(await killError('stop-fails')).toBe('error killing pod: no mood for stopping');
    expect(await killError('network-fails')).toBe('error killing pod: the network plugin failed');
    expect(await killError('stop-hangs')).toContain('has not answered StopContainer');
    expect(await running('stop-fails')).toHaveLength(2);

    for (const fault of failing) fault.lift();
    await Promise.all([...Object.values(held), heldStop].map((hold) => hold.release()));
    await Promise.all(starts.map(nothingIsLeft));
    await daemon.onlyPods('other');
  });

  test('I10: a daemon is killed while it starts a container: the next daemon starts it, and late calls start nothing twice', async () => {
    const first = await start();
    const held = [
      proxy.hold('StartContainer', 'start-node-a'),
      proxy.hold('RunPodSandbox', 'sandbox-node-a'),
      proxy.hold('CreateContainer', 'create-node-a'),
    ];
    const names = ['start', 'sandbox', 'create'];
    serve(...names);
    await Promise.all(held.map((hold) => hold.wasHit()));
    await first.end('SIGKILL');
    for (const hold of held) hold.lift();
    const second = await start();
    await Promise.all(names.map((name) => second.running(name)));
    await Promise.all(held.map((hold) => hold.release()));
    await Promise.all(names.map(runsOnce));
    for (const name of names) {
      expect(await running(name)).toContain(bed.idOf(await second.running(name)));
    }
  });

  test('after NotFound for listed containers, failed lists and broken event streams, the pods are correct again', async () => {
    const daemon = await start();
    serve('before', 'gone', 'dies');
    const [before, , dies] = await Promise.all(
      ['before', 'gone', 'dies'].map((name) => daemon.running(name)),
    );
    if (!before || !dies) throw new Error('unreachable');
    const notFound = proxy.fail(
      'ContainerStatus',
      grpc.status.NOT_FOUND,
      'no such container',
      'unseen-node-a',
    );
    serve('unseen', 'seen');
    await daemon.running('seen');
    await notFound.wasHit();
    notFound.lift();
    await daemon.running('unseen');
    await runsOnce('unseen');

    const noList = proxy.fail('ListContainers', grpc.status.UNKNOWN, 'the database is locked');
    serve('later');
    bed.withdraw('gone');
    expect((await daemon.event('later', 'FailedSync')).msg).toContain('the database is locked');
    expect((await daemon.event('gone', 'FailedKillPod')).msg).toContain('the database is locked');
    expect(containerStatus(await daemon.running('before'))).toEqual(containerStatus(before));
    noList.lift();
    await daemon.running('later');
    await daemon.onlyPods('before', 'dies', 'unseen', 'seen', 'later');
    await runsOnce('later');

    expect(proxy.streams).toBeGreaterThan(0);
    proxy.breakStreams();
    await containerd.ctr('tasks', 'kill', '--signal', 'SIGKILL', bed.idOf(dies));
    await daemon.until('dies', 'restarted', (pod) => {
      const status = containerStatus(pod);
      return status?.restartCount === 1 && status.state?.running !== undefined;
    });
    await waitFor(() => proxy.streams > 0, { what: 'events to be listened to again' });
  });
});
