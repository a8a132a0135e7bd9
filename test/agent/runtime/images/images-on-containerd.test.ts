/** Pulls from real registries by a real containerd. */
import { systemClock } from '../../../../src/system/timer.ts';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { CRASH_LOOP_BACK_OFF } from '../../../../src/agent/policies/pod-actions/back-off.ts';
import { createCriRuntime } from '../../../../src/agent/runtime/cri/cri-runtime.ts';
import type { ImageError } from '../../../../src/agent/runtime/node/pod-node.ts';
import { ImageManager } from '../../../../src/agent/runtime/images/image-manager.ts';
import { createKeyring } from '../../../../src/agent/runtime/images/keyring.ts';
import type { RuntimeService } from '../../../../src/agent/runtime/service/runtime-service.ts';
import { type ContainerdBed, startContainerd } from '../../../support/containerd/containerd.ts';
import { busyboxImage } from '../../../support/containerd/images.ts';
import { type Registry, startRegistry } from '../../../support/containerd/registry.ts';
import { describeWithContainerd, SET_UP_TIMEOUT_MS } from '../../../support/containerd/suite.ts';
import { VirtualClock } from '../../../../src/simulation/node/virtual-clock.ts';
import { waitFor } from '../../../support/wait-for.ts';
import { podOf, sandboxOf } from './image-bed.ts';
import { testContext, recorderOf } from '../../../support/test-context.ts';
import { silentLogger } from '../../../support/silent-logger.ts';

const ACCOUNT = { username: 'node', password: 'open sesame' };

