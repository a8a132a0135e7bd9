import { describe, expect, test } from '@jest/globals';
import { StateletError } from '../../../../src/types/errors.ts';
import { settled } from '../../../../src/simulation/node/virtual-clock.ts';
import { imageBed, type ImageBed, refusal } from './image-bed.ts';

const ALWAYS = { imagePullPolicy: 'Always' };
const NEVER = { imagePullPolicy: 'Never' };

/** Requests the image, lets the pull fail with that message, and returns the failure. */
async function failedPull({ ensure, pulls }: ImageBed, message: string, uid = 'pod') {
  const before = pulls.length;
  const asking = refusal(ensure(uid, ALWAYS));
  await settled();
  if (pulls.length > before) pulls.at(-1)?.fail(message);
  return asking;
}

describe('an image that is present', () => {
  test('is used, with its user, and has an event', async () => {
    const bed = imageBed();
    bed.add('app:1', { uid: 1000 });
    expect(await bed.ensure('pod', {})).toEqual({ imageRef: 'id of app:1', uid: 1000 });
    bed.add('app:2', { username: 'app' });
    expect(await bed.ensure('pod', { image: 'app:2', ...NEVER })).toEqual({
      imageRef: 'id of app:2',
      username: 'app',
    });
    expect(bed.events).toEqual([
      'pod: Normal Pulled Container image "app:1" already present on machine and can be accessed by the pod',
      'pod: Normal Pulled Container image "app:2" already present on machine and can be accessed by the pod',
    ]);
  });

  test('is looked up with the default tag if its name has none', async () => {
    const bed = imageBed();
    bed.add('app:latest');
    await bed.ensure('pod', { image: 'app', imagePullPolicy: 'IfNotPresent' });
    expect(bed.asked).toEqual(['app:latest']);
    expect(bed.events[0]).toContain('image "app" already');
  });

  test('is looked up once for pods that start together, and again for later pods', async () => {
    const bed = imageBed();
    bed.add('app:1');
    await Promise.all(Array.from({ length: 30 }, (_, i) => bed.ensure(`pod-${i}`, {})));
    await bed.clock.advance(2000);
    await bed.ensure('just in time', {});
    expect(bed.asked).toEqual(['app:1']);
    await bed.clock.advance(1);
    await bed.ensure('late', {});
    expect(bed.asked).toEqual(['app:1', 'app:1']);
  });

  test.each(['app:1', 'id of app:1'])('and that was forgotten as %s is looked up again', async (name) => {
    const bed = imageBed();
    bed.add('app:1');
    await bed.ensure('pod', {});
    bed.present.clear();
    bed.manager.forget(name);
    expect(await refusal(bed.ensure('pod', NEVER))).toMatchObject({ reason: 'ErrImageNeverPull' });
  });

  test('is found by pods that need it after it was pulled', async () => {
    const bed = imageBed();
    const answered = Promise.withResolvers<undefined>();
    const look = bed.runtime.imageStatus;
    bed.runtime.imageStatus = async (image) => {
      const seen = await look(image);
      await answered.promise;
      return seen;
    };
    const first = refusal(bed.ensure('early', NEVER));
    await settled();
    bed.add('app:1');
    const second = refusal(bed.ensure('late', NEVER));
    answered.resolve(undefined);
    expect([(await first).reason, (await second).reason]).toEqual(['ErrImageNeverPull', undefined]);
  });
});

