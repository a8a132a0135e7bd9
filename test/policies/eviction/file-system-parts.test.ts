import { describe, expect, test } from '@jest/globals';
import { nodeReclaims, podFsParts } from '../../../src/policies/eviction/file-system-parts.ts';
import type { EvictionSignal } from '../../../src/policies/eviction/signals.ts';

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
