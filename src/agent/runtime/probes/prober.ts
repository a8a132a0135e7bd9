/** Runs a probe's handler once, and records an event if it fails. */
import { shortDuration } from '../../policies/formats/duration.ts';
import { type ProbeKind, probeOf, type ProbeOutcome, type ProbeTarget } from '../../policies/probes/probe.ts';
import {
  execCommand,
  hostOrPodIP,
  httpRequest,
  socketAddress,
  timeoutSeconds,
} from '../../policies/probes/probe-request.ts';
import { withDeadline } from '../../../system/timer.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import { errorKind, StateletError } from '../../../types/errors.ts';
import { podFields } from '../../../types/logger.ts';
import { BoundedOutput } from '../../../system/run-command.ts';
import { runtimeMessage, type RuntimeService } from '../service/runtime-service.ts';
import { tcpConnect } from './tcp-connect.ts';
import { httpGet } from './http-get.ts';

interface ProbeRun {
  readonly runtime: RuntimeService;
  readonly target: ProbeTarget;
  /** The runtime's id. */
  readonly containerId: string;
  readonly podIP: string | undefined;
}

/** A warning counts as a success. */
interface Finding {
  readonly result: 'Success' | 'Warning' | 'Failure';
  readonly output: string;
}

/** How often a handler is tried if it cannot be carried out. */
const TRIES = 3;
const NAMES: Readonly<Record<ProbeKind, string>> = {
  liveness: 'Liveness',
  readiness: 'Readiness',
  startup: 'Startup',
};

const success = (output = ''): Finding => ({ result: 'Success', output });
const failure = (output: string): Finding => ({ result: 'Failure', output });

/** Rejects only when `signal` aborts. */
export async function probeContainer(
  context: AgentContext,
  run: ProbeRun,
  signal: AbortSignal,
): Promise<ProbeOutcome> {
  const name = NAMES[run.target.kind];
  let problem: unknown;
  for (let tries = 0; tries < TRIES; tries += 1) {
    try {
      return report(context, run, await handle(context, run, signal));
    } catch (error) {
      signal.throwIfAborted();
      problem = error;
    }
  }
  const message = `${name} probe errored and resulted in unknown state: ${runtimeMessage(problem)}`;
  tell(context, run, 'Unhealthy', message);
  return 'Error';
}

function report(context: AgentContext, run: ProbeRun, { result, output }: Finding): ProbeOutcome {
  const name = NAMES[run.target.kind];
  if (result === 'Warning') tell(context, run, 'ProbeWarning', `${name} probe warning: ${output}`);
  if (result === 'Failure') tell(context, run, 'Unhealthy', `${name} probe failed: ${output}`);
  return result === 'Failure' ? 'Failure' : 'Success';
}

function tell(
  { recorder, logger }: AgentContext,
  { target }: ProbeRun,
  reason: string,
  message: string,
): void {
  const { metadata } = target.pod;
  logger.debug({ ...podFields(metadata), container: target.container.name }, message);
  recorder.event(metadata, 'Warning', reason, message, { container: target.container.name });
}

/** Rejects if the handler cannot be carried out: that says nothing about the container. */
async function handle({ clock }: AgentContext, run: ProbeRun, signal: AbortSignal): Promise<Finding> {
  const { exec, httpGet: http, tcpSocket, grpc } = probeOf(run.target);
  if (exec) return runExec(run, exec.command ?? [], signal);
  if (!http && !tcpSocket && !grpc) {
    throw new StateletError('InvalidArgument', 'the probe has no handler: exec, httpGet, tcpSocket or grpc');
  }
  const limitMs = timeoutSeconds(probeOf(run.target)) * 1000;
  return withDeadline(clock, limitMs, signal, (limited) => {
    if (http) return runHTTP(run, http, limited);
    return tcpSocket ? runTCP(run, tcpSocket, limited) : runGRPC(run, grpc, limited);
  });
}

async function runExec(
  { runtime, target, containerId }: ProbeRun,
  words: readonly string[],
  signal: AbortSignal,
): Promise<Finding> {
  const command = execCommand(words, target.container);
  const seconds = timeoutSeconds(probeOf(target));
  try {
    const { stdout, stderr, exitCode } = await runtime.execSync(containerId, command, seconds, { signal });
    const both = new BoundedOutput();
    both.add(stdout);
    both.add(stderr);
    const output = both.toString();
    return exitCode === 0 ? success(output) : failure(output);
  } catch (error) {
    if (signal.aborted || errorKind(error) !== 'DeadlineExceeded') throw error;
    const limit = shortDuration(seconds * 1000);
    return failure(`command timed out: ${JSON.stringify(command.join(' '))} timed out after ${limit}`);
  }
}

type Handlers = ReturnType<typeof probeOf>;

/** No answer is a failure of the container. An answer that breaks off rejects, and says nothing about it. */
async function runHTTP(
  { target, podIP }: ProbeRun,
  action: NonNullable<Handlers['httpGet']>,
  signal: AbortSignal,
): Promise<Finding> {
  const request = httpRequest(action, target.container, podIP, 'probe');
  const response = await orFailure(httpGet(request, signal));
  if ('result' in response) return response;
  const body = await response.body();
  const { statusCode } = response;
  if (statusCode < 200 || statusCode >= 400)
    return failure(`HTTP probe failed with statuscode: ${statusCode}`);
  if (statusCode < 300) return success(body);
  return { result: 'Warning', output: `Probe terminated redirects, Response body: ${body}` };
}

async function runTCP(
  { target, podIP }: ProbeRun,
  action: NonNullable<Handlers['tcpSocket']>,
  signal: AbortSignal,
): Promise<Finding> {
  const address = socketAddress(action, target.container, podIP);
  return (await orFailure(tcpConnect(address, signal))) ?? success();
}

async function runGRPC(
  { target, podIP }: ProbeRun,
  action: Handlers['grpc'],
  signal: AbortSignal,
): Promise<Finding> {
  const address = { host: hostOrPodIP(undefined, podIP), port: action?.port ?? 0 };
  const seconds = timeoutSeconds(probeOf(target));
  const { grpcHealth } = await import('./grpc-health.ts');
  const status = await orFailure(grpcHealth(address, action?.service ?? '', seconds, signal));
  if (typeof status !== 'string') return status;
  return status === 'SERVING'
    ? success('service healthy')
    : failure(`service unhealthy (responded with "${status}")`);
}

/** A failed connection counts as a failure of the container. */
async function orFailure<T>(work: Promise<T>): Promise<T | Finding> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof StateletError && error.kind !== 'Canceled') return failure(error.message);
    throw error;
  }
}
