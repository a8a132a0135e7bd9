/** Images from a real registry on loopback: policies, secrets, back-off, limits, and unavailable registries. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import { type Registry, startRegistry } from '../../../support/containerd/registry.ts';
import type { CriDaemonBed } from '../../../support/cri-daemon.ts';
import { describeOnContainerd } from '../../../support/cri-suite.ts';
import { containerStatus, type Daemon, statelet } from '../../../support/daemon.ts';
import { TcpProxy } from '../../../support/tcp-proxy.ts';
import { waitFor } from '../../../support/wait-for.ts';

const AUTH = { username: 'puller', password: 'secret' };

describeOnContainerd('images', ({ containerd, openBed, closeBeds }) => {
  let registry: Registry;
  let locked: Registry;
  let proxy: TcpProxy;
  let bed: CriDaemonBed;

  beforeAll(async () => {
    [registry, locked] = await Promise.all([startRegistry(), startRegistry({ auth: AUTH })]);
    proxy = await new TcpProxy(registry.host).open();
  });
  afterAll(async () => {
    await proxy.close();
    await Promise.all([registry.stop(), locked.stop()]);
  });
  beforeEach(() => {
    bed = openBed();
  });

  /** The messages of the pod's events with that reason. */
  const texts = (daemon: Daemon, name: string, reason: string): string[] =>
    daemon.log
      .filter((line) => line.reason === reason && line.pod === `default/${name}-node-a`)
      .map(({ msg }) => msg);
  const waitsFor = (daemon: Daemon, name: string, reason: string, ...parts: string[]) =>
    daemon.until(name, `waiting: ${reason}`, (pod) => {
      const waiting = containerStatus(pod)?.state?.waiting;
      return waiting?.reason === reason && parts.every((part) => waiting.message?.includes(part));
    });
  const credentials = (password: string) => {
    const auth = Buffer.from(`${AUTH.username}:${password}`).toString('base64');
    writeFileSync(join(bed.rootDir, 'config.json'), JSON.stringify({ auths: { [locked.host]: { auth } } }));
  };

  test('images are pulled by their policy; a failed pull is reported and backs off, and the pod runs when the cause is gone', async () => {
    const images = {
      always: await registry.push('always:1'),
      locked: await locked.push('locked:1'),
      away: (await registry.push('away:1')).replace(registry.host, proxy.host),
    };
    await proxy.close();
    const daemon = await bed.start();
    credentials('wrong');
    const pod = (name: string, image: string, imagePullPolicy?: string) =>
      bed.apply(name, { containers: [bed.server({ image, imagePullPolicy })] });
    pod('always', images.always, 'Always');
    pod('locked', images.locked);
    pod('away', images.away);
    pod('missing', `${registry.host}/missing:1`);
    pod('never', `${registry.host}/never:1`, 'Never');
    pod('invalid', 'Not A Name!');
    pod('present', containerd.image, 'Never');

    const [always] = await Promise.all([daemon.running('always'), daemon.running('present')]);
    expect(texts(daemon, 'always', 'Pulling')).toEqual([`Pulling image "${images.always}"`]);
    expect(texts(daemon, 'always', 'Pulled')[0]).toMatch(
      new RegExp(
        `^Successfully pulled image "${images.always}" in [\\d.]+m?s \\([\\d.]+m?s including waiting\\)\\. Image size: \\d+ bytes\\.$`,
      ),
    );
    expect(texts(daemon, 'present', 'Pulled')).toEqual([
      `Container image "${containerd.image}" already present on machine and can be accessed by the pod`,
    ]);
    expect(texts(daemon, 'present', 'Pulling')).toEqual([]);
    expect(containerStatus(always)).toMatchObject({
      image: images.always,
      imageID: expect.stringContaining(`${registry.host}/always@sha256:`),
    });

    await waitsFor(daemon, 'locked', 'ImagePullBackOff', 'Back-off pulling image', 'ErrImagePull', '401');
    expect(texts(daemon, 'locked', 'Failed')[0]).toMatch(/^Failed to pull image ".*locked:1": .*401/);
    expect(texts(daemon, 'locked', 'Failed')[1]).toBe('Error: ErrImagePull');
    expect(texts(daemon, 'locked', 'BackOff')).toContain(`Back-off pulling image "${images.locked}"`);
    await waitsFor(daemon, 'away', 'ImagePullBackOff', 'connection refused');
    await waitsFor(
      ...([daemon, 'missing', 'ImagePullBackOff'] as const),
      `Back-off pulling image "${registry.host}/missing:1": ErrImagePull: rpc error: code = NotFound desc = `,
    );
    await waitsFor(daemon, 'never', 'ErrImageNeverPull', 'pull policy of Never');
    await waitsFor(daemon, 'invalid', 'InvalidImageName', 'Not A Name!');
    expect(texts(daemon, 'invalid', 'InspectFailed')[0]).toContain('Failed to apply default image tag');
    expect(await daemon.inPhase('locked', 'Pending')).toBeDefined();
    const { stdout: why } = await statelet('why', '--root-dir', bed.rootDir, 'locked');
    expect(why).toMatch(
      new RegExp(
        `^default/locked-node-a waits for the image ${images.locked} of container main: ${locked.host} answered 401 ` +
          '\\(Unauthorized\\)(; next try at .*, the \\d+(st|nd|rd|th) in \\d+s)?\\.\nThe container cannot start without it; 0 of 1 ',
      ),
    );

    credentials(AUTH.password);
    await proxy.open();
    await registry.push('missing:1');
    // The wrong image of a manifest is corrected in place.
    pod('invalid', containerd.image);
    bed.withdraw('never');
    await Promise.all(['locked', 'away', 'missing', 'invalid'].map((name) => daemon.running(name)));
    expect(JSON.stringify(daemon.log)).not.toContain(AUTH.password);

    // The requests at the registry show that a restart pulls again with Always, and not otherwise.
    const asked = registry.requests('always').length;
    bed.apply('again', {
      containers: [
        bed.server({ image: images.always, imagePullPolicy: 'Always' }),
        bed.server({ name: 'other', image: images.away }),
      ],
    });
    await daemon.running('again');
    const isPulledAgain = () => registry.requests('always').length > asked;
    await waitFor(isPulledAgain, { what: 'the log of the registry to have the pull' });
    const isOfManifest = (request: string) => /^GET .*\/manifests\/.* 200$/u.test(request);
    expect(registry.requests('away').filter(isOfManifest)).toHaveLength(1);
  });

  test('a registry that never answers delays the later pulls, but no pod without a pull; its pod can be deleted', async () => {
    await proxy.close();
    await proxy.open({ silent: true });
    const before = proxy.connections;
    const daemon = await bed.start();
    bed.apply('stuck', { containers: [bed.server({ image: `${proxy.host}/stuck:1` })] });
    await waitFor(() => proxy.connections > before, { what: 'the pull to hang' });
    const image = await registry.push('next:1');
    bed.apply('next', { containers: [bed.server({ image })] });
    bed.apply('other', { containers: [bed.server()] });
    await daemon.running('other');
    await daemon.event('next', 'Pulling');
    await daemon.inState('next', 'Syncing.Working');
    expect(registry.requests('next')).toEqual([]);

    bed.withdraw('stuck');
    await daemon.running('next');
    await daemon.onlyPods('next', 'other');
    expect(texts(daemon, 'stuck', 'Failed')).toEqual([]);
  });

  test('with parallel pulls no other pull waits for a registry that never answers; too many at once are refused', async () => {
    await closeBeds();
    bed = openBed({
      config: { serializeImagePulls: false, registryPullQPS: 1, registryBurst: 2 },
    });
    await proxy.close();
    await proxy.open({ silent: true });
    const before = proxy.connections;
    const daemon = await bed.start();
    bed.apply('stuck', { containers: [bed.server({ image: `${proxy.host}/stuck:1` })] });
    await waitFor(() => proxy.connections > before, { what: 'the pull to hang' });
    bed.apply('next', { containers: [bed.server({ image: await registry.push('parallel:1') })] });
    await daemon.running('next');

    const names = Array.from({ length: 8 }, (_, index) => `burst-${index}`);
    for (const name of names)
      bed.apply(name, { containers: [bed.server({ image: `${proxy.host}/${name}:1` })] });
    // A slow machine may start pods no faster than pulls are granted. Then all pulls hang now: they fail together, and are tried again together.
    await Promise.all(names.map((name) => daemon.event(name, 'Pulling')));
    await proxy.close();
    await daemon.logged('a pull too many', ({ msg }) => msg.includes('pull QPS exceeded'));
    // With each try other pods may be refused.
    const isRefused = (pod: Pod) => {
      const { reason, message } = containerStatus(pod)?.state?.waiting ?? {};
      return reason === 'ImagePullBackOff' && message?.includes('pull QPS exceeded');
    };
    await daemon.waitFor(async () => (await daemon.pods()).some(isRefused), {
      what: 'a pod to wait because of too many pulls',
    });
    for (const name of ['stuck', 'next', ...names]) bed.withdraw(name);
    await daemon.onlyPods();
  });
});
