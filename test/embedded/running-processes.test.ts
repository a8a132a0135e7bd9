import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { refuseRunningContainers, refuseRunningProcesses } from '../../src/embedded/running-processes.ts';
import { processRuntimeBed, type ProcessRuntimeBed } from '../support/process-runtime.ts';
import { shell, startPod } from '../support/runtime-configs.ts';

const ENDPOINT = 'unix:///run/containerd/containerd.sock';

let bed: ProcessRuntimeBed;
beforeEach(() => {
  bed = processRuntimeBed();
});
afterEach(() => bed.cleanup());

test('another runtime is refused while pods of the root folder run as plain processes, and not afterwards', async () => {
  await refuseRunningProcesses(bed.rootDir, ENDPOINT);
  const { sandboxId } = await startPod(bed.runtime, join(bed.rootDir, 'pods'), shell('exec sleep 1000'));
  await expect(refuseRunningProcesses(bed.rootDir, ENDPOINT)).rejects.toThrow(
    `--container-runtime-endpoint is ${ENDPOINT}, and pods of the root folder ${bed.rootDir} run as plain processes (default/pod): end them`,
  );
  await bed.runtime.stopPodSandbox(sandboxId);
  await refuseRunningProcesses(bed.rootDir, ENDPOINT);
});

test('its own pods are no containers of another runtime, also those with volumes', async () => {
  const volume = join(bed.rootDir, 'pods/uid-1/volumes/data');
  mkdirSync(volume, { recursive: true });
  mkdirSync(join(bed.rootDir, 'pods/uid-1/containers/main'), { recursive: true });
  const mounts = [
    {
      containerPath: '/statelet-data',
      hostPath: volume,
      readonly: false,
      propagation: 'PROPAGATION_PRIVATE' as const,
    },
  ];
  await startPod(bed.runtime, join(bed.rootDir, 'pods'), shell('exec sleep 1000', { mounts }));
  await refuseRunningContainers(bed.rootDir);
});
