import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { compareAgents } from '../../scripts/compare/compare.ts';
import { readConfig, readManifests } from '../../scripts/compare/manifests.ts';
import { readMeant } from '../../scripts/compare/meant.ts';
import type { ComparisonReport } from '../../scripts/compare/report.ts';
import { type ContainerdBed, startContainerd } from '../support/containerd/containerd.ts';
import { describeWithContainerd, SET_UP_TIMEOUT_MS } from '../support/containerd/suite.ts';
import { findKubelet, NO_KUBELET } from '../support/kubernetes-programs.ts';

const own = (path: string) => fileURLToPath(new URL(path, import.meta.url));

const kubelet = findKubelet();
if (kubelet === undefined) {
  process.stderr.write(`\nSKIPPED, NOTHING PROVED: "the kubelet and Statelet" has ${NO_KUBELET}.\n`);
}
const declare = kubelet === undefined ? describe.skip : describeWithContainerd;

/** Makes both agents run the manifests. */
function comparing(folder: string, configFile?: string): () => ComparisonReport {
  let bed: ContainerdBed;
  let report: ComparisonReport;

  beforeAll(async () => {
    bed = await startContainerd();
    report = await compareAgents({
      bed,
      kubelet: kubelet ?? '',
      manifests: readManifests(own(folder)),
      ...(configFile !== undefined && { config: readConfig(own(configFile)) }),
      meant: readMeant(own('../../scripts/compare/meant.yaml')),
      idleSeconds: 0,
      settleMs: 180_000,
      progress: () => undefined,
    });
  }, SET_UP_TIMEOUT_MS);

  afterAll(async () => {
    await bed.stop({ leftovers: 'remove' });
  });
  return () => report;
}

declare('the kubelet and Statelet, on the same manifests', () => {
  const found = comparing('manifests');

  test('differ in nothing but what is meant', () => {
    const report = found();
    expect(report.unexpected).toEqual([]);
    expect(report).toMatchObject({ manifests: 3, equal: 3, unsettled: { kubelet: [], statelet: [] } });
  });

  test('differ in what only a full look at their requests, files and statuses can show', () => {
    const areas = new Set(found().meant.map(({ entry }) => entry.area));
    expect([...areas].toSorted()).toEqual(expect.arrayContaining(['container', 'files', 'pod', 'status']));
  });
});

declare('the kubelet and Statelet, where containers have CPUs and memory of their own', () => {
  const MANAGERS = '../../scripts/compare/managers';
  const found = comparing(`${MANAGERS}/manifests`, `${MANAGERS}/restricted.yaml`);

  test('differ in nothing but what is meant', () => {
    expect(found().unexpected).toEqual([]);
  });
});
