import { expect, test } from '@jest/globals';
import {
  ignoredContainerFs,
  withContainerFsThresholds,
} from '../../../src/policies/eviction/container-fs-thresholds.ts';
import type { FileSystemLayout } from '../../../src/policies/eviction/file-system-parts.ts';
import { quantityString } from '../../../src/policies/formats/quantity.ts';
import { thresholds } from '../../support/eviction.ts';

const SET = thresholds({
  evictionHard: { 'nodefs.available': '1Gi', 'imagefs.available': '2Gi', 'containerfs.inodesFree': '5' },
  evictionSoft: { 'nodefs.inodesFree': '10k' },
  evictionSoftGracePeriod: { 'nodefs.inodesFree': '1m' },
  evictionMinimumReclaim: { 'nodefs.available': '1%' },
});

function derived(layout: FileSystemLayout): string[] {
  return withContainerFsThresholds(SET, layout)
    .thresholds.slice(2)
    .map(({ signal, value, gracePeriodMs }) =>
      [signal, 'quantity' in value && quantityString(value.quantity), gracePeriodMs].join(' '),
    );
}

const NODEFS = [
  'nodefs.inodesFree 10k 60000',
  'containerfs.available 1Gi 0',
  'containerfs.inodesFree 10k 60000',
];

test.each([
  ['one file system: those of the node', false, false, NODEFS],
  [
    'layers with the images: those of the images',
    true,
    false,
    ['nodefs.inodesFree 10k 60000', 'containerfs.available 2Gi 0'],
  ],
  ['layers apart from the images: those of the node', true, true, NODEFS],
  [
    'layers apart from the images, but no file system of images: nothing changes',
    false,
    true,
    ['containerfs.inodesFree 5 0', 'nodefs.inodesFree 10k 60000'],
  ],
])('%s', (_, dedicatedImageFs, splitContainerFs, expected) => {
  expect(derived({ dedicatedImageFs, splitContainerFs })).toEqual(expected);
});

test('the minimum reclaim is taken over with the threshold', () => {
  const layout = { dedicatedImageFs: false, splitContainerFs: false };
  const all = withContainerFsThresholds(SET, layout).thresholds;
  expect(all.find(({ signal }) => signal === 'containerfs.available')?.minReclaim).toEqual(
    SET[0]!.minReclaim,
  );
});

test('thresholds that are set for containerfs are ignored, with a warning', () => {
  const { ignored } = withContainerFsThresholds(SET, { dedicatedImageFs: true, splitContainerFs: false });
  expect(ignored.map(ignoredContainerFs)).toEqual([
    'found containerfs.inodesFree for hard eviction. ignoring',
  ]);
});
