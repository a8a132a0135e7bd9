import { noActions } from '../../../support/no-actions.ts';
import { status } from '@grpc/grpc-js';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { CRASH_LOOP_BACK_OFF } from '../../../../src/agent/policies/pod-actions/back-off.ts';
import { callError } from '../../../../src/agent/runtime/cri/calls/channel.ts';
import { PrepareError } from '../../../../src/agent/runtime/node/pod-node.ts';
import { PodRuntime, type PodRuntimeParts } from '../../../../src/agent/runtime/pods/pod-runtime.ts';
import { processNode } from '../../../../src/embedded/process-node.ts';
import type { RuntimeService } from '../../../../src/agent/runtime/service/runtime-service.ts';
import { StartGate } from '../../../../src/agent/runtime/pods/start-gate.ts';
import { podBed, type PodBed, podOf, shell } from './pod-bed.ts';

const NOTHING = noActions('');

let bed: PodBed;

beforeAll(() => {
  bed = podBed();
});
afterAll(async () => bed.cleanup());
beforeEach(() => {
  bed.events.length = 0;
});

const newRuntime = (runtime: Partial<RuntimeService> = {}, more: Partial<PodRuntimeParts> = {}) =>
  new PodRuntime(bed.context, {
    ...more,
    runtime: { ...bed.runtime, ...runtime },
    node: processNode({ hostIPs: ['127.0.0.1'], podLogsDir: join(bed.rootDir, 'pods') }),
    gate: new StartGate(bed.context, 1),
    backOff: CRASH_LOOP_BACK_OFF,
    deadInstancesKept: 1,
  });

test('a sandbox that cannot be created has an event with the message and code of the runtime', async () => {
  const details = 'failed to set up the network';
  const answer = callError('RunPodSandbox', 'unix:///run/x.sock', { code: status.UNKNOWN, details });
  const pod = podOf({ containers: [shell('main', 'exit 0')] });
  const actions = { ...NOTHING, createSandbox: true, containersToStart: [0] };
  const runtime = newRuntime({ runPodSandbox: () => Promise.reject(answer) });
  await runtime.syncPod(pod, await bed.read(pod), actions, new AbortController().signal);
  expect(bed.events).toEqual([
    `Warning FailedCreatePodSandBox: Failed to create pod sandbox: rpc error: code = Unknown desc = ${details}`,
  ]);
});

test('a new sandbox is reported before containers are created in it, and a sandbox that is used again is not', async () => {
  const pod = podOf({ containers: [shell('main', 'sleep 1000')] });
  const steps: string[] = [];
  const runtime = newRuntime(
    {
      createContainer: (...args: Parameters<RuntimeService['createContainer']>) => {
        steps.push('createContainer');
        return bed.runtime.createContainer(...args);
      },
    },
    { onSandboxReady: ({ metadata }) => steps.push(`sandbox of ${metadata.uid}`) },
  );
  const { signal } = new AbortController();
  const create = { ...NOTHING, createSandbox: true, containersToStart: [0] };
  await runtime.syncPod(pod, await bed.read(pod), create, signal);
  const podStatus = await bed.read(pod);
  const sandboxId = podStatus.sandboxes[0]?.id ?? '';
  await runtime.syncPod(pod, podStatus, { ...NOTHING, sandboxId, containersToStart: [0] }, signal);
  expect(steps).toEqual([`sandbox of ${pod.metadata.uid}`, 'createContainer', 'createContainer']);
});

/** Syncs a pod whose first container, an init container or a sidecar, cannot be started. Returns the names of the containers that were created. */
async function createdBeside(restartPolicy: 'Always' | undefined): Promise<readonly string[]> {
  const pod = podOf({
    initContainers: [
      { ...shell('first', 'exit 0'), ...(restartPolicy && { restartPolicy }) },
      shell('second', 'exit 0'),
    ],
    containers: [shell('main', 'sleep 1000')],
  });
  const { containers } = await bed.run({ ...pod, spec: { ...pod.spec, initContainers: [], containers: [] } });
  expect(containers).toEqual([]);
  const podStatus = await bed.read(pod);
  const sandboxId = podStatus.sandboxes[0]?.id ?? '';
  const actions = { ...NOTHING, sandboxId, initContainersToStart: [0, 1], containersToStart: [0] };
  const runtime = newRuntime({
    createContainer: (sandbox, config, ...more) =>
      config.metadata.name === 'first'
        ? Promise.reject(new Error('no such image'))
        : bed.runtime.createContainer(sandbox, config, ...more),
  });
  const failures = await runtime.syncPod(pod, podStatus, actions, new AbortController().signal);
  expect(failures.map(({ target }) => target)).toEqual(['first']);
  return (await bed.read(pod)).containers.map(({ name }) => name).sort();
}

test('a sidecar that cannot be started keeps no other container of its pod from its start', async () => {
  expect(await createdBeside('Always')).toEqual(['main', 'second']);
});

test('after an init container that cannot be started, no other container is started', async () => {
  expect(await createdBeside(undefined)).toEqual([]);
});

test('a running container is killed with the message of the kubelet when all containers of its pod restart', async () => {
  const pod = podOf({ containers: [shell('main', 'sleep 1000')] });
  const podStatus = await bed.run(pod);
  const [container] = pod.spec.containers;
  const containersToReset = podStatus.containers.map(({ id, name }) => ({
    id,
    name,
    container: container!,
    kill: true,
  }));
  const actions = { ...NOTHING, containersToReset };
  await newRuntime().syncPod(pod, podStatus, actions, new AbortController().signal);
  expect(bed.events).toEqual(['Normal Killing: killing']);
  expect((await bed.read(pod)).containers).toEqual([]);
});

test('a cgroup that cannot be created has the message of the kubelet', () => {
  expect(new PrepareError('FailedCreatePodContainer', new Error('no space left')).message).toBe(
    'unable to ensure pod container exists: no space left',
  );
});
