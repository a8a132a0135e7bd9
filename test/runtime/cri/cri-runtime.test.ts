import { startContainerd } from '../../support/containerd/containerd.ts';
import { startRegistry } from '../../support/containerd/registry.ts';
import { describeWithContainerd, SET_UP_TIMEOUT_MS } from '../../support/containerd/suite.ts';
import { createCriRuntime } from '../../../src/runtime/cri/cri-runtime.ts';
import { runtimeContract, type RuntimeBed } from '../runtime-contract.ts';
import { streamingContract } from '../streaming-contract.ts';
import { HOST_SANDBOX, hostContainer } from './support.ts';

describeWithContainerd('CRI', () => {
  runtimeContract('containerd', containerdRuntime, SET_UP_TIMEOUT_MS);
  streamingContract('containerd', containerdRuntime, SET_UP_TIMEOUT_MS);
});

async function containerdRuntime(): Promise<RuntimeBed> {
  const containerd = await startContainerd();
  const registry = await startRegistry();
  const runtime = createCriRuntime({
    endpoint: containerd.endpoint,
    requestTimeoutMs: 20_000,
    logger: { warn: () => undefined },
  });
  const cleanup = async (): Promise<void> => {
    for (const { id } of await runtime.listPodSandbox()) await runtime.removePodSandbox(id);
    await runtime.close();
    await registry.stop();
    await containerd.stop();
  };
  return {
    runtime,
    cleanup,
    sandbox: HOST_SANDBOX,
    image: await registry.push('busybox:1'),
    container: hostContainer(containerd.image),
  };
}
