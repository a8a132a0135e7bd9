/** The records of the monitor, and whether what a file says has the form of one. */
import type {
  ContainerConfig,
  ContainerStateName,
  PodSandboxConfig,
  PodSandboxState,
} from '../../types/cri.ts';
import { fieldsOf } from '../../agent/policies/formats/json-values.ts';
import type { ProcessIdentity } from '../containers/proc.ts';

export interface SandboxRecord {
  readonly id: string;
  readonly config: PodSandboxConfig;
  readonly createdAt: number;
  state: PodSandboxState;
}

/** How a container's main process ended. */
export interface Exit {
  readonly exitCode: number;
  readonly reason: string;
  readonly finishedAt: number;
  /** Empty until the container's own message has been read. */
  readonly message: string;
}

export interface ContainerRecord {
  readonly id: string;
  readonly podSandboxId: string;
  readonly config: ContainerConfig;
  readonly createdAt: number;
  state: ContainerStateName;
  startedAt: number;
  /** The main process, once it was started. */
  process?: ProcessIdentity;
  /** Set before the state is CONTAINER_EXITED: in between, processes that the main process has left behind are killed. */
  exit?: Exit;
}

const SANDBOX_STATES: ReadonlySet<unknown> = new Set<PodSandboxState>(['SANDBOX_READY', 'SANDBOX_NOTREADY']);
const CONTAINER_STATES: ReadonlySet<unknown> = new Set<ContainerStateName>([
  'CONTAINER_CREATED',
  'CONTAINER_RUNNING',
  'CONTAINER_EXITED',
]);

/** The part of a record that never changes; without the rest it is not known what has become of the thing. */
export type Beginning<T extends SandboxRecord | ContainerRecord> = Omit<
  T,
  'state' | 'startedAt' | 'process' | 'exit'
>;

/** `id`: by the name of the file. */
export function isSandboxBeginning(value: unknown, id: string): value is Beginning<SandboxRecord> {
  const { config, createdAt, ...record } = fieldsOf(value);
  const { metadata, labels, annotations, logDirectory, hostname } = fieldsOf(config);
  return (
    record.id === id &&
    isNumber(createdAt) &&
    isPodMetadata(metadata) &&
    [labels, annotations].every(isTexts) &&
    isText(logDirectory) &&
    isOptional(hostname, isText)
  );
}

export function isWholeSandbox(value: Beginning<SandboxRecord>): value is SandboxRecord {
  return SANDBOX_STATES.has(fieldsOf(value).state);
}

/** `id`: by the name of the folder. */
export function isContainerBeginning(value: unknown, id: string): value is Beginning<ContainerRecord> {
  const { config, createdAt, podSandboxId, ...record } = fieldsOf(value);
  return record.id === id && isText(podSandboxId) && isNumber(createdAt) && isContainerConfig(config);
}

export function isWholeContainer(value: Beginning<ContainerRecord>): value is ContainerRecord {
  const { state, startedAt, process, exit } = fieldsOf(value);
  const hasRun = state === 'CONTAINER_RUNNING' || state === 'CONTAINER_EXITED';
  return (
    CONTAINER_STATES.has(state) &&
    isNumber(startedAt) &&
    isOptional(process, isIdentity) &&
    isOptional(exit, isExit) &&
    // What runs has a process; what has ended has an exit.
    (!hasRun || process !== undefined || exit !== undefined) &&
    (state !== 'CONTAINER_EXITED' || exit !== undefined)
  );
}

function isContainerConfig(value: unknown): boolean {
  const { metadata, image, command, args, envs, labels, annotations, logPath, mounts } = fieldsOf(value);
  const { name, attempt } = fieldsOf(metadata);
  return (
    isText(name) &&
    isNumber(attempt) &&
    isText(fieldsOf(image).image) &&
    [command, args].every((words) => isListOf(words, isText)) &&
    isListOf(envs, isVariable) &&
    [labels, annotations].every(isTexts) &&
    isText(logPath) &&
    isOptional(mounts, (list) => isListOf(list, isMount))
  );
}

function isMount(value: unknown): boolean {
  const { containerPath, hostPath, propagation, readonly: isReadOnly } = fieldsOf(value);
  return [containerPath, hostPath, propagation].every(isText) && typeof isReadOnly === 'boolean';
}

function isPodMetadata(value: unknown): boolean {
  const { name, namespace, uid, attempt } = fieldsOf(value);
  return [name, namespace, uid].every(isText) && isNumber(attempt);
}

function isVariable(value: unknown): boolean {
  const { key, value: text } = fieldsOf(value);
  return isText(key) && isText(text);
}

function isIdentity(value: unknown): boolean {
  const { pid, startTicks } = fieldsOf(value);
  return Number.isSafeInteger(pid) && Number(pid) > 1 && isNumber(startTicks);
}

function isExit(value: unknown): boolean {
  const { exitCode, reason, finishedAt, message } = fieldsOf(value);
  return Number.isSafeInteger(exitCode) && isNumber(finishedAt) && [reason, message].every(isText);
}

const isText = (value: unknown): value is string => typeof value === 'string';
const isNumber = (value: unknown): value is number => Number.isFinite(value);
const isOptional = (value: unknown, is: (value: unknown) => boolean): boolean =>
  value === undefined || is(value);
const isListOf = (value: unknown, is: (value: unknown) => boolean): boolean =>
  Array.isArray(value) && value.every(is);

function isTexts(value: unknown): boolean {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && Object.values(value).every(isText)
  );
}

/** Undefined fields for what is no object. */
