import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { RuntimeService } from '../../src/agent/runtime/service/runtime-service.ts';
import type {
  ContainerConfig,
  ContainerStateName,
  ContainerStatus,
  PodSandboxConfig,
} from '../../src/types/cri.ts';
import { waitFor } from './wait-for.ts';

/** A pod with a new UID, with its logs below `logsDir`. */
export function podConfig(logsDir: string, more: Partial<PodSandboxConfig> = {}): PodSandboxConfig {
  const uid = randomUUID();
  return {
    metadata: { name: 'pod', uid, namespace: 'default', attempt: 0 },
    logDirectory: join(logsDir, `default_pod_${uid}`),
    labels: { 'io.kubernetes.pod.uid': uid },
    annotations: {},
    ...more,
  };
}

export function containerConfig(
  command: readonly string[],
  more: Partial<ContainerConfig> = {},
): ContainerConfig {
  return {
    metadata: { name: 'main', attempt: 0 },
    image: { image: 'none' },
    command,
    args: [],
    envs: [],
    labels: {},
    annotations: {},
    logPath: 'main/0.log',
    ...more,
  };
}

export const shell = (script: string, more: Partial<ContainerConfig> = {}): ContainerConfig =>
  containerConfig(['sh', '-c', script], more);

/** A pod of one running container. */
export async function startPod(
  runtime: RuntimeService,
  logsDir: string,
  container: ContainerConfig,
  more: Partial<PodSandboxConfig> = {},
): Promise<{ sandboxId: string; id: string; sandbox: PodSandboxConfig; logFile: string }> {
  const sandbox = podConfig(logsDir, more);
  const sandboxId = await runtime.runPodSandbox(sandbox);
  const id = await runtime.createContainer(sandboxId, container, sandbox);
  await runtime.startContainer(id);
  return { sandboxId, id, sandbox, logFile: join(sandbox.logDirectory, container.logPath) };
}

export function whenState(
  runtime: RuntimeService,
  id: string,
  state: ContainerStateName,
): Promise<ContainerStatus> {
  return waitFor(
    async () => {
      const status = await runtime.containerStatus(id);
      return status.state === state && status;
    },
    { what: `${state} of container ${id}` },
  );
}

export const whenExited = (runtime: RuntimeService, id: string): Promise<ContainerStatus> =>
  whenState(runtime, id, 'CONTAINER_EXITED');
