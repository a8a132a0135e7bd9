/**
 * Finds out what a runtime's error means if its code does not show it. containerd 1.6 answers most failures with Unknown, and uses NotFound also for
 * parts of a request: the state of the container or sandbox tells more. Each function gives the error for the caller. It rejects if the state cannot
 * be read.
 */
import type { ContainerStateName, PodSandboxState } from '../../../../types/cri.ts';
import { errorKind, type ErrorKind, errorMessage, StateletError } from '../../../../types/errors.ts';

/** Reads states; undefined if there is no such container or sandbox. */
export interface States {
  container(
    id: string,
  ): Promise<{ readonly state: ContainerStateName; readonly finishedAt: number } | undefined>;
  sandbox(id: string): Promise<PodSandboxState | undefined>;
}

/** The messages of containerd and of CRI-O. */
const NAME_TAKEN = /\bis reserved for\b|\bname is reserved\b|\balready exists\b/;

/** For RunPodSandbox. Another call may be creating the sandbox: no list would show that yet. */
export function notRun(error: unknown): unknown {
  const taken = errorKind(error) === 'Unknown' && NAME_TAKEN.test(errorMessage(error));
  return taken ? ofKind('AlreadyExists', error) : error;
}

/** For CreateContainer. */
export async function notCreated(error: unknown, sandboxId: string, states: States): Promise<unknown> {
  const known = notRun(error);
  if (known !== error || !isVague(error)) return known;
  const state = await states.sandbox(sandboxId);
  if (state === undefined) return ofKind('NotFound', error);
  return state === 'SANDBOX_NOTREADY' ? ofKind('FailedPrecondition', error) : error;
}

/** For StartContainer, which began at `begunAt` (Unix ms). A start that fails leaves the container exited, too, but later. */
export async function notStarted(
  error: unknown,
  id: string,
  begunAt: number,
  states: States,
): Promise<unknown> {
  if (!isVague(error)) return error;
  const status = await states.container(id);
  if (status === undefined) return ofKind('NotFound', error);
  const { state, finishedAt } = status;
  const before = state === 'CONTAINER_EXITED' && finishedAt / 1e6 < begunAt;
  return before || state === 'CONTAINER_RUNNING' ? ofKind('FailedPrecondition', error) : error;
}

/** For calls that need a running container. */
export async function notDone(error: unknown, id: string, states: States): Promise<unknown> {
  if (!isVague(error)) return error;
  const status = await states.container(id);
  if (status === undefined) return ofKind('NotFound', error);
  return status.state === 'CONTAINER_RUNNING' ? error : ofKind('FailedPrecondition', error);
}

/** For PortForward, which needs a sandbox that is ready. */
export async function notForwarded(error: unknown, sandboxId: string, states: States): Promise<unknown> {
  if (!isVague(error)) return error;
  const state = await states.sandbox(sandboxId);
  if (state === undefined) return ofKind('NotFound', error);
  return state === 'SANDBOX_NOTREADY' ? ofKind('FailedPrecondition', error) : error;
}

/** Whether the error's code may have several meanings. */
const isVague = (error: unknown): boolean => ['Unknown', 'NotFound'].includes(errorKind(error));

const ofKind = (kind: ErrorKind, error: unknown): StateletError =>
  new StateletError(kind, errorMessage(error), { cause: error });
