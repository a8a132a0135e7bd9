import { expect, test } from '@jest/globals';
import { settled } from '../../../src/simulation/node/virtual-clock.ts';
import { imageBed } from './image-bed.ts';

test('an image is asked about and pulled with the annotations of the pod that wants it', async () => {
  const bed = imageBed();
  const asking = bed.ensure('pod', {});
  await settled();
  bed.pulls[0]?.succeed();
  await asking;
  expect(bed.asked).toEqual(['app:1', 'id of app:1']);
  expect(bed.annotations).toEqual([{ for: 'pod' }, { for: 'pod' }, { for: 'pod' }]);
});
