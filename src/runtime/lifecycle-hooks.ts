import type { Clock } from '../types/clock.ts';
import { errorMessage, StateletError } from '../types/errors.ts';
import type { EventRecorder } from '../types/event-recorder.ts';
import type { Container, Pod } from '../types/kubernetes.ts';
import type { RuntimeService } from './runtime-service.ts';
import { sleep } from './sleep.ts';

export interface HookTarget {
  readonly runtime: RuntimeService;
  readonly clock: Clock;
  readonly recorder: EventRecorder;
  readonly pod: Pod;
  readonly container: Container;
  readonly containerId: string;
}

type Handler = NonNullable<NonNullable<Container['lifecycle']>['preStop']>;

/** Rejects when the hook fails; its container must then be killed. There is no time limit, as with the kubelet. */
export async function runPostStartHook(target: HookTarget, signal: AbortSignal): Promise<void> {
  const handler = target.container.lifecycle?.postStart;
  if (handler) await runHandler(target, handler, 0, signal);
}

/** Runs within the grace period and no longer. A hook that fails or takes too long does not hold up the stop. */
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
    const message = `PreStopHook failed: ${errorMessage(error)}`;
    target.recorder.event(target.pod.metadata, 'Warning', 'FailedPreStopHook', message);
  }
}

async function runHandler(
  { runtime, clock, containerId }: HookTarget,
  handler: Handler,
  limitSeconds: number,
  signal: AbortSignal,
): Promise<void> {
  if (handler.exec) {
    const { exitCode, stderr } = await runtime.execSync(
      containerId,
      handler.exec.command ?? [],
      limitSeconds,
      { signal },
    );
    if (exitCode === 0) return;
    const output = stderr.toString('utf8').trim();
    throw new StateletError('Internal', `command exited with ${exitCode}${output && `: ${output}`}`);
  }
  if (handler.sleep) {
    const seconds = limitSeconds > 0 ? Math.min(handler.sleep.seconds, limitSeconds) : handler.sleep.seconds;
    await sleep(clock, seconds * 1000, signal);
    return;
  }
  throw new StateletError('Unimplemented', 'only exec and sleep hooks can be run so far');
}
