import { ownVersion } from '../version.ts';
import type { ContainerConfig } from '../types/cri.ts';
import { StateletError } from '../types/errors.ts';
import type { RuntimeService } from '../agent/runtime/service/runtime-service.ts';
import { runtimeLayout } from './layout.ts';
import type { Finding } from './monitor/findings.ts';
import { MonitorClient } from './monitor/monitor-client.ts';
import { processStreaming } from './process-streaming.ts';
import { asksForPrivileges } from './containers/privileges.ts';

const tooOld = ({ metadata: { name } }: ContainerConfig, what: string): StateletError =>
  new StateletError(
    'FailedPrecondition',
    `container "${name}" has ${what} that the monitor of the embedded runtime does not know: an older version ` +
      'of statelet started it. It is followed by one of this version once all pods have been removed',
  );

function hasLimits({ linux }: ContainerConfig): boolean {
  const { cpuQuota = 0, memoryLimitInBytes = 0 } = linux?.resources ?? {};
  return cpuQuota > 0 || memoryLimitInBytes > 0;
}

export interface ProcessRuntimeOptions {
  /** The agent's root directory; the runtime uses `runtime` and `scratch` in it. */
  readonly rootDir: string;
  /** How long a call may take (the kubelet's runtimeRequestTimeout). */
  readonly requestTimeoutMs?: number | undefined;
  /** The addresses of this node, and so of its pods; the primary one first. */
  readonly hostIPs?: readonly string[];
  readonly logger?: { warn(message: string): void };
  /** Called with each thing that a monitor has found damaged at its start. */
  readonly onFinding?: (finding: Finding) => void;
}

/** The default of the kubelet's runtimeRequestTimeout. */
const REQUEST_TIMEOUT_MS = 120_000;

/**
 * The embedded runtime: containers are plain processes of this machine, with no isolation and no images. A
 * container's file system, network and users are the machine's; its environment is its own.
 *
 * - Every process has STATELET_CONTAINER_ID and STATELET_TERMINATION_LOG (the file for its termination message) in
 *   its environment. HOME, also the default working directory, is a folder that the pod's containers share; it is
 *   removed with the pod's sandbox.
 * - Containers outlive this process: the monitor holds them (see monitor.ts).
 * - Time limits, as with CRI: `requestTimeoutMs`; twice that for runPodSandbox; for stopContainer, and for execSync
 *   with a timeout, that much on top of the timeout; none for execSync without a timeout.
 */
export function createProcessRuntime(options: ProcessRuntimeOptions): RuntimeService {
  const { rootDir, requestTimeoutMs = REQUEST_TIMEOUT_MS, hostIPs = [], logger, onFinding } = options;
  const [ip, ...additionalIps] = hostIPs;
  const network = ip !== undefined && { network: { ip, additionalIps } };
  const warn = (message: string) => logger?.warn(message);
  const layout = runtimeLayout(rootDir);
  const client = new MonitorClient(layout, { requestTimeoutMs, warn, onFinding });
  const longer = (seconds: number) => seconds * 1000 + requestTimeoutMs;
  return {
    version: () =>
      Promise.resolve({ runtimeName: 'statelet', runtimeVersion: ownVersion(), runtimeApiVersion: 'v1' }),
    status: async (options) => {
      await client.call('ping', [], options);
      const ready = { status: true, reason: '', message: '' };
      const conditions = [
        { type: 'RuntimeReady', ...ready },
        { type: 'NetworkReady', ...ready },
      ] as const;
      return { conditions, supplementalGroupsPolicy: false };
    },

    runPodSandbox: (config, { signal } = {}) =>
      client.call('runPodSandbox', [config], { signal, timeoutMs: 2 * requestTimeoutMs }),
    stopPodSandbox: (id, options) => client.call('stopPodSandbox', [id], options),
    removePodSandbox: (id, options) => client.call('removePodSandbox', [id], options),
    podSandboxStatus: async (id, options) => {
      const status = await client.call('podSandboxStatus', [id], options);
      return { ...status, ...network };
    },
    listPodSandbox: (filter = {}, options) => client.call('listPodSandbox', [filter], options),

    createContainer: async (podSandboxId, config, _sandboxConfig, options) => {
      if (asksForPrivileges(config) && !(await client.has('privileges')))
        throw tooOld(config, 'a securityContext');
      if (config.mounts?.length && !(await client.has('mounts'))) throw tooOld(config, 'volumes');
      if (hasLimits(config) && !(await client.has('cgroups'))) throw tooOld(config, 'limits');
      return client.call('createContainer', [podSandboxId, config], options);
    },
    startContainer: (id, options) => client.call('startContainer', [id], options),
    stopContainer: (id, timeoutSeconds, options) =>
      client.call('stopContainer', [id, timeoutSeconds], {
        ...options,
        timeoutMs: longer(timeoutSeconds),
      }),
    removeContainer: (id, options) => client.call('removeContainer', [id], options),
    listContainers: (filter = {}, options) => client.call('listContainers', [filter], options),
    containerStatus: (id, options) => client.call('containerStatus', [id], options),
    execSync: async (id, command, timeoutSeconds, options) => {
      const timeoutMs = timeoutSeconds > 0 ? longer(timeoutSeconds) : 0;
      const limits = { ...options, timeoutMs };
      const result = await client.call('execSync', [id, command, timeoutSeconds], limits);
      return {
        stdout: Buffer.from(result.stdoutBase64, 'base64'),
        stderr: Buffer.from(result.stderrBase64, 'base64'),
        exitCode: result.exitCode,
      };
    },
    listContainerStats: (filter = {}, options) => client.call('listContainerStats', [filter], options),
    streaming: processStreaming(client, layout),
    containerEvents: () => client.events,
    reopenContainerLog: (id, options) => client.call('reopenContainerLog', [id], options),

    // There are no images: every name counts as present.
    pullImage: (image) => Promise.resolve(image),
    imageStatus: (image) => Promise.resolve({ id: image, repoTags: [image], size: 0 }),
    listImages: () => Promise.resolve([]),
    removeImage: () => Promise.resolve(),
    imageFsInfo: () => Promise.resolve([]),

    close: () => client.close(),
  };
}
