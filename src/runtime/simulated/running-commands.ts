/** Calls that take as long as what they wait for. */
import { type Clock, MAX_TIMER_MS } from '../../types/clock.ts';
import type { ContainerStats, ExecSyncResponse } from '../../types/cri.ts';
import { StateletError } from '../../types/errors.ts';
import { type Call, LATER } from './call.ts';
import type { Program } from './simulated-program.ts';
import type { SimulatedContainer } from './simulated-container.ts';

const SIGKILL_EXIT_CODE = 137;
const NS_PER_MS = 1e6;
const NOTHING = Buffer.alloc(0);

/** SIGTERM now, SIGKILL when the time is over; of several stops the one that allows least counts. */
export function stopContainer(
  call: Call<undefined>,
  container: SimulatedContainer | undefined,
  { clock, timeoutSeconds }: { clock: Clock; timeoutSeconds: number },
): undefined | typeof LATER {
  if (!container?.isRunning()) return undefined;
  if (timeoutSeconds > 0) container.terminate(call.connection);
  else container.kill(call.connection);
  if (!container.isRunning()) return undefined;
  const timeoutMs = Math.min(timeoutSeconds * 1000, MAX_TIMER_MS);
  const timer = clock.setTimeout(() => container.kill(call.connection), timeoutMs);
  const forget = container.whenEnded(() => {
    clock.clearTimeout(timer);
    call.complete(undefined);
  });
  call.onCalledOff(() => {
    clock.clearTimeout(timer);
    forget();
  });
  return LATER;
}

export interface ExecOptions {
  readonly clock: Clock;
  readonly program: Program;
  readonly timeoutSeconds: number;
}

/** The command ends by itself, or with its container, or when its time is over. */
export function execSync(
  call: Call<ExecSyncResponse>,
  container: SimulatedContainer,
  { clock, program, timeoutSeconds }: ExecOptions,
): ExecSyncResponse | typeof LATER {
  requireRunning(container);
  const { startError, takesMs = Infinity } = program;
  if (startError !== undefined) throw new StateletError('Unknown', startError.message);
  if (takesMs <= 0) return outcomeOf(program, container, clock.now());
  const limitMs = timeoutSeconds > 0 ? timeoutSeconds * 1000 : Infinity;
  const endsAfterMs = Math.min(takesMs, limitMs);
  const end = () => {
    forget();
    if (takesMs <= limitMs) call.complete(outcomeOf(program, container, clock.now()));
    else
      call.fail(new StateletError('DeadlineExceeded', `the command did not end within ${timeoutSeconds} s`));
  };
  const timer = endsAfterMs <= MAX_TIMER_MS ? clock.setTimeout(end, endsAfterMs) : undefined;
  const disarm = () => timer !== undefined && clock.clearTimeout(timer);
  const forget = container.whenEnded(() => {
    disarm();
    call.complete({ ...outcomeOf(program, container, clock.now()), exitCode: SIGKILL_EXIT_CODE });
  });
  call.onCalledOff(() => {
    disarm();
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
