import { beforeEach, expect, test } from '@jest/globals';
import { ContainerExitLog } from '../../../../src/agent/actors/pods/container-exit-log.ts';
import type { Logger } from '../../../../src/types/logger.ts';
import { type PartialContainer, runtimePodStatus } from '../../../support/runtime-pod-status.ts';

const POD = { name: 'web', namespace: 'default', uid: 'u-1' };

let lines: object[];
let ends: ContainerExitLog;

beforeEach(() => {
  lines = [];
  const none = () => undefined;
  const info = (fields: object, msg: string) => void lines.push({ ...fields, msg });
  const logger: Logger = { trace: none, debug: none, info, warn: none, error: none };
  ends = new ContainerExitLog(logger);
});

const instance = (attempt: number, state: 'running' | 'exited', more: Partial<PartialContainer> = {}) => ({
  id: `main-${attempt}`,
  name: 'main',
  restartCount: attempt,
  state,
  finishedAt: attempt,
  ...more,
});
const read = (...containers: PartialContainer[]) => ends.read(POD, runtimePodStatus({ containers }));

test('the end of a container is logged once, with the number of the instance and how it ended', () => {
  read(instance(0, 'running'));
  read(instance(0, 'exited', { exitCode: 3, reason: 'Error' }));
  read(instance(1, 'running'), instance(0, 'exited', { exitCode: 3, reason: 'Error' }));
  expect(lines).toEqual([
    {
      pod: 'default/web',
      uid: 'u-1',
      container: 'main',
      attempt: 0,
      exitCode: 3,
      exitReason: 'Error',
      msg: 'Container ended: main',
    },
  ]);
});

test('containers that ended before the agent started are not logged', () => {
  read(instance(0, 'exited'));
  read(instance(1, 'exited'), instance(0, 'exited'));
  expect(lines).toMatchObject([{ attempt: 1 }]);
});

test('several containers that ended between two reads are logged in the order of their ends', () => {
  read();
  read(instance(2, 'running'), instance(1, 'exited'), instance(0, 'exited'));
  expect(lines).toMatchObject([{ attempt: 0 }, { attempt: 1 }]);
});

test('an end that was logged before the pod is read again is not logged twice, even if an older view comes in between', () => {
  read(instance(0, 'running'));
  ends.tell(POD, { ...instance(0, 'exited'), exitCode: 0, reason: '' });
  read(instance(0, 'running'));
  read(instance(0, 'exited'));
  read(instance(0, 'exited'));
  expect(lines).toHaveLength(1);
});

test('after a pod was forgotten, its first read logs nothing', () => {
  read();
  ends.forget(POD.uid);
  read(instance(0, 'exited'));
  expect(lines).toEqual([]);
});
