import { expect, test } from '@jest/globals';
import { settled } from '../../../src/simulation/node/virtual-clock.ts';
import { imageBed } from './image-bed.ts';

const HOUR_MS = 3_600_000;

test('a pull that takes an hour is given up: ErrImagePull says so, and the next begins', async () => {
  const bed = imageBed();
  const slow = expect(bed.ensure('slow', {})).rejects.toMatchObject({
    reason: 'ErrImagePull',
    kind: 'DeadlineExceeded',
    message: expect.stringContaining('the image was not pulled within 60 minutes'),
  });
  const next = bed.ensure('next', { image: 'b:1' });
  await settled();
  await bed.clock.advance(HOUR_MS - 1);
  expect(bed.pulls.map(({ isAborted }) => isAborted())).toEqual([false]);
  await bed.clock.advance(1);
  await slow;
  await settled();
  expect(bed.pulls.map(({ image, isAborted }) => [image, isAborted()])).toEqual([
    ['app:1', true],
    ['b:1', false],
  ]);
  bed.pulls[1]?.succeed();
  await next;
  expect(bed.clock.armed).toBe(0);
});