describe('an image that is not present', () => {
  test('is pulled, with events that have its times and size', async () => {
    const bed = imageBed();
    const asking = bed.ensure('pod', {});
    await bed.clock.advance(1234);
    expect(bed.pulls.map(({ image }) => image)).toEqual(['app:1']);
    bed.pulls[0]?.succeed();
    expect(await asking).toEqual({ imageRef: 'id of app:1' });
    expect(bed.events).toEqual([
      'pod: Normal Pulling Pulling image "app:1"',
      'pod: Normal Pulled Successfully pulled image "app:1" in 1.234s (1.234s including waiting). Image size: 789 bytes.',
    ]);
  });

  test('is found by the next pod after it was pulled for one pod', async () => {
    const bed = imageBed();
    const asking = bed.ensure('pod', {});
    await settled();
    bed.pulls[0]?.succeed();
    await asking;
    await bed.ensure('next', {});
    expect(bed.pulls).toHaveLength(1);
    expect(bed.events.at(-1)).toContain('next: Normal Pulled Container image "app:1" already present');
  });

  test('is not pulled with the policy Never', async () => {
    const bed = imageBed();
    const message = 'Container image "app:1" is not present with pull policy of Never';
    expect(await refusal(bed.ensure('pod', NEVER))).toEqual({
      reason: 'ErrImageNeverPull',
      message,
      retryAt: undefined,
    });
    expect(bed.pulls).toEqual([]);
    expect(bed.events).toEqual([
      `pod: Warning ErrImageNeverPull ${message}`,
      'pod: Warning Failed Error: ErrImageNeverPull',
    ]);
  });

  test('is pulled once for two pods that need it at the same moment', async () => {
    const bed = imageBed();
    const asking = [bed.ensure('one', {}), bed.ensure('two', {})];
    await settled();
    expect(bed.pulls).toHaveLength(1);
    const late = bed.ensure('three', {});
    await bed.clock.advance(500);
    bed.pulls[0]?.succeed();
    expect(await Promise.all([...asking, late])).toEqual(Array(3).fill({ imageRef: 'id of app:1' }));
    expect(bed.pulls).toHaveLength(1);
  });
});

test('with an invalid name: InvalidImageName, without a call to the runtime', async () => {
  const bed = imageBed();
  const message =
    'Failed to apply default image tag "App": couldn\'t parse image name "App": invalid reference format: ' +
    'repository name (library/App) must be lowercase';
  expect(await refusal(bed.ensure('pod', { image: 'App' }))).toMatchObject({
    reason: 'InvalidImageName',
    message,
  });
  expect([bed.asked, bed.pulls]).toEqual([[], []]);
  expect(bed.events).toEqual([
    `pod: Warning InspectFailed ${message}`,
    'pod: Warning Failed Error: InvalidImageName',
  ]);
});

test('if the runtime cannot answer: ImageInspectError for all pods that need the image', async () => {
  const bed = imageBed();
  bed.runtime.imageStatus = () => Promise.reject(new StateletError('Unavailable', 'no connection'));
  const answers = await Promise.all([refusal(bed.ensure('one', {})), refusal(bed.ensure('two', {}))]);
  for (const answer of answers) {
    expect(answer).toMatchObject({
      reason: 'ImageInspectError',
      message: 'Failed to inspect image "app:1": no connection',
    });
  }
  expect(bed.events).toContain('one: Warning InspectFailed Failed to inspect image "app:1": no connection');
});

describe('a pull that fails', () => {
  test('is ErrImagePull, with an event; a second later the status is ImagePullBackOff', async () => {
    const bed = imageBed();
    expect(await failedPull(bed, 'no such image')).toEqual({
      reason: 'ErrImagePull',
      message: 'no such image',
      retryAt: bed.clock.now() + 1_000,
    });
    expect(bed.events).toEqual([
      'pod: Normal Pulling Pulling image "app:1"',
      'pod: Warning Failed Failed to pull image "app:1": no such image',
      'pod: Warning Failed Error: ErrImagePull',
    ]);
  });

  test('is not tried again before the end of its back-off, whose message has the cause', async () => {
    const bed = imageBed();
    const failedAt = bed.clock.now();
    await failedPull(bed, 'no such image');
    bed.events.length = 0;
    expect(await refusal(bed.ensure('pod', ALWAYS))).toEqual({
      reason: 'ImagePullBackOff',
      message: 'Back-off pulling image "app:1": ErrImagePull: no such image',
      retryAt: failedAt + 10_000,
    });
    expect(bed.pulls).toHaveLength(1);
    expect(bed.events).toEqual([
      'pod: Normal BackOff Back-off pulling image "app:1"',
      'pod: Warning Failed Error: ImagePullBackOff',
    ]);
  });

  test('waits 10, 20, 40, 80, 160, 300 and 300 s', async () => {
    const bed = imageBed();
    const waits: number[] = [];
    for (let i = 0; i < 7; i++) {
      expect(await failedPull(bed, 'no such image')).toMatchObject({ reason: 'ErrImagePull' });
      const { retryAt = NaN } = await refusal(bed.ensure('pod', ALWAYS));
      const waitMs = retryAt - bed.clock.now();
      await bed.clock.advance(waitMs - 1);
      expect(await failedPull(bed, '')).toMatchObject({ reason: 'ImagePullBackOff' });
      await bed.clock.advance(1);
      waits.push(waitMs / 1000);
    }
    expect(waits).toEqual([10, 20, 40, 80, 160, 300, 300]);
  });

  test('starts with a new back-off after 10 minutes without a try, also without garbage collection', async () => {
    for (const collect of [true, false]) {
      const bed = imageBed();
      for (const waitMs of [10_000, 600_001]) {
        await failedPull(bed, 'no such image');
        await bed.clock.advance(waitMs);
      }
      if (collect) bed.manager.collectGarbage();
      await failedPull(bed, 'no such image');
      const { retryAt } = await refusal(bed.ensure('pod', ALWAYS));
      expect(retryAt).toBe(bed.clock.now() + 10_000);
    }
  });

  test('delays neither other pods nor other images', async () => {
    const bed = imageBed();
    await failedPull(bed, 'no such image');
    expect(await failedPull(bed, 'no such image', 'other')).toMatchObject({ reason: 'ErrImagePull' });
    const asking = bed.ensure('pod', { image: 'app:2' });
    await settled();
    bed.pulls.at(-1)?.succeed();
    expect(await asking).toEqual({ imageRef: 'id of app:2' });
  });

  test('because the registry is unavailable has a reason of its own', async () => {
    expect(await failedPull(imageBed(), 'RegistryUnavailable: timeout')).toMatchObject({
      reason: 'RegistryUnavailable',
      message: 'image pull failed for app:1 because the registry is unavailable: timeout',
    });
  });

  test('does not prevent the use of an image that is present by now', async () => {
    const bed = imageBed();
    await failedPull(bed, 'no such image');
    bed.add('app:1');
    expect(await bed.ensure('pod', {})).toEqual({ imageRef: 'id of app:1' });
  });
});