describeWithContainerd('images from a registry, by containerd', () => {
  let containerd: ContainerdBed;
  let runtime: RuntimeService;
  let open: Registry;
  let closed: Registry;
  let rootDir: string;
  let clock: VirtualClock;
  let events: string[];
  let warnings: string[];
  let manager: ImageManager;

  beforeAll(async () => {
    containerd = await startContainerd();
    runtime = createCriRuntime(testContext({ clock: systemClock }), {
      endpoint: containerd.endpoint,
      requestTimeoutMs: 20_000,
    });
    open = await startRegistry();
    closed = await startRegistry({ auth: ACCOUNT });
  }, SET_UP_TIMEOUT_MS);
  afterAll(async () => {
    await runtime.close();
    await containerd.stop();
    await open.stop();
    await closed.stop();
  });
  beforeEach(() => {
    rootDir = mkdtempSync(join(tmpdir(), 'statelet-pull-'));
    clock = new VirtualClock();
    events = [];
    warnings = [];
    manager = newManager();
  });
  afterEach(() => rmSync(rootDir, { recursive: true }));

  function newManager(): ImageManager {
    const places = { rootDir, workingDir: rootDir, homeDir: rootDir, systemDir: rootDir };
    const context = testContext({
      clock,
      recorder: recorderOf({
        event: (_pod, type, reason, message) => void events.push(`${type} ${reason} ${message}`),
      }),
      logger: { ...silentLogger, warn: (_fields, message) => void warnings.push(message) },
    });
    return new ImageManager(context, {
      runtime,
      keyring: createKeyring(context, places),
      backOff: CRASH_LOOP_BACK_OFF,
      serializeImagePulls: true,
      registryPullQPS: 5,
      registryBurst: 10,
    });
  }
  const ensure = (image: string, policy = 'IfNotPresent', signal = new AbortController().signal) => {
    const pod = podOf('pod');
    const container = { name: 'main', image, imagePullPolicy: policy };
    return manager.ensureImage(pod, container, sandboxOf(pod), signal);
  };
  const refusal = async (work: Promise<unknown>): Promise<ImageError> => {
    const error = await work.then(
      () => undefined,
      (reason: unknown) => reason as ImageError,
    );
    if (error === undefined) throw new Error('the image was pulled');
    return error;
  };
  const dockerConfig = (password: string) => {
    const auth = Buffer.from(`${ACCOUNT.username}:${password}`).toString('base64');
    writeFileSync(join(rootDir, 'config.json'), JSON.stringify({ auths: { [closed.host]: { auth } } }));
  };

  /** So many times, and no more: the registry may log a request after it has answered. */
  const pulled = async (name: string, times: number) => {
    const manifests = () => open.requests(name).filter((line) => line.startsWith('HEAD')).length;
    await waitFor(() => manifests() >= times, {
      what: `pull ${times} of ${name} in the log of the registry`,
    });
    expect(manifests()).toBe(times);
  };

  test('a pull brings the image, with its user', async () => {
    const image = await open.push('pulled:1', busyboxImage('pulled:1', { User: '1000' }));
    const { imageRef, uid } = await ensure(image);
    const known = await runtime.imageStatus(imageRef);
    expect(uid).toBe(1000);
    expect(known?.repoTags).toEqual([image]);
    expect(events).toEqual([
      `Normal Pulling Pulling image "${image}"`,
      expect.stringMatching(
        `^Normal Pulled Successfully pulled image "${image}" in .* Image size: ${known?.size} bytes\\.$`,
      ),
    ]);
  });

  test('the user of an image may be a name', async () => {
    const image = await open.push('by-name:1', busyboxImage('by-name:1', { User: 'app' }));
    expect(await ensure(image)).toMatchObject({ username: 'app' });
  });

  test('a present image is pulled again only with Always; a removed image is pulled again', async () => {
    const image = await open.push('again:1');
    const { imageRef } = await ensure(image);
    expect(await ensure(image)).toEqual({ imageRef });
    await pulled('again', 1);
    expect(await ensure(image, 'Always')).toEqual({ imageRef });
    await pulled('again', 2);
    await runtime.removeImage(imageRef);
    manager.forget(imageRef);
    expect(await refusal(ensure(image, 'Never'))).toMatchObject({ reason: 'ErrImageNeverPull' });
    expect(await ensure(image)).toEqual({ imageRef });
  });

  test('for two pods that need an image at the same moment, the image is pulled once', async () => {
    const image = await open.push('shared:1');
    const [one, two] = await Promise.all([ensure(image), ensure(image)]);
    expect(one).toEqual(two);
    await pulled('shared', 1);
  });

  test('an image that does not exist: ErrImagePull, then a back-off that doubles, and no request before its end', async () => {
    const image = `${open.host}/missing:1`;
    const waits: number[] = [];
    for (let pulls = 1; pulls <= 4; pulls++) {
      const failure = await refusal(ensure(image));
      expect(failure).toMatchObject({ reason: 'ErrImagePull' });
      expect(failure.message).toContain('not found');
      const waiting = await refusal(ensure(image));
      expect(waiting).toMatchObject({
        reason: 'ImagePullBackOff',
        message: `Back-off pulling image "${image}": ErrImagePull: ${failure.message}`,
      });
      await pulled('missing', pulls);
      waits.push((waiting.retryAt ?? NaN) - clock.now());
      await clock.advance(waits.at(-1) ?? 0);
    }
    expect(waits).toEqual([10_000, 20_000, 40_000, 80_000]);
    await open.push('missing:1');
    await ensure(image);
    expect(events.at(-1)).toContain('Normal Pulled Successfully pulled');
  });

  test('a registry with a password gets the credentials of the docker configuration file', async () => {
    const image = await closed.push('secret:1');
    dockerConfig(ACCOUNT.password);
    const { imageRef } = await ensure(image);
    expect((await runtime.imageStatus(imageRef))?.repoTags).toEqual([image]);
  });

  test.each([
    ['a wrong password', 'close sesame'],
    ['no file', undefined],
  ])('with %s the pull fails with ErrImagePull until the file is corrected', async (what, password) => {
    const name = `mended-${what.replaceAll(' ', '-')}:1`;
    const image = await closed.push(name);
    if (password !== undefined) dockerConfig(password);
    const failure = await refusal(ensure(image));
    expect(failure).toMatchObject({ reason: 'ErrImagePull' });
    expect(failure.message).toMatch(/401|no basic auth credentials|authorization failed/iu);
    dockerConfig(ACCOUNT.password);
    expect(await refusal(ensure(image))).toMatchObject({ reason: 'ImagePullBackOff' });
    await clock.advance(10_000);
    await ensure(image);
    const told = [...events, ...warnings, failure.message].join('\n');
    expect(told).not.toMatch(/sesame/u);
  });

  test('an address without a registry: ErrImagePull with the cause', async () => {
    const failure = await refusal(ensure('127.0.0.1:1/nobody:1'));
    expect(failure).toMatchObject({ reason: 'ErrImagePull' });
    expect(failure.message).toContain('connection refused');
  });

  test('a pod that ends while its registry does not answer lets the next pull begin', async () => {
    const slow = await closed.push('slow:1');
    const quick = await open.push('quick:1');
    dockerConfig(ACCOUNT.password);
    await closed.pause();
    try {
      const ending = new AbortController();
      const given = ensure(slow, 'IfNotPresent', ending.signal);
      const next = ensure(quick);
      await waitFor(() => events.length === 2, { what: 'both pulls to be asked for' });
      ending.abort();
      await expect(given).rejects.toMatchObject({ name: 'AbortError' });
      expect(await next).toEqual({ imageRef: expect.stringMatching(/^sha256:/u) });
    } finally {
      closed.resume();
    }
  });
});
