/** The daemon is killed at exact points of its calls to containerd, and another daemon takes over. */
import { afterAll, beforeAll } from '@jest/globals';
import type { ContainerdBed } from '../../../support/containerd/containerd.ts';
import { describeWithContainerd } from '../../../support/containerd/suite.ts';
import { containerdForDeaths, criStage } from '../../../support/deaths/cri-stage.ts';
import type { When } from '../../../support/deaths/death.ts';
import { testDeaths } from '../../../support/deaths/suite.ts';
import { CHANGES } from '../../../support/runtime-tap.ts';

const WHENS: readonly When[] = ['before', 'during', 'after'];

describeWithContainerd('on containerd', () => {
  let containerd: ContainerdBed;

  beforeAll(async () => {
    containerd = await containerdForDeaths();
  });
  afterAll(() => containerd.stop());

  testDeaths(
    () => criStage(containerd),
    [
      ...CHANGES.flatMap((call) => WHENS.map((when) => [when, call] as const)),
      ['late', 'CreateContainer'],
      ['late', 'StartContainer'],
    ],
  );
});