describe('several pulls', () => {
  const three = (bed: ImageBed) => ['a:1', 'b:1', 'c:1'].map((image) => bed.ensure(`of ${image}`, { image }));
  const begun = ({ pulls }: ImageBed) => pulls.map(({ image }) => image);

  test('serialized: run one at a time, in the order of the requests; a failed pull does not delay the next', async () => {
    const bed = imageBed();
    const [a, b, c] = three(bed);
    const failure = refusal(a!);
    await bed.clock.advance(1000);
    expect(begun(bed)).toEqual(['a:1']);
    bed.pulls[0]?.fail('no such image');
    await bed.clock.advance(2000);
    expect(begun(bed)).toEqual(['a:1', 'b:1']);
    bed.pulls[1]?.succeed();
    await settled();
    expect(begun(bed)).toEqual(['a:1', 'b:1', 'c:1']);
    bed.pulls[2]?.succeed();
    expect(await Promise.all([failure, b, c])).toMatchObject([
      { reason: 'ErrImagePull' },
      { imageRef: 'id of b:1' },
      { imageRef: 'id of c:1' },
    ]);
    expect(bed.events).toContain(
      'of b:1: Normal Pulled Successfully pulled image "b:1" in 2s (3s including waiting). Image size: 789 bytes.',
    );
  });

  test.each([
    [2, ['a:1', 'b:1']],
    [0, ['a:1', 'b:1', 'c:1']],
    [undefined, ['a:1', 'b:1', 'c:1']],
  ])('in parallel, with a limit of %s: %j begin at once', async (maxParallelImagePulls, expected) => {
    const bed = imageBed({
      serializeImagePulls: false,
      ...(maxParallelImagePulls !== undefined && { maxParallelImagePulls }),
    });
    const asking = three(bed);
    await settled();
    expect(begun(bed)).toEqual(expected);
    for (const i of asking.keys()) {
      bed.pulls[i]?.succeed();
      await settled();
    }
    expect(await Promise.all(asking)).toHaveLength(3);
  });

  test('with Always: pods that wait share one pull, which begins after the last of them has asked', async () => {
    const bed = imageBed();
    const first = bed.ensure('first', ALWAYS);
    await settled();
    const others = Promise.all(Array.from({ length: 29 }, (_, i) => bed.ensure(`pod-${i}`, ALWAYS)));
    await settled();
    expect(bed.pulls).toHaveLength(1);
    bed.pulls[0]?.succeed();
    await first;
    await settled();
    bed.pulls[1]?.succeed();
    expect(await others).toHaveLength(29);
    expect(bed.pulls).toHaveLength(2);
  });

  test('beyond the rate fail with "pull QPS exceeded"', async () => {
    const bed = imageBed({ serializeImagePulls: false, registryPullQPS: 1, registryBurst: 2 });
    const [, , c] = three(bed);
    expect(await refusal(c!)).toMatchObject({ reason: 'ErrImagePull', message: 'pull QPS exceeded' });
    expect(begun(bed)).toEqual(['a:1', 'b:1']);
  });

  test('have no limit where qps is 0', async () => {
    const bed = imageBed({ serializeImagePulls: false, registryPullQPS: 0, registryBurst: 1 });
    void three(bed);
    await settled();
    expect(begun(bed)).toEqual(['a:1', 'b:1', 'c:1']);
  });
});

