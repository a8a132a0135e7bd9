/**
 * What a runtime's error means where its code does not tell. containerd 1.6 answers most failures with Unknown, and
 * NotFound also for a part of what was asked for: the state of the thing tells more. Each of these gives the error that
 * the caller is to see, and may reject, where the state cannot be read.
 */
import type { ContainerStateName, PodSandboxState } from '../../../types/cri.ts';
import { errorKind, type ErrorKind, errorMessage, StateletError } from '../../../types/errors.ts';

/** Undefined of what is not there. */
export interface States {
  container(
    id: string,
  ): Promise<{ readonly state: ContainerStateName; readonly finishedAt: number } | undefined>;
  sandbox(id: string): Promise<PodSandboxState | undefined>;
}

/** Of containerd; of CRI-O. */
const NAME_TAKEN = /\bis reserved for\b|\bname is reserved\b|\balready exists\b/;

/** RunPodSandbox. Another call may be making it just now: no list would show that. */
export function notRun(error: unknown): unknown {
  const taken = errorKind(error) === 'Unknown' && NAME_TAKEN.test(errorMessage(error));
  return taken ? ofKind('AlreadyExists', error) : error;
}

/** CreateContainer. */
export async function notCreated(error: unknown, sandboxId: string, states: States): Promise<unknown> {
  const known = notRun(error);
  if (known !== error || !isVague(error)) return known;
  const state = await states.sandbox(sandboxId);
  if (state === undefined) return ofKind('NotFound', error);
  return state === 'SANDBOX_NOTREADY' ? ofKind('FailedPrecondition', error) : error;
}

/** StartContainer. One that fails leaves the container exited: it was not so before that call began (Unix ms). */
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

/** A call that needs a running container. */
export async function notDone(error: unknown, id: string, states: States): Promise<unknown> {
  if (!isVague(error)) return error;
  const status = await states.container(id);
  if (status === undefined) return ofKind('NotFound', error);
  return status.state === 'CONTAINER_RUNNING' ? error : ofKind('FailedPrecondition', error);
}

/** Whether the code may stand for anything. */
const isVague = (error: unknown): boolean => ['Unknown', 'NotFound'].includes(errorKind(error));

const ofKind = (kind: ErrorKind, error: unknown): StateletError =>
  new StateletError(kind, errorMessage(error), { cause: error });
