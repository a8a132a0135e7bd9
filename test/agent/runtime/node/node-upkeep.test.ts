import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { containerLabels } from '../../../../src/agent/policies/cri/cri-labels.ts';
import { NodeUpkeep } from '../../../../src/agent/runtime/node/node-upkeep.ts';
import { SimulatedRuntime } from '../../../../src/simulation/runtime/simulated-runtime.ts';
import { VirtualClock } from '../../../../src/simulation/node/virtual-clock.ts';
import type { ContainerStatus } from '../../../../src/types/cri.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import { testContext } from '../../../support/test-context.ts';

const POD: Pod = {
  metadata: { name: 'web', namespace: 'default', uid: 'uid-web' },
  spec: { containers: [] },
};

const DEAD: ContainerStatus = {
  id: 'c1',
  podSandboxId: 's1',
  metadata: { name: 'main', attempt: 1 },
  image: 'app:1',
  imageRef: 'sha256:1',
  state: 'CONTAINER_EXITED',
  createdAt: 0,
  labels: containerLabels(POD, { name: 'main' }),
  annotations: {},
  startedAt: 0,
  finishedAt: 0,
  exitCode: 0,
  reason: 'Completed',
  message: '',
  logPath: '',
};

let podLogsDir: string;
beforeEach(() => {
  podLogsDir = mkdtempSync(join(tmpdir(), 'statelet-upkeep-'));
});
afterEach(() => rmSync(podLogsDir, { recursive: true }));

test('a dead container is removed after its logs, and the logs of other instances stay', async () => {
  const settings = {
    containerLogMaxSizeBytes: -1,
    containerLogMaxFiles: 5,
    containerLogMaxWorkers: 1,
    containerLogMonitorIntervalMs: 10_000,
    minimumContainerTTLMs: 0,
    maximumDeadContainersPerContainer: 0,
    maximumDeadContainers: -1,
  };
  const folder = join(podLogsDir, 'default_web_uid-web', 'main');
  mkdirSync(folder, { recursive: true });
  for (const name of ['1.log', '1.log.20300101-120000.gz', '2.log']) writeFileSync(join(folder, name), '');
  const removed: string[] = [];
  const runtime = new SimulatedRuntime({ clock: new VirtualClock(), random: () => 0.5 }).connect();
  runtime.listContainers = () => Promise.resolve([DEAD]);
  runtime.listPodSandbox = () => Promise.resolve([]);
  runtime.containerStatus = () => Promise.resolve(DEAD);
  runtime.removeContainer = (id) => {
    removed.push(`${id} beside ${readdirSync(folder).join()}`);
    return Promise.resolve();
  };
  const upkeep = new NodeUpkeep(testContext(), { podLogsDir, settings, runtime });
  upkeep.start({ pods: () => [], isPodRemovable: () => false, isPodTerminated: () => true });
  await upkeep.reclaimer.deleteDeadContainers();
  expect(removed).toEqual(['c1 beside 2.log']);
  await upkeep.stop();
});
