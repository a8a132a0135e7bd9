/** Calls whose answer comes only when a container or a command has ended. */
import { Timer } from '../../system/timer.ts';
import { type Clock, MAX_TIMER_MS } from '../../types/clock.ts';
import { SIGKILL_EXIT_CODE, type ContainerStats, type ExecSyncResponse } from '../../types/cri.ts';
import { StateletError } from '../../types/errors.ts';
import { type Call, LATER } from './call.ts';
import type { Program } from './simulated-program.ts';
import type { SimulatedContainer } from './simulated-container.ts';

const NS_PER_MS = 1e6;
const NOTHING = Buffer.alloc(0);

/** SIGTERM now, SIGKILL after the grace period. Of several stops the one with the earliest SIGKILL counts. */
export function stopContainer(
  call: Call<undefined>,
  container: SimulatedContainer | undefined,
  { clock, timeoutSeconds }: { clock: Clock; timeoutSeconds: number },
): undefined | typeof LATER {
  if (!container?.isRunning()) return undefined;
  if (timeoutSeconds > 0) container.terminate(call.connection);
  else container.kill(call.connection);
  if (!container.isRunning()) return undefined;
  const killTimer = new Timer(clock);
  killTimer.arm(timeoutSeconds * 1000, () => container.kill(call.connection));
  const forget = container.whenEnded(() => {
    killTimer.disarm();
    call.complete(undefined);
  });
  call.onCalledOff(() => {
    killTimer.disarm();
    forget();
  });
  return LATER;
}

export interface ExecOptions {
  readonly clock: Clock;
  readonly program: Program;
  readonly timeoutSeconds: number;
  readonly ended: (exitCode: number) => void;
}

/** The command ends by itself, with its container, or at its time limit. */
export function execSync(
  call: Call<ExecSyncResponse>,
  container: SimulatedContainer,
  { clock, program, timeoutSeconds, ended }: ExecOptions,
): ExecSyncResponse | typeof LATER {
  requireRunning(container);
  const { startError, takesMs = Infinity } = program;
  if (startError !== undefined) throw new StateletError('Unknown', startError.message);
  const outcome = () => {
    const response = outcomeOf(program, container, clock.now());
    ended(response.exitCode);
    return response;
  };
  if (takesMs <= 0) return outcome();
  const limitMs = timeoutSeconds > 0 ? timeoutSeconds * 1000 : Infinity;
  const endsAfterMs = Math.min(takesMs, limitMs);
  const end = () => {
    forget();
    if (takesMs <= limitMs) call.complete(outcome());
    else
      call.fail(new StateletError('DeadlineExceeded', `the command did not end within ${timeoutSeconds} s`));
  };
  const timer = new Timer(clock);
  if (endsAfterMs <= MAX_TIMER_MS) timer.arm(endsAfterMs, end);
  const forget = container.whenEnded(() => {
    timer.disarm();
    call.complete({ ...outcomeOf(program, container, clock.now()), exitCode: SIGKILL_EXIT_CODE });
  });
  call.onCalledOff(() => {
    timer.disarm();
    forget();
  });
  return LATER;
}

export function requireRunning(container: SimulatedContainer): void {
  if (container.isRunning()) return;
  throw new StateletError('FailedPrecondition', `container ${container.id} is not running`);
}

export function statsOf({ id, metadata, labels }: SimulatedContainer, nowMs: number): ContainerStats {
  const timestamp = nowMs * NS_PER_MS;
  return {
    attributes: { id, metadata, labels },
    cpu: { timestamp, usageCoreNanoSeconds: NS_PER_MS },
    memory: { timestamp, workingSetBytes: 1_000_000, rssBytes: 1_000_000 },
    processCount: 1,
  };
}

function outcomeOf(program: Program, { startedAt }: SimulatedContainer, nowMs: number): ExecSyncResponse {
  const { exitCode, untilMs, stdout, stderr } = program;
  const isEarly = untilMs !== undefined && nowMs - startedAt < untilMs;
  return {
    stdout: stdout === undefined ? NOTHING : Buffer.from(stdout),
    stderr: stderr === undefined ? NOTHING : Buffer.from(stderr),
    exitCode: isEarly ? Number(exitCode === 0) : exitCode,
  };
}
