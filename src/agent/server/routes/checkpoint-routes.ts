/** `/checkpoint/NAMESPACE/POD/CONTAINER`: lets the runtime write a running container into an archive. */
import { dirname, join } from 'node:path';
import { makeFolder } from '../../../system/make-folder.ts';
import { checkpointFile, checkpointTimeout, hasContainer } from '../../policies/server/running-pods.ts';
import type { RuntimeService } from '../../runtime/service/runtime-service.ts';
import type { Clock } from '../../../types/clock.ts';
import { errorMessage, StateletError } from '../../../types/errors.ts';
import type { Pod } from '../../../types/kubernetes.ts';
import { answer, JSON_TYPE, RequestError, type Route } from './route.ts';
import type { NodeApi } from './node-api.ts';

/** Below the root folder. The archives hold the memory of the containers, with all secrets. */
const FOLDER = 'checkpoints';

export interface CheckpointApi extends Pick<NodeApi, 'rootDir' | 'pod' | 'runtimePod'> {
  readonly runtime: Pick<RuntimeService, 'checkpointContainer'>;
}

export function checkpointRoutes(api: CheckpointApi, clock: Pick<Clock, 'now'>): readonly Route[] {
  return [
    {
      path: '/checkpoint/:namespace/:pod/:container',
      methods: ['POST'],
      handle: async ({ params, query }, response) => {
        const { namespace = '', pod: name = '', container = '' } = params;
        const pod = api.pod(namespace, name)?.pod;
        if (pod === undefined) throw new RequestError(404, 'pod does not exist');
        if (!hasContainer(pod, container))
          throw new RequestError(404, `container ${container} does not exist`);
        const location = join(api.rootDir, FOLDER, checkpointFile(pod.metadata, container, clock.now()));
        const request = { pod, container, timeoutSeconds: timeoutOf(query), location };
        await write(request, api).catch((error: unknown) => {
          const problem = `checkpointing of ${namespace}/${name}/${container} failed`;
          throw new RequestError(500, `${problem} (${shownError(error)})`);
        });
        answer(response, 200, `{"items":[${JSON.stringify(location)}]}`, {
          'Content-Type': JSON_TYPE,
        });
      },
    },
  ];
}

function timeoutOf(query: string): number {
  try {
    return checkpointTimeout(new URLSearchParams(query));
  } catch (error) {
    throw new RequestError(404, errorMessage(error));
  }
}

interface CheckpointRequest {
  readonly pod: Pod;
  readonly container: string;
  /** 0: the usual time limit. */
  readonly timeoutSeconds: number;
  readonly location: string;
}

async function write(
  { pod, container: name, timeoutSeconds, location }: CheckpointRequest,
  { runtime, runtimePod }: CheckpointApi,
): Promise<void> {
  const container = runtimePod(pod.metadata.uid)?.containers.find((one) => one.name === name);
  if (container === undefined) throw new Error(`container ${name} not found`);
  if (timeoutSeconds < 0) throw new Error('CheckpointContainer requires the timeout value to be > 0');
  if (runtime.checkpointContainer === undefined)
    throw new Error('this container runtime writes no checkpoints: that takes one that speaks CRI');
  await makeFolder(dirname(location), 0o700);
  await runtime.checkpointContainer({ containerId: container.id, location, timeoutSeconds });
}

/** An answer of a CRI runtime in the words of the kubelet, any other error in its own. */
function shownError(error: unknown): string {
  const details = (error as { cause?: { details?: unknown } } | undefined)?.cause?.details;
  if (!(error instanceof StateletError) || typeof details !== 'string') return errorMessage(error);
  return `rpc error: code = ${error.kind} desc = ${details}`;
}
