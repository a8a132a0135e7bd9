import { describe, expect, test } from '@jest/globals';
import {
  detectImages,
  diskUsage,
  evictionOrder,
  type ImageRecord,
  isPastMaxAge,
} from '../../../../src/agent/policies/garbage/unused-images.ts';
import type { Container, Image } from '../../../../src/types/cri.ts';

const image = (id: string, more: Partial<Image> = {}): Image => ({
  id,
  repoTags: [`${id}:1`],
  size: 10,
  ...more,
});
const usedBy = (fields: Partial<Container>): Container =>
  ({ id: 'c', image: '', imageRef: '', state: 'CONTAINER_EXITED', ...fields }) as Container;
const record = (id: string, more: Partial<ImageRecord> = {}): ImageRecord => ({
  id,
  sizeBytes: 10,
  firstDetected: 0,
  lastUsed: 0,
  inUse: false,
  ...more,
});

describe('detectImages', () => {
  const detect = (
    before: ReadonlyMap<string, ImageRecord> | undefined,
    images: readonly Image[],
    now: number,
    containers: readonly Container[] = [],
  ) => detectImages(before, { images, containers }, now);

  test('an image that is found at the first check counts as old, a later one as new', () => {
    const first = detect(undefined, [image('a')], 1000);
    expect(first.get('a')).toEqual(record('a'));
    const second = detect(first, [image('a'), image('b')], 2000);
    expect([...second.values()]).toEqual([record('a'), record('b', { firstDetected: 2000 })]);
  });

  test('after a first check without images, the next image is new', () => {
    expect(detect(detect(undefined, [], 1000), [image('a')], 2000).get('a')?.firstDetected).toBe(2000);
  });

  test('an image that a container mounts as a volume is in use, as is one that it has by its id', () => {
    const facts = { images: [image('a'), image('b'), image('c')], mountedImages: ['b'] };
    const records = detectImages(undefined, { ...facts, containers: [usedBy({ imageId: 'c' })] }, 1000);
    expect([...records.values()].map(({ id, inUse }) => [id, inUse])).toEqual([
      ['a', false],
      ['b', true],
      ['c', true],
    ]);
  });

  test('an image that is gone has no record', () => {
    expect([...detect(detect(undefined, [image('a')], 1000), [], 2000)]).toEqual([]);
  });

  test('the time of the last use is kept when no container uses the image any more', () => {
    const used = detect(undefined, [image('a')], 1000, [usedBy({ imageRef: 'a' })]);
    expect(used.get('a')).toEqual(record('a', { lastUsed: 1000, inUse: true }));
    expect(detect(used, [image('a')], 2000).get('a')).toEqual(record('a', { lastUsed: 1000 }));
  });

  test.each<[string, Partial<Container>]>([
    ['its id', { imageRef: 'a' }],
    ['a tag', { image: 'a:1' }],
    ['a digest', { imageRef: 'a@sha256:0' }],
  ])('a container may name its image by %s', (_by, fields) => {
    const images = [image('a', { repoDigests: ['a@sha256:0'] })];
    expect(detect(undefined, images, 1000, [usedBy(fields)]).get('a')?.inUse).toBe(true);
  });

  test.each<[string, Image, boolean]>([
    ['pinned', image('a', { pinned: true }), true],
    ['called pause', image('a', { repoTags: ['registry.k8s.io/pause:3.6'] }), true],
    ['called pause of an architecture', image('a', { repoTags: ['k8s.gcr.io/pause-amd64:3.1'] }), true],
    ['called something like pause', image('a', { repoTags: ['quay.io/my-pause:1'] }), false],
  ])('a sandbox image is in use: %s', (_what, found, inUse) => {
    expect(detect(undefined, [found], 1000).get('a')?.inUse).toBe(inUse);
  });
});

describe('evictionOrder', () => {
  const order = (records: readonly ImageRecord[], now = 10_000, minAgeMs = 0) =>
    evictionOrder(records, now, { minAgeMs }).map(({ id }) => id);

  test('the image that was used longest ago comes first; of those never used, the one that was seen first', () => {
    const records = [
      record('used late', { lastUsed: 900 }),
      record('used early', { lastUsed: 100, firstDetected: 50 }),
      record('new', { firstDetected: 500 }),
      record('old', { firstDetected: 400 }),
    ];
    expect(order(records)).toEqual(['old', 'new', 'used early', 'used late']);
  });

  test('images in use are left out', () => {
    expect(order([record('a', { inUse: true }), record('b')])).toEqual(['b']);
  });

  test('images below the minimum age are left out', () => {
    const records = [record('a', { firstDetected: 8000 }), record('b', { firstDetected: 8001 })];
    expect(order(records, 10_000, 2000)).toEqual(['a']);
  });
});

describe('isPastMaxAge', () => {
  const isPast = (more: Partial<ImageRecord>, now: number, maxAgeMs = 1000, beganAt = 0) =>
    isPastMaxAge(record('a', more), { now, beganAt }, { maxAgeMs });

  test('counts from the last use, or from the first detection', () => {
    expect([isPast({ lastUsed: 500 }, 1500), isPast({ lastUsed: 500 }, 1501)]).toEqual([false, true]);
    expect([isPast({ firstDetected: 700 }, 1700), isPast({ firstDetected: 700 }, 1701)]).toEqual([
      false,
      true,
    ]);
  });

  test('does not count time before the first check', () => {
    expect([isPast({}, 6000, 1000, 5000), isPast({}, 6001, 1000, 5000)]).toEqual([false, true]);
  });

  test('is never reached with 0', () => {
    expect(isPast({}, 1e12, 0)).toBe(false);
  });
});

describe('diskUsage', () => {
  const THRESHOLDS = { highThresholdPercent: 85, lowThresholdPercent: 80 };
  const of = (availableBytes: number) => diskUsage({ capacityBytes: 1000, availableBytes }, THRESHOLDS);

  test.each([
    [151, 85, 49],
    [150, 85, 50],
    [160, 84, 0],
    [0, 100, 200],
    [2000, 0, 0],
  ])('%i of 1000 bytes available: %i percent, %i bytes to free', (available, usagePercent, bytesToFree) => {
    expect(of(available)).toEqual({ usagePercent, bytesToFree });
  });
});
