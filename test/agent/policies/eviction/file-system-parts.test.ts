import { describe, expect, test } from '@jest/globals';
import {
  type FileSystemLayout,
  ignoredContainerFs,
  nodeReclaims,
  podFsParts,
  withContainerFsThresholds,
} from '../../../../src/agent/policies/eviction/file-system-parts.ts';
import type { EvictionSignal } from '../../../../src/agent/policies/eviction/signals.ts';
import { quantityString } from '../../../../src/agent/policies/formats/quantity.ts';
import { thresholds } from '../../../support/eviction.ts';

const SIGNALS: EvictionSignal[] = ['nodefs.available', 'imagefs.inodesFree', 'containerfs.available'];

interface Case {
  readonly name: string;
  readonly dedicatedImageFs: boolean;
  readonly splitContainerFs: boolean;
  /** The parts that count for the file systems of the node, of images and of layers. */
  readonly parts: readonly (readonly string[])[];
}

const CASES: Case[] = [
  {
    name: 'one file system for all',
    dedicatedImageFs: false,
    splitContainerFs: false,
    parts: Array<string[]>(3).fill(['images', 'root', 'logs', 'localVolumeSource']),
  },
  {
    name: 'layers with the images',
    dedicatedImageFs: true,
    splitContainerFs: false,
    parts: [
      ['logs', 'localVolumeSource'],
      ['root', 'images'],
      ['root', 'images'],
    ],
  },
  {
    name: 'layers on the node',
    dedicatedImageFs: true,
    splitContainerFs: true,
    parts: [['logs', 'localVolumeSource', 'root'], ['images'], ['logs', 'localVolumeSource', 'root']],
  },
];

describe.each(CASES)('$name', ({ parts, ...layout }) => {
  test('each signal has its parts of a pod', () => {
    expect(SIGNALS.map((signal) => podFsParts(signal, layout))).toEqual(parts);
  });

  test('dead containers are removed for the file system of layers, images for that of images', () => {
    const removed = parts.map((here) => [
      ...(here.includes('root') ? ['containers'] : []),
      ...(here.includes('images') ? ['images'] : []),
    ]);
    expect(SIGNALS.map((signal) => nodeReclaims(signal, layout))).toEqual(removed);
  });
});

test('memory and processes are on no file system', () => {
  const layout = { dedicatedImageFs: false, splitContainerFs: false };
  for (const signal of ['memory.available', 'allocatableMemory.available', 'pid.available'] as const)
    expect([podFsParts(signal, layout), nodeReclaims(signal, layout)]).toEqual([[], []]);
});

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
