/** What a monitor finds damaged at its start, and what it does about it: in words for the daemon's log and the pod's events. */
import type { PodReference } from '../../types/event-recorder.ts';
import { podOfLabels } from '../../agent/policies/cri/cri-labels.ts';
import type { Beginning, ContainerRecord, SandboxRecord } from './records.ts';

export interface Finding {
  readonly message: string;
  /** Undefined where nothing says which pod it is. */
  readonly pod?: PodReference;
  readonly container?: string;
}

export function foundContainer(
  { config }: Beginning<ContainerRecord>,
  sandbox: SandboxRecord,
  problem: string,
  pid: number | undefined,
): Finding {
  const { name } = config.metadata;
  const outcome =
    pid === undefined
      ? 'no main process of it was found, so it counts as ended, with an unknown exit code'
      : `process ${pid} was found by its environment to be the container, and runs on`;
  return {
    message: `The record of container ${name} cannot be used (${problem}): ${outcome}`,
    pod: podOf(sandbox),
    container: name,
  };
}

export function lostContainer(
  id: string,
  sandbox: SandboxRecord | undefined,
  problem: string,
  pids: readonly number[],
): Finding {
  const outcome =
    pids.length === 0
      ? 'no process of it was found'
      : `its processes (${pids.join(', ')}) are killed, and the pod starts it again`;
  return {
    message: `The record of container ${id} cannot be used (${problem}): ${outcome}`,
    ...(sandbox && { pod: podOf(sandbox) }),
  };
}

export function foundSandbox(sandbox: SandboxRecord, problem: string): Finding {
  const outcome = 'it was restored from the copy of how it began';
  return {
    message: `The record of the pod's sandbox cannot be used (${problem}): ${outcome}`,
    pod: podOf(sandbox),
  };
}

export function lostSandbox(id: string, sandbox: SandboxRecord | undefined, problem: string): Finding {
  const outcome = sandbox
    ? 'its containers end, and the pod gets a new sandbox'
    : 'nothing of its pod is left, which starts again if it is wanted';
  return {
    message: `The record of sandbox ${id} cannot be used (${problem}): ${outcome}`,
    ...(sandbox && { pod: podOf(sandbox) }),
  };
}

export function lockReplaced(problem: string): Finding {
  return { message: `The lock of the embedded runtime could not be used and was made anew: ${problem}` };
}

function podOf({ config: { metadata, labels } }: SandboxRecord): PodReference {
  const { name, namespace, uid } = metadata;
  // Of a sandbox that was made up from its containers the labels are all that is known.
  return uid === '' ? podOfLabels(labels) : { name, namespace, uid };
}
