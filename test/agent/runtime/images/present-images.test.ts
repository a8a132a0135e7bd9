import { expect, test } from '@jest/globals';
import { imageInUse, PresentImages } from '../../../../src/agent/runtime/images/present-images.ts';
import { settled, VirtualClock } from '../../../../src/simulation/node/virtual-clock.ts';
import type { Image } from '../../../../src/types/cri.ts';

const IMAGE: Image = { id: 'sha256:1', repoTags: ['app:1'], size: 1 };

/** A runtime whose answers the test releases. */
function bed() {
  const clock = new VirtualClock();
  const calls: { readonly name: string; readonly answer: (image: Image | undefined) => void }[] = [];
  const imageStatus = (name: string) => {
    const { promise, resolve } = Promise.withResolvers<Image | undefined>();
    calls.push({ name, answer: resolve });
    return promise;
  };
  return { clock, calls, images: new PresentImages({ imageStatus }, clock) };
}

test('checks at the same moment share one call, and a positive answer is kept for two seconds', async () => {
  const { clock, calls, images } = bed();
  const both = [images.find('app:1'), images.find('app:1')];
  await settled();
  calls[0]?.answer(IMAGE);
  expect(await Promise.all(both)).toEqual([{ imageRef: 'sha256:1' }, { imageRef: 'sha256:1' }]);
  await clock.advance(2_000);
  await images.find('app:1');
  expect(calls).toHaveLength(1);
  await clock.advance(1);
  const later = images.find('app:1');
  await settled();
  expect(calls).toHaveLength(2);
  calls[1]?.answer(undefined);
  expect(await later).toBeUndefined();
});

test('a negative answer is not used for a check that began during the call', async () => {
  const { calls, images } = bed();
  const first = images.find('app:1');
  await settled();
  const second = images.find('app:1');
  await settled();
  calls[0]?.answer(undefined);
  expect(await first).toBeUndefined();
  await settled();
  expect(calls).toHaveLength(2);
  calls[1]?.answer(IMAGE);
  expect(await second).toEqual({ imageRef: 'sha256:1' });
});

test.each(['app:1', 'sha256:1'])('an image that is forgotten as %s is checked again', async (name) => {
  const { calls, images } = bed();
  images.found('app:1', { imageRef: 'sha256:1' });
  images.forget(name);
  void images.find('app:1');
  await settled();
  expect(calls).toHaveLength(1);
});

test('an answer to a call from before `forget` is not kept', async () => {
  const { calls, images } = bed();
  const before = images.find('app:1');
  await settled();
  images.forget('app:1');
  calls[0]?.answer(IMAGE);
  await before;
  void images.find('app:1');
  await settled();
  expect(calls).toHaveLength(2);
});

test('the user of an image is its UID or its name; an empty name means no user', () => {
  expect(imageInUse('sha256:1', { uid: 0, username: '' })).toEqual({ imageRef: 'sha256:1', uid: 0 });
  expect(imageInUse('sha256:1', { username: 'app' })).toEqual({ imageRef: 'sha256:1', username: 'app' });
});
