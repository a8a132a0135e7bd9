import { accessSync, constants } from 'node:fs';
import { constants as osConstants } from 'node:os';
import { dirname, isAbsolute, join, normalize, relative } from 'node:path';
import { TERMINATION_MESSAGE_PATH_ANNOTATION } from '../../agent/policies/cri/cri-labels.ts';
import { isWithin } from '../../agent/policies/formats/mountinfo.ts';
import type { ContainerConfig } from '../../types/cri.ts';
import { invalid } from '../../types/errors.ts';
import type { RuntimeLayout, StreamName } from '../layout.ts';
import type { ContainerRecord, SandboxRecord } from '../monitor/records.ts';
import { checkMounts } from '../mounts/mount-plan.ts';
import { requireTerminals } from '../streams/pseudo-terminal.ts';
import { DEFAULT_PATH, type ProcessSpec, userOf } from './launch.ts';
import type { Signal } from './main-process.ts';
import { privilegesOf } from './privileges.ts';
import { CONTAINER_ID_VARIABLE } from './proc.ts';

/** Throws a StateletError if the embedded runtime cannot run such a container. */
export function validateContainer(config: ContainerConfig): void {
  const name = `container "${config.metadata.name}"`;
  const problem = noCommand(config);
  if (problem !== undefined) throw invalid(problem);
  if (config.tty) requireTerminals(name);
  privilegesOf(config, userOf(config));
  stopSignal(config);
  checkMounts(config.mounts ?? [], config.metadata.name);
}

/** Undefined where it has one. */
export function noCommand({ command, metadata, image }: ContainerConfig): string | undefined {
  if (command.length > 0) return undefined;
  return (
    `container "${metadata.name}" has no command: the embedded runtime runs plain processes of this machine and has no image to take a ` +
    `command from (image "${image.image}" is not looked at), so its \`command\` must be given`
  );
}

/** The named pipes of a container. A terminal has one output, and always something that is read from. */
export function containerStreams({ stdin, tty }: ContainerConfig): readonly StreamName[] {
  if (tty) return ['stdin', 'stdout'];
  return stdin ? ['stdin', 'stdout', 'stderr'] : ['stdout', 'stderr'];
}

export function messageFile(layout: RuntimeLayout, record: ContainerRecord): MessageFile {
  return terminationFile(record.config, layout.terminationFile(record.podSandboxId, record.id));
}

/** How to start a process of this container. Its environment has nothing of the monitor's. */
export function processSpec(
  layout: RuntimeLayout,
  { config: sandbox }: SandboxRecord,
  record: ContainerRecord,
  command: readonly string[],
  { namespace, cgroup }: { readonly [place in 'namespace' | 'cgroup']?: ProcessSpec[place] | undefined } = {},
): ProcessSpec {
  const { config, id, podSandboxId } = record;
  const home = layout.workDir(podSandboxId);
  const env = {
    PATH: DEFAULT_PATH,
    // CRI gives no hostname for a pod on the host's network: the pod's name then.
    HOSTNAME: orElse(sandbox.hostname, sandbox.metadata.name),
    HOME: home,
    ...Object.fromEntries(config.envs.map(({ key, value }) => [key, value])),
    STATELET_TERMINATION_LOG: messageFile(layout, record).seen,
    [CONTAINER_ID_VARIABLE]: id,
  };
  const user = userOf(config);
  const privileges = privilegesOf(config, user);
  const cwd = orElse(config.workingDir, home);
  // `setpriv` changes the user itself: as another user it could not drop privileges any more.
  return { command, env, cwd, namespace, cgroup, ...(privileges ? { privileges } : { user }) };
}

/** In CRI a field that is not set is empty. */
function orElse(text: string | undefined, fallback: string): string {
  return text === undefined || text === '' ? fallback : text;
}

const DEFAULT_MESSAGE_PATH = '/dev/termination-log';

export interface MessageFile {
  /** By what name the container knows it. */
  readonly seen: string;
  /** Where it is on this machine. */
  readonly place: string;
}

/**
 * The file in which a container leaves its termination message. Containers cannot have a /dev/termination-log of their own: in place of
 * this default they get a private file. Any other path is used as it is if it can be written, in a volume as well.
 */
export function terminationFile(config: ContainerConfig, privateFile: string): MessageFile {
  const path = config.annotations[TERMINATION_MESSAGE_PATH_ANNOTATION] ?? '';
  const ownFile = { seen: privateFile, place: privateFile };
  if (path === DEFAULT_MESSAGE_PATH || !isAbsolute(path)) return ownFile;
  const seen = normalize(path);
  const mount = (config.mounts ?? [])
    .filter(({ containerPath }) => isWithin(containerPath, seen))
    .toSorted((a, b) => b.containerPath.length - a.containerPath.length)[0];
  if (mount?.readonly) return ownFile;
  const place = mount ? join(mount.hostPath, relative(mount.containerPath, seen)) : path;
  try {
    // A volume may be of this one file.
    accessSync(mount?.containerPath === seen ? place : dirname(place), constants.W_OK);
    return { seen: path, place };
  } catch {
    return ownFile;
  }
}

const [RTMIN, RTMAX] = [34, 64];

/** The signal that asks a container to end. Throws a StateletError of kind InvalidArgument for an unknown signal. */
export function stopSignal({ metadata, stopSignal: name = 'SIGTERM' }: ContainerConfig): Signal {
  if (Object.hasOwn(osConstants.signals, name)) return name as NodeJS.Signals;
  const [, from, offset = '0'] = /^SIG(RTMIN|RTMAX)(?:[+-](\d{1,2}))?$/.exec(name) ?? [];
  const number = from === 'RTMIN' ? RTMIN + Number(offset) : RTMAX - Number(offset);
  if (from !== undefined && number >= RTMIN && number <= RTMAX) return number;
  throw invalid(`container "${metadata.name}": lifecycle.stopSignal ${name} is no signal of this machine`);
}