describe('a pull whose pod ends', () => {
  test('is aborted and leaves no back-off, and the next pull begins', async () => {
    const bed = imageBed();
    const ending = new AbortController();
    const given = bed.ensure('ending', {}, ending.signal);
    const next = bed.ensure('next', { image: 'b:1' });
    await settled();
    const reason = new Error('the pod ends');
    ending.abort(reason);
    await expect(given).rejects.toBe(reason);
    await settled();
    expect(bed.pulls.map(({ image, isAborted }) => [image, isAborted()])).toEqual([
      ['app:1', true],
      ['b:1', false],
    ]);
    bed.pulls[1]?.succeed();
    await next;
    expect(bed.events.filter((event) => event.startsWith('ending'))).toEqual([
      'ending: Normal Pulling Pulling image "app:1"',
    ]);
    const again = bed.ensure('ending', {});
    await settled();
    bed.pulls[2]?.succeed();
    expect(await again).toEqual({ imageRef: 'id of app:1' });
  });

  test('continues for another pod that needs it', async () => {
    const bed = imageBed();
    const ending = new AbortController();
    const given = bed.ensure('ending', {}, ending.signal);
    const other = bed.ensure('other', {});
    await settled();
    ending.abort();
    await expect(given).rejects.toMatchObject({ name: 'AbortError' });
    bed.pulls[0]?.succeed();
    expect(await other).toEqual({ imageRef: 'id of app:1' });
    expect(bed.pulls).toHaveLength(1);
  });

  test('is removed from the queue if it has not begun', async () => {
    const bed = imageBed();
    const first = bed.ensure('first', {});
    const ending = new AbortController();
    const given = bed.ensure('ending', { image: 'b:1' }, ending.signal);
    await settled();
    ending.abort();
    await expect(given).rejects.toMatchObject({ name: 'AbortError' });
    bed.pulls[0]?.succeed();
    await first;
    await settled();
    expect(bed.pulls.map(({ image }) => image)).toEqual(['app:1']);
  });

  test('is rejected at once if the runtime does not answer', async () => {
    const bed = imageBed();
    bed.runtime.imageStatus = () => new Promise(() => undefined);
    const ending = new AbortController();
    const given = bed.ensure('ending', {}, ending.signal);
    await settled();
    ending.abort();
    await expect(given).rejects.toMatchObject({ name: 'AbortError' });
  });
});

test('each event names the container', async () => {
  const { add, containers, ensure, events, runtime } = imageBed();
  add('app:1');
  await ensure('a', {});
  runtime.pullImage = () => Promise.reject(new Error('no'));
  const missing = { image: 'app:2' };
  for (const container of [
    missing,
    missing,
    { image: 'UPPER//' },
    { ...missing, imagePullPolicy: 'Never' },
  ]) {
    await expect(ensure('a', container)).rejects.toThrow();
  }
  const reasons = events.map((event) => event.split(' ')[2]);
  expect(new Set(reasons)).toEqual(
    new Set(['Pulled', 'Pulling', 'Failed', 'BackOff', 'InspectFailed', 'ErrImageNeverPull']),
  );
  expect(new Set(containers)).toEqual(new Set(['main']));
});

test('an image is looked up and pulled with the annotations of its pod', async () => {
  const bed = imageBed();
  const asking = bed.ensure('pod', {});
  await settled();
  bed.pulls[0]?.succeed();
  await asking;
  expect(bed.asked).toEqual(['app:1', 'id of app:1']);
  expect(bed.annotations).toEqual([{ for: 'pod' }, { for: 'pod' }, { for: 'pod' }]);
});
