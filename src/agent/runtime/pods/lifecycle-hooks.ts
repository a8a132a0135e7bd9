import {
  type HTTPRequest,
  httpRequest,
  isNamed,
  requestURL,
  socketAddress,
} from '../../policies/probes/probe-request.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import { invalid, StateletError } from '../../../types/errors.ts';
import type { Container, Pod } from '../../../types/kubernetes.ts';
import { podFields } from '../../../types/logger.ts';
import { tcpConnect } from '../probes/tcp-connect.ts';
import { httpGet, isHTTPResponseError } from '../probes/http-get.ts';
import type { RuntimeService } from '../service/runtime-service.ts';
import { sleep, withDeadline } from '../../../system/timer.ts';

export interface HookTarget extends AgentContext {
  readonly runtime: RuntimeService;
  readonly pod: Pod;
  readonly container: Container;
  readonly containerId: string;
  /** The host of httpGet and tcpSocket hooks that name none. */
  readonly podIP: () => string | undefined;
}

type Handler = NonNullable<NonNullable<Container['lifecycle']>['preStop']>;

/** Rejects when the hook fails; the container must then be killed. There is no time limit, as with the kubelet. */
export async function runPostStartHook(target: HookTarget, signal: AbortSignal): Promise<void> {
  const handler = target.container.lifecycle?.postStart;
  if (!handler) return;
  try {
    await runHandler(target, handler, 0, signal);
  } catch (error) {
    if (!signal.aborted) tellFailure(target, 'FailedPostStartHook', 'PostStartHook failed', error);
    throw error;
  }
}

/** Runs the hook for at most the grace period. If it fails or takes too long, the stop goes on. */
export async function runPreStopHook(
  target: HookTarget,
  graceSeconds: number,
  signal: AbortSignal,
): Promise<void> {
  const handler = target.container.lifecycle?.preStop;
  if (!handler) return;
  try {
    await runHandler(target, handler, graceSeconds, signal);
  } catch (error) {
    signal.throwIfAborted();
    tellFailure(target, 'FailedPreStopHook', 'PreStopHook failed', error);
  }
}

/** The hook's output may be a secret, and more people read events than logs: it goes to the debug log only. */
function tellFailure(
  { recorder, logger, pod: { metadata }, container: { name } }: HookTarget,
  reason: string,
  message: string,
  error: unknown,
): void {
  recorder.event(metadata, 'Warning', reason, message, { container: name });
  logger.debug({ ...podFields(metadata), container: name, err: error }, message);
}

/** `limitSeconds` 0: no limit. */
async function runHandler(
  target: HookTarget,
  handler: Handler,
  limitSeconds: number,
  signal: AbortSignal,
): Promise<void> {
  const { clock, container } = target;
  const { exec, httpGet: http, tcpSocket: tcp } = handler;
  if (exec) {
    await runExec(target, exec.command ?? [], limitSeconds, signal);
  } else if (http) {
    const request = httpRequest(http, container, podIPFor(target, http), 'lifecycle');
    await withDeadline(clock, limitSeconds * 1000, signal, (limited) => runHTTP(target, request, limited));
  } else if (tcp) {
    const address = socketAddress(tcp, container, podIPFor(target, tcp));
    await withDeadline(clock, limitSeconds * 1000, signal, (limited) => tcpConnect(address, limited));
  } else if (handler.sleep) {
    await runSleep(target, handler.sleep.seconds, limitSeconds, signal);
  } else {
    throw invalid('the hook has no handler: give it exec, httpGet, tcpSocket or sleep');
  }
}

async function runSleep(
  { clock, measurements }: HookTarget,
  seconds: number,
  limitSeconds: number,
  signal: AbortSignal,
): Promise<void> {
  const allowedSeconds = limitSeconds > 0 ? Math.min(seconds, limitSeconds) : seconds;
  try {
    await sleep(clock, allowedSeconds * 1000, signal);
  } finally {
    if (signal.aborted || allowedSeconds < seconds) measurements?.turnover.sleepCutShort();
  }
}

function podIPFor({ podIP }: HookTarget, { host }: { readonly host?: string }): string | undefined {
  return host ? undefined : podIP();
}

async function runExec(
  { runtime, containerId }: HookTarget,
  command: readonly string[],
  limitSeconds: number,
  signal: AbortSignal,
): Promise<void> {
  const { exitCode, stderr } = await runtime.execSync(containerId, command, limitSeconds, { signal });
  if (exitCode === 0) return;
  const output = stderr.toString('utf8').trim();
  throw new StateletError('Internal', `command exited with ${exitCode}${output && `: ${output}`}`);
}

/** Any answer is a success, as with the kubelet; also the answer of a server that speaks HTTP instead of HTTPS. */
async function runHTTP(
  { recorder, measurements, pod, container }: HookTarget,
  request: HTTPRequest,
  signal: AbortSignal,
): Promise<void> {
  try {
    (await httpGet(request, signal)).discard();
  } catch (error) {
    if (!isHTTPResponseError(error)) throw error;
    // A credential for an encrypted connection is not sent in the clear.
    const headers = request.headers.filter((header) => !isNamed(header, 'Authorization'));
    (await httpGet({ ...request, scheme: 'http', headers }, signal)).discard();
    measurements?.turnover.hookFellBack();
    const message = `request to HTTPS lifecycle hook ${requestURL(request)} got an HTTP response, and was sent again by HTTP`;
    recorder.event(pod.metadata, 'Warning', 'LifecycleHTTPFallback', message, { container: container.name });
  }
}
