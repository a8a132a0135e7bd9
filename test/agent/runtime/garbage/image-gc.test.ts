import { beforeEach, describe, expect, test } from '@jest/globals';
import { fileSystemStats } from '../../../../src/agent/runtime/stats/disks/file-systems.ts';
import { ImageGC, type ImageGCParts } from '../../../../src/agent/runtime/garbage/image-gc.ts';
import type { Container, Image } from '../../../../src/types/cri.ts';
import { VirtualClock } from '../../../../src/simulation/node/virtual-clock.ts';
import { testContext, recorderOf } from '../../../support/test-context.ts';
import { silentLogger } from '../../../support/silent-logger.ts';

const MINUTE_MS = 60_000;

let clock: VirtualClock;
let images: Image[];
let inUse: string[];
let removed: string[];
let stuck: Set<string>;
let log: { fields: Record<string, unknown>; message: string }[];
/** A disk of 1000 bytes. Removing an image frees its size. */
let availableBytes: number;

beforeEach(() => {
  clock = new VirtualClock();
  images = [];
  inUse = [];
  removed = [];
  stuck = new Set();
  log = [];
  availableBytes = 1000;
});

const add = (id: string, size: number, more: Partial<Image> = {}) =>
  void images.push({ id, repoTags: [`${id}:1`], size, ...more });

function newGC(more: Partial<ImageGCParts> = {}): ImageGC {
  const note = (fields: object, message: string) => void log.push({ fields: { ...fields }, message });
  const context = testContext({
    clock,
    recorder: recorderOf({ nodeEvent: (type, reason, message) => note({ type, reason }, message) }),
    logger: { ...silentLogger, info: note, warn: note },
  });
  return new ImageGC(context, {
    runtime: {
      listImages: () => Promise.resolve([...images]),
      listContainers: () => Promise.resolve(inUse.map((imageRef) => ({ imageRef, image: '' }) as Container)),
      imageFsInfo: () =>
        Promise.resolve([{ mountpoint: '/images', usedBytes: 0, inodesUsed: 0, timestamp: 0 }]),
      removeImage: (id) => {
        if (stuck.has(id)) return Promise.reject(new Error(`${id} is stuck`));
        availableBytes += images.find((image) => image.id === id)?.size ?? 0;
        images = images.filter((image) => image.id !== id);
        removed.push(id);
        return Promise.resolve();
      },
    },
    statfs: (path) => Promise.resolve({ capacityBytes: path === '/images' ? 1000 : 0, availableBytes }),
    highThresholdPercent: 85,
    lowThresholdPercent: 80,
    minAgeMs: 2 * MINUTE_MS,
    maxAgeMs: 0,
    ...more,
  });
}

const reasons = () => log.map(({ fields }) => fields.reason).filter(Boolean);

describe('a disk that is too full', () => {
  test('is freed down to the low threshold, beginning with the images that were used longest ago', async () => {
    for (const id of ['a', 'b', 'c', 'd']) add(id, 30);
    const gc = newGC();
    inUse = ['a', 'b', 'c'];
    await gc.detect();
    await clock.advance(MINUTE_MS);
    inUse = ['a', 'c'];
    await gc.detect();
    await clock.advance(MINUTE_MS);
    inUse = ['a'];
    availableBytes = 150;
    await gc.collect();
    expect(removed).toEqual(['d', 'b']);
    expect(log[0]?.fields).toMatchObject({ usagePercent: 85, bytesToFree: 50 });
  });

  test('keeps images that are in use, pinned, young or of sandboxes', async () => {
    const gc = newGC();
    add('used', 30);
    add('pinned', 30, { pinned: true });
    add('pause', 30);
    inUse = ['used'];
    await gc.detect();
    add('young', 30);
    availableBytes = 0;
    await expect(gc.collect()).rejects.toThrow(
      'Failed to garbage collect required amount of images. Attempted to free 200 bytes, but only found 0 bytes ' +
        'eligible to free.',
    );
    expect([removed, reasons()]).toEqual([[], ['FreeDiskSpaceFailed']]);
    await clock.advance(2 * MINUTE_MS);
    await expect(gc.collect()).rejects.toThrow('only found 30 bytes');
    expect(removed).toEqual(['young']);
  });

  test('with an image that cannot be removed is freed of the others, and the failure is reported', async () => {
    add('a', 30);
    add('b', 30);
    stuck.add('a');
    availableBytes = 150;
    await expect(newGC().collect()).rejects.toThrow(
      'wanted to free 50 bytes, but freed 30 bytes with errors in image deletion: a is stuck',
    );
    expect(removed).toEqual(['b']);
  });
});

