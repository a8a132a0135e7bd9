import { describe, expect, test } from '@jest/globals';
import {
  podFsGroup,
  readOnlyFileMode,
  readOnlyFolderMode,
  volumeRootMode,
} from '../../../src/policies/volumes/volume-ownership.ts';
import { podOf } from '../../support/pod-status-facts.ts';

const octal = (mode: number) => mode.toString(8);

test('the group of volumes is the fsGroup of the pod', () => {
  expect(podFsGroup(podOf({ securityContext: { fsGroup: 0 } }))).toBe(0);
  expect(podFsGroup(podOf())).toBeUndefined();
});

describe('without an fsGroup', () => {
  test('all users may write into the root of a volume; folders and files keep their modes', () => {
    const modes = [
      volumeRootMode(undefined),
      readOnlyFolderMode(undefined),
      readOnlyFileMode(0o400, undefined),
    ];
    expect(modes.map(octal)).toEqual(['777', '755', '400']);
  });
});

describe('with an fsGroup', () => {
  test('files made in the root of a volume, and in its folders, belong to the group', () => {
    expect([volumeRootMode(1000), readOnlyFolderMode(0)].map(octal)).toEqual(['2777', '2755']);
  });

  test('the owner and the group may read every file', () => {
    expect([0o400, 0o000, 0o644, 0o111].map((mode) => octal(readOnlyFileMode(mode, 1000)))).toEqual([
      '440',
      '440',
      '644',
      '551',
    ]);
  });
});
