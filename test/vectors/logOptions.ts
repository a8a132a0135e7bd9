import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import {
  formatGoTime,
  compareGoTimes,
  ZERO_TIME,
  type GoTime,
} from '../../src/agent/policies/formats/time.ts';
import {
  containerLogRequest,
  loggedInstance,
  runtimeId,
} from '../../src/agent/policies/server/container-log-request.ts';
import { isRefusal, type PodLogOptions, type Refusal } from '../../src/agent/policies/server/log-options.ts';
import { NO_PAGE_THERE, redirectUnclean } from '../../src/agent/server/node/node-service.ts';
import { requestTarget, type RequestTarget, Router } from '../../src/agent/server/node/router.ts';
import { type ContainerLogApi, containerLogRoutes } from '../../src/agent/server/routes/container-logs.ts';
import { RequestError } from '../../src/agent/server/routes/route.ts';
import type { PodStatus } from '../../src/types/kubernetes.ts';
import type { VectorAdapter } from '../support/vectors.ts';

interface StatusInput {
  readonly fn: 'containerLogStatus';
  readonly podName: string;
  readonly podStatus: Partial<PodStatus>;
  readonly container: string;
  readonly previous: boolean;
}

interface RequestInput {
  readonly fn: 'containerLogs';
  readonly method: string;
  readonly requestTarget: string;
}

export const adapter: VectorAdapter = {
  adapt: (input: StatusInput | RequestInput) =>
    input.fn === 'containerLogStatus' ? containerLogStatus(input) : containerLogs(input),
};

function containerLogStatus({ podName, podStatus, container, previous }: StatusInput) {
  const found = loggedInstance(podStatus, { podName, container, previous });
  if ('problem' in found) return { error: found.problem };
  // The kubelet prints its own type, which it has taken apart.
  const [type = ''] = found.containerId.split('://');
  return { error: null, containerID: `${type}://${runtimeId(found.containerId)}` };
}

const POD = {
  metadata: { name: 'pod', namespace: 'ns', uid: 'uid' },
  spec: {
    containers: [{ name: 'c' }],
    initContainers: [{ name: 'i' }],
    ephemeralContainers: [{ name: 'e' }],
  },
};

const router = new Router(containerLogRoutes({} as ContainerLogApi));

function containerLogs({ method, requestTarget: url }: RequestInput) {
  const target = requestTarget(url);
  const location = redirection(method, target);
  if (location) return location;
  const { path, query } = target;
  const found = router.find(path) ?? router.find(path.replace(/\/$/, ''));
  if (!found) return refused(NO_PAGE_THERE);
  if (!found.route.methods?.includes(method))
    return refused({ status: 405, message: '405: Method Not Allowed' });
  const { namespace = '', pod: podName = '', container = '' } = found.params;
  const isThere = namespace === POD.metadata.namespace && podName === POD.metadata.name;
  const answer = containerLogRequest(isThere ? { pod: POD } : undefined, { podName, container, query });
  if (isRefusal(answer)) return refused(answer);
  const options = shown(answer.options);
  const called = { podFullName: 'pod_ns', container, options, stdout: true, stderr: true };
  // In the kubelet's test, only the ephemeral container has no log.
  const hasLog = container !== 'e';
  return { status: hasLog ? 200 : 400, body: hasLog ? '' : 'no such log', called };
}

function refused({ status, message }: Refusal) {
  return { status, body: message, called: null };
}

/** undefined: the path is served as it is. */
function redirection(method: string, target: RequestTarget) {
  const raw = Object.assign(new IncomingMessage(new Socket()), { method });
  try {
    redirectUnclean(raw, target);
    return undefined;
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    return { ...refused(error), location: error.headers.Location };
  }
}

/** As JSON: times in whole seconds, the zero time as null. */
function shown({ sinceTime, ...options }: PodLogOptions) {
  return { ...options, ...(sinceTime && { sinceTime: shownTime(sinceTime) }) };
}

function shownTime(time: GoTime): string | null {
  if (compareGoTimes(time, ZERO_TIME) === 0) return null;
  return formatGoTime({ ...time, offsetMinutes: 0 }).replace(/\.\d+Z$/, 'Z');
}
