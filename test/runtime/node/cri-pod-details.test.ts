import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { runtimeClassesOf } from '../../../src/policies/admission/runtime-class.ts';
import { CriPodDetails, type CriPodDetailsOptions } from '../../../src/runtime/node/cri-pod-details.ts';
import { testPod } from '../../support/pods.ts';

let podLogsDir: string;

beforeEach(async () => {
  podLogsDir = await mkdtemp(join(tmpdir(), 'statelet-pod-details-'));
});
afterEach(() => rm(podLogsDir, { recursive: true, force: true }));

/** Only with what a sandbox needs. */
function details(runtimeClasses: readonly string[]): CriPodDetails {
  const options: Partial<CriPodDetailsOptions> = {
    podLogsDir,
    containers: {} as CriPodDetailsOptions['containers'],
    runtimeClasses: { ...runtimeClassesOf(runtimeClasses), areOfCluster: true },
    dns: { of: () => Promise.resolve(undefined) } as never,
    cgroups: { parentOf: () => undefined } as never,
  };
  return new CriPodDetails(options as CriPodDetailsOptions);
}

const pod = { ...testPod(), spec: { ...testPod().spec, runtimeClassName: 'gvisor' } };

test('a sandbox has the handler of the pod’s RuntimeClass', async () => {
  const { runtimeHandler } = await details(['gvisor=runsc']).sandbox(pod, 0, true);
  expect(runtimeHandler).toBe('runsc');
});

test('a new sandbox fails without the RuntimeClass; containers of an existing one can still be started', async () => {
  await expect(details([]).sandbox(pod, 1, true)).rejects.toThrow(
    /^runtimeclass\.node\.k8s\.io "gvisor" not found$/,
  );
  const { config } = await details([]).sandbox(pod, 0, false);
  expect(config.metadata).toMatchObject({ name: 'web', attempt: 0 });
});