test('if the disk is not too full, nothing is removed', async () => {
  add('a', 30);
  availableBytes = 160;
  await newGC().collect();
  expect([removed, log]).toEqual([[], []]);
});

test('a disk of size 0 is an error', async () => {
  const statfs = () => Promise.resolve({ capacityBytes: 0, availableBytes: 0 });
  await expect(newGC({ statfs }).collect()).rejects.toThrow('invalid capacity 0 on image filesystem');
  expect(reasons()).toEqual(['InvalidDiskCapacity']);
});

test('images that were unused for too long are removed, however much space is free', async () => {
  add('a', 30);
  add('used', 30);
  const gc = newGC({ maxAgeMs: 60 * MINUTE_MS });
  await clock.advance(MINUTE_MS);
  inUse = ['used'];
  await gc.collect();
  await clock.advance(59 * MINUTE_MS);
  inUse = [];
  await gc.collect();
  expect(removed).toEqual([]);
  await clock.advance(1);
  await gc.collect();
  expect(removed).toEqual(['a']);
});

test('all unused images can be deleted, and each is reported', async () => {
  add('a', 30);
  add('b', 12);
  add('used', 30);
  inUse = ['used'];
  const gone: string[] = [];
  expect(await newGC({ onRemoved: (id) => void gone.push(id) }).deleteUnusedImages()).toBe(42);
  expect([removed, gone]).toEqual([
    ['a', 'b'],
    ['a', 'b'],
  ]);
});

test('collections run one at a time: the second one frees only what is still needed', async () => {
  add('a', 60);
  add('b', 60);
  availableBytes = 150;
  const gc = newGC();
  await Promise.all([gc.collect(), gc.collect()]);
  expect(removed).toEqual(['a']);
});

test('an agent that stops: nothing more is removed', async () => {
  add('a', 30);
  add('b', 30);
  const stopping = new AbortController();
  const gc = newGC({ onRemoved: () => stopping.abort() });
  await expect(gc.deleteUnusedImages(stopping.signal)).rejects.toMatchObject({ name: 'AbortError' });
  expect(removed).toEqual(['a']);
});

test('thresholds and age that can never be reached disable it', () => {
  expect(newGC().isDisabled).toBe(false);
  expect(newGC({ highThresholdPercent: 100 }).isDisabled).toBe(true);
  expect(newGC({ highThresholdPercent: 100, maxAgeMs: 1 }).isDisabled).toBe(false);
});

test('the space of a disk is that of its filesystem', async () => {
  const { capacityBytes, availableBytes: free } = await fileSystemStats('/');
  expect(capacityBytes).toBeGreaterThan(0);
  expect(free).toBeLessThanOrEqual(capacityBytes);
});

test('after a collection it says which images are left, and when it has listed them', async () => {
  const told: [string[], number][] = [];
  const gc = newGC({
    onRemaining: (ids, listedAt) => Promise.resolve(void told.push([[...ids], listedAt])),
  });
  add('a', 100);
  add('b', 100);
  inUse = ['b'];
  await gc.collect();
  const first = clock.now();
  await clock.advance(10 * MINUTE_MS);
  await gc.deleteUnusedImages();
  expect(told).toEqual([
    [['a', 'b'], first],
    [['b'], clock.now()],
  ]);
});
