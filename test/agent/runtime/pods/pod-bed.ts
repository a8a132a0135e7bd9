/** An embedded runtime with pods as the agent starts them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { containerConfig } from '../../../../src/agent/policies/cri/container-config.ts';
import { podSandboxConfig } from '../../../../src/agent/policies/cri/sandbox-config.ts';
import { readPod } from '../../../../src/agent/runtime/pleg/pod-reader.ts';
import type { RuntimeService } from '../../../../src/agent/runtime/service/runtime-service.ts';
import { systemClock } from '../../../../src/system/timer.ts';
import type { PodSandboxConfig } from '../../../../src/types/cri.ts';
import { errorMessage } from '../../../../src/types/errors.ts';
import type { Container, EphemeralContainer, Pod, PodSpec } from '../../../../src/types/kubernetes.ts';
import type { RuntimePodStatus } from '../../../../src/types/runtime-pod.ts';
import { processRuntimeBed } from '../../../support/process-runtime.ts';
import { silentLogger } from '../../../support/silent-logger.ts';
import { testContext } from '../../../support/test-context.ts';
import { waitFor } from '../../../support/wait-for.ts';

export function podBed() {
  const bed = processRuntimeBed();
  const events: string[] = [];
  const debugged: string[] = [];
  const journal = join(bed.rootDir, 'journal');
  const lines = () => {
    try {
      return readFileSync(journal, 'utf8').split('\n').filter(Boolean);
    } catch {
      return [];
    }
  };
  const read = (pod: Pod) => readPod(bed.runtime, pod.metadata, Date.now());
  const newSandbox = (pod: Pod) => runSandbox(bed.runtime, pod, bed.rootDir);
  /** On the clock of the machine. */
  const context = testContext({
    clock: systemClock,
    recorder: {
      event: (_pod, type, reason, message) => void events.push(`${type} ${reason}: ${message}`),
      nodeEvent: () => undefined,
    },
    logger: {
      ...silentLogger,
      debug: (fields: { readonly err?: unknown }, message) =>
        void debugged.push(`${message}: ${errorMessage(fields.err)}`),
    },
  });
  return {
    ...bed,
    events,
    /** The debug messages of the log, with their errors. */
    debugged,
    context,
    /** The lines that the containers have written. */
    lines,
    until: (line: string) =>
      waitFor(() => lines().includes(line), { what: `"${line}" among ${JSON.stringify(lines())}` }),
    /** A shell command that writes a line. */
    say: (line: string) => `echo ${line} >> ${journal}`,
    /** Shell: whether the line has been written. */
    has: (line: string) => `grep -qx ${line} ${journal}`,
    read,
    newSandbox,
    /** Runs all containers of the pod at once. */
    run: async (pod: Pod): Promise<RuntimePodStatus> => {
      const { sandboxId, sandboxConfig } = await newSandbox(pod);
      for (const container of [...(pod.spec.initContainers ?? []), ...pod.spec.containers]) {
        await runContainer(bed.runtime, pod, container, sandboxId, sandboxConfig);
      }
      return read(pod);
    },
  };
}

export type PodBed = ReturnType<typeof podBed>;

let pods = 0;

/** A pod with a new UID. */
export function podOf(spec: Partial<PodSpec>, metadata: Partial<Pod['metadata']> = {}): Pod {
  const uid = `uid-${String(++pods)}`;
  return {
    metadata: { name: 'web', namespace: 'default', uid, ...metadata },
    spec: { containers: [], terminationGracePeriodSeconds: 30, restartPolicy: 'Always', ...spec },
  };
}

export const shell = (name: string, script: string, more: Partial<Container> = {}): Container => ({
  name,
  command: ['sh', '-c', script],
  ...more,
});

async function runSandbox(runtime: RuntimeService, pod: Pod, rootDir: string) {
  const sandboxConfig = podSandboxConfig(pod, 0, { podLogsDir: join(rootDir, 'pods') });
  return { sandboxConfig, sandboxId: await runtime.runPodSandbox(sandboxConfig) };
}

export async function runContainer(
  runtime: RuntimeService,
  pod: Pod,
  container: Container | EphemeralContainer,
  sandboxId: string,
  sandboxConfig: PodSandboxConfig,
  attempt = 0,
): Promise<string> {
  const { command = [], args = [] } = container;
  const resolved = { command, args, envs: [] };
  const config = containerConfig({ pod, container, attempt, resolved });
  const id = await runtime.createContainer(sandboxId, config, sandboxConfig);
  await runtime.startContainer(id);
  return id;
}
