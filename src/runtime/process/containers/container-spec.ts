import { StateletError } from '../../../types/errors.ts';
import type { ContainerConfig } from '../../../types/cri.ts';
import { DEFAULT_PATH, userOf } from './launch.ts';
import type { ProcessSpec } from './launch.ts';
import type { RuntimeLayout, StreamName } from '../layout.ts';
import { privilegesOf } from './privileges.ts';
import { CONTAINER_ID_VARIABLE } from './proc.ts';
import type { ContainerRecord, SandboxRecord } from '../monitor/records.ts';
import { requireTerminals } from '../streams/pseudo-terminal.ts';
import { stopSignal } from './stop-signal.ts';
import { terminationPath } from './message-file.ts';

/** Throws a StateletError if the embedded runtime cannot run such a container. */
export function validateContainer(config: ContainerConfig): void {
  const name = `container "${config.metadata.name}"`;
  if (config.command.length === 0) {
    throw new StateletError(
      'InvalidArgument',
      `${name} has no command: the embedded runtime runs plain processes of this machine and has no image to take a ` +
        `command from (image "${config.image.image}" is not looked at), so its \`command\` must be given`,
    );
  }
  if (config.tty) requireTerminals(name);
  privilegesOf(config, userOf(config));
  stopSignal(config);
}

/** The named pipes of a container. A terminal has one output, and always something that is read from. */
export function containerStreams({ stdin, tty }: ContainerConfig): readonly StreamName[] {
  if (tty) return ['stdin', 'stdout'];
  return stdin ? ['stdin', 'stdout', 'stderr'] : ['stdout', 'stderr'];
}

export function messageFile(layout: RuntimeLayout, record: ContainerRecord): string {
  return terminationPath(record.config, layout.terminationFile(record.podSandboxId, record.id));
}

/** How to start a process of this container. Its environment has nothing of the monitor's. */
export function processSpec(
  layout: RuntimeLayout,
  { config: sandbox }: SandboxRecord,
  record: ContainerRecord,
  command: readonly string[],
): ProcessSpec {
  const { config, id, podSandboxId } = record;
  const home = layout.workDir(podSandboxId);
  const env = {
    PATH: DEFAULT_PATH,
    // CRI gives no hostname for a pod on the host's network: the pod's name then.
    HOSTNAME: orElse(sandbox.hostname, sandbox.metadata.name),
    HOME: home,
    ...Object.fromEntries(config.envs.map(({ key, value }) => [key, value])),
    STATELET_TERMINATION_LOG: messageFile(layout, record),
    [CONTAINER_ID_VARIABLE]: id,
  };
  const user = userOf(config);
  const privileges = privilegesOf(config, user);
  const cwd = orElse(config.workingDir, home);
  // `setpriv` changes the user itself: as another user it could not drop privileges any more.
  return privileges ? { command, env, cwd, privileges } : { command, env, cwd, user };
}

/** In CRI a field that is not set is empty. */
function orElse(text: string | undefined, fallback: string): string {
  return text === undefined || text === '' ? fallback : text;
}
