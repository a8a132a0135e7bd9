/** Finds in the runtime what a request names. The runtime is asked, as what was last read of it may be a second old. */
import { CONTAINER_NAME_LABEL, POD_UID_LABEL } from '../../policies/cri/cri-labels.ts';
import type { Refusal } from '../../policies/server/log-options.ts';
import {
  type CallOptions,
  runtimeMessage,
  type RuntimeService,
} from '../../runtime/service/runtime-service.ts';
import { errorKind } from '../../../types/errors.ts';
import { RequestError } from '../routes/route.ts';

interface Created {
  readonly id: string;
  readonly createdAt: number;
}

/** The id of the container of that name that runs. */
export async function runningContainer(
  runtime: Pick<RuntimeService, 'listContainers'>,
  podUid: string,
  name: string,
  options: CallOptions,
): Promise<string | undefined> {
  const labelSelector = { [POD_UID_LABEL]: podUid, [CONTAINER_NAME_LABEL]: name };
  return newest(await runtime.listContainers({ state: 'CONTAINER_RUNNING', labelSelector }, options));
}

/** The id of the pod's sandbox that is ready. */
export async function readySandbox(
  runtime: Pick<RuntimeService, 'listPodSandbox'>,
  podUid: string,
  options: CallOptions,
): Promise<string | undefined> {
  const labelSelector = { [POD_UID_LABEL]: podUid };
  return newest(await runtime.listPodSandbox({ state: 'SANDBOX_READY', labelSelector }, options));
}

function newest(all: readonly Created[]): string | undefined {
  return [...all].sort((one, other) => other.createdAt - one.createdAt)[0]?.id;
}

/** Throws what the runtime answers as the kubelet does. */
export async function askRuntime<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    throw error instanceof RequestError ? error : runtimeRefusal(error);
  }
}

/** How long the runtime keeps a URL that was not used. After that it has room for another one. */
const RETRY_SECONDS = '60';

function runtimeRefusal(error: unknown): RequestError {
  const message = runtimeMessage(error);
  switch (errorKind(error)) {
    case 'NotFound':
      return new RequestError(404, message);
    case 'ResourceExhausted':
      return new RequestError(429, message, { 'Retry-After': RETRY_SECONDS });
    default:
      return new RequestError(500, message);
  }
}

/** Throws the refusal, or returns what was asked for. */
export function unlessRefused<T extends object>(asked: T | Refusal): T {
  if ('message' in asked) throw new RequestError(asked.status, asked.message);
  return asked;
}
