/** `/containerLogs`: the log of a container, as `kubectl logs` asks for it. */
import type { ServerResponse } from 'node:http';
import {
  containerLogRequest,
  type LoggedInstance,
  loggedInstance,
  runtimeId,
} from '../../policies/server/container-log-request.ts';
import { isRefusal, logViewOptions, type PodLogOptions } from '../../policies/server/log-options.ts';
import { readContainerLog } from '../../runtime/logs/read-container-log.ts';
import type { RuntimeService } from '../../runtime/service/runtime-service.ts';
import { systemClock } from '../../../system/timer.ts';
import { unlessAborted } from '../../../system/promises.ts';
import { errorKind, errorMessage, StateletError } from '../../../types/errors.ts';
import type { ServedPod } from '../../../types/served-pod.ts';
import type { NodeApi } from './node-api.ts';
import { RequestError, type Route, type RouteRequest } from './route.ts';

export interface ContainerLogApi extends Pick<NodeApi, 'pod' | 'runtimePod'> {
  readonly runtime: Pick<RuntimeService, 'containerStatus'>;
}

/** As long as the kubelet lets an answer take. Servers have shorter limits for other answers. */
const SILENCE_MS = 4 * 60 * 60_000;

export function containerLogRoutes(api: ContainerLogApi): readonly Route[] {
  const handle = (request: RouteRequest, response: ServerResponse) => serveLog(api, request, response);
  return [{ path: '/containerLogs/:namespace/:pod/:container', methods: ['GET'], handle }];
}

async function serveLog(
  api: ContainerLogApi,
  { params, query }: RouteRequest,
  response: ServerResponse,
): Promise<void> {
  const { namespace = '', pod: podName = '', container = '' } = params;
  const understood = containerLogRequest(api.pod(namespace, podName), { podName, container, query });
  if (isRefusal(understood)) throw new RequestError(understood.status, understood.message);
  const { options } = understood;
  const instance = instanceOf(understood.served, podName, container, options);
  if ('problem' in instance) {
    // The kubelet's answer has neither type nor length, as those with a log.
    response.writeHead(400, { 'Transfer-Encoding': 'chunked' }).end(instance.problem);
    return;
  }
  // The client learns that its request was understood, although the first line may come much later.
  response.writeHead(200).flushHeaders();
  // A container may be silent for long, and a reader slow.
  response.socket?.setTimeout(SILENCE_MS);
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  const uid = understood.served.pod.metadata.uid;
  const read = async (id: string) =>
    readContainerLog({
      path: await logPath(api, id, gone.signal),
      options: logViewOptions(options, systemClock.now()),
      isRunning: () => isRunning(api, uid, runtimeId(id)),
      write: (output) => write(response, output, gone.signal),
      clock: systemClock,
      signal: gone.signal,
    });
  const present = () => {
    const served = api.pod(namespace, podName);
    return served?.pod.metadata.uid === uid ? instanceOf(served, podName, container, options) : undefined;
  };
  try {
    await readPresent(instance.containerId, read, present);
    response.end();
  } catch (error) {
    // The status has been sent: the kubelet puts the error at the end of the log.
    response.end(gone.signal.aborted ? '' : errorMessage(error));
  }
}

/** An instance may be removed after the status was read: then the log of the one that has taken its place is read. */
async function readPresent(
  containerId: string,
  read: (containerId: string) => Promise<void>,
  present: () => LoggedInstance | undefined,
): Promise<void> {
  try {
    await read(containerId);
  } catch (error) {
    if (errorKind(error) !== 'NotFound') throw error;
    const next = present();
    if (next === undefined || 'problem' in next || next.containerId === containerId) throw error;
    await readPresent(next.containerId, read, present);
  }
}

function instanceOf(
  { pod, status }: ServedPod,
  podName: string,
  container: string,
  { previous = false }: PodLogOptions,
): LoggedInstance {
  return loggedInstance(status ?? pod.status ?? {}, { podName, container, previous });
}

/** Rejects with the kubelet's words. */
async function logPath({ runtime }: ContainerLogApi, id: string, signal: AbortSignal): Promise<string> {
  try {
    return (await runtime.containerStatus(runtimeId(id), { signal })).logPath;
  } catch (error) {
    throw new StateletError(errorKind(error), `unable to retrieve container logs for ${id}`, {
      cause: error,
    });
  }
}

function isRunning(api: ContainerLogApi, uid: string, containerId: string): boolean {
  const containers = api.runtimePod(uid)?.containers ?? [];
  return containers.some(({ id, state }) => id === containerId && state === 'running');
}

/** Resolves when the bytes have been handed to the system. */
async function write(response: ServerResponse, output: Buffer, signal: AbortSignal): Promise<void> {
  const sent = new Promise<void>((resolve, reject) => {
    response.write(output, (error) => (error ? reject(error) : resolve()));
  });
  await unlessAborted(sent, signal);
}
