/** One process of a simulated CSI or DRA driver, from when it listens until it dies. What it has mounted or prepared outlives it. */
import type { GrpcLink } from '../../system/grpc/grpc-client.ts';
import { whenAborted } from '../../system/promises.ts';
import type { Clock } from '../../types/clock.ts';
import { type ErrorKind, StateletError } from '../../types/errors.ts';
import { pick } from '../plugins/plugins-plan.ts';
import type { KeyedRandom } from '../resources/growth.ts';
import { type Range, within } from '../runtime/chance.ts';

/** What drivers know of the simulation, and whether they may misbehave. */
export interface DriverWorld {
  readonly random: KeyedRandom;
  readonly misbehaves: () => boolean;
  /** How long a call takes, and which share of calls fails, from 0 to 1, where drivers do not misbehave. Default: up to 50 ms; none. */
  readonly habits?: (driver: string, method: string) => CallHabits | undefined;
}

export interface CallHabits {
  readonly ms: Range | undefined;
  readonly failures: number;
}

/** The work of a driver, however its processes behave. */
export interface DriverService {
  /** How it is registered. */
  readonly type: 'CSIPlugin' | 'DRAPlugin';
  readonly name: string;
  readonly versions: readonly string[];
  /** Calls about the same subject are not carried out at the same time. */
  subjectsOf(method: string, request: unknown): readonly string[];
  /** The call has arrived. */
  asked(method: string, request: unknown): void;
  /** Carries the call out. Throws the error that the driver answers. */
  carryOut(method: string, request: unknown): unknown;
}

/** As long as the process lives. */
type Character = 'honest' | 'slow' | 'failing' | 'hanging' | 'forgetful';

const CHARACTERS: readonly Character[] = ['honest', 'honest', 'slow', 'failing', 'hanging', 'forgetful'];
const CODES: readonly ErrorKind[] = [
  'Canceled',
  'Unknown',
  'InvalidArgument',
  'DeadlineExceeded',
  'NotFound',
  'AlreadyExists',
  'PermissionDenied',
  'ResourceExhausted',
  'FailedPrecondition',
  'Aborted',
  'OutOfRange',
  'Unimplemented',
  'Internal',
  'Unavailable',
  'DataLoss',
  'Unauthenticated',
];
const HONEST_MS = 50;
const SLOW_MS = 20_000;
/** A call that hangs is carried out within this time, or never. */
const HANGS_MS = 150_000;
const BAD = 0.4;

export interface DriverProcessOptions {
  readonly service: DriverService;
  /** Of this process alone. */
  readonly key: string;
  readonly world: DriverWorld;
  readonly clock: Clock;
  /** The calls of the driver that are under way in any of its processes. */
  readonly underWay: Set<string>;
}

export class DriverProcess {
  readonly service: DriverService;
  readonly character: Character;
  readonly onDeath = new Set<() => void>();
  readonly #options: DriverProcessOptions;
  #endedAt: number | undefined;
  #count = 0;

  constructor(options: DriverProcessOptions) {
    this.#options = options;
    this.service = options.service;
    const { world, key } = options;
    this.character = world.misbehaves() ? pick(CHARACTERS, world.random(`${key}/character`)) : 'honest';
  }

  get isAlive(): boolean {
    return this.#endedAt === undefined;
  }

  /** Unix ms; undefined while it runs. */
  get endedAt(): number | undefined {
    return this.#endedAt;
  }

  die(): void {
    this.#endedAt ??= this.#options.clock.now();
    for (const listener of this.onDeath) listener();
    this.onDeath.clear();
  }

  /** In [0, 1): the next number of this process. */
  draw(what: string): number {
    return this.#options.world.random(`${this.#options.key}/${what}/${String(++this.#count)}`);
  }

  /** `answer` is called at most once, perhaps when nobody waits any more. */
  call(method: string, request: unknown, answer: (error: Error | undefined, value?: unknown) => void): void {
    const { underWay, clock, world } = this.#options;
    const subjects = this.service.subjectsOf(method, request);
    this.service.asked(method, request);
    if (subjects.some((subject) => underWay.has(subject))) {
      answer(new StateletError('Aborted', 'an operation for it is under way'));
      return;
    }
    const isBad = world.misbehaves() && this.draw(method) < BAD;
    const hangs = isBad && this.character === 'hanging';
    const longestMs = hangs ? HANGS_MS : this.character === 'slow' ? SLOW_MS : HONEST_MS;
    for (const subject of subjects) underWay.add(subject);
    const over = () => {
      this.onDeath.delete(died);
      for (const subject of subjects) underWay.delete(subject);
    };
    const { ms, failures } = world.habits?.(this.service.name, method) ?? { ms: undefined, failures: 0 };
    const fails = failures > 0 && this.draw('fails') < failures;
    const timer = clock.setTimeout(
      () => {
        over();
        this.#land(method, request, { isBad, hangs, fails, answer });
      },
      ms === undefined ? 1 + Math.floor(longestMs * this.draw('ms')) : within(ms, this.draw('ms')),
    );
    const died = () => {
      clock.clearTimeout(timer);
      over();
      answer(new StateletError('Unavailable', 'the connection has ended'));
    };
    this.onDeath.add(died);
  }

  #land(
    method: string,
    request: unknown,
    call: {
      readonly isBad: boolean;
      readonly hangs: boolean;
      readonly fails: boolean;
      readonly answer: (error: Error | undefined, value?: unknown) => void;
    },
  ): void {
    const { isBad, hangs, fails, answer } = call;
    const failure = () => new StateletError(pick(CODES, this.draw('code')), 'the driver fails');
    if (fails || (isBad && this.character === 'failing')) {
      answer(failure());
      return;
    }
    if (hangs && this.draw('never') < 0.5) return;
    try {
      const value = this.service.carryOut(method, request);
      if (hangs) return;
      // The call has succeeded, but the driver reports a failure.
      if (isBad && this.character === 'forgetful') answer(failure());
      else answer(undefined, value);
    } catch (error) {
      answer(error as Error);
    }
  }
}

/** The connection of one agent. `clock`: the agent's; nothing is answered once the agent is dead. `awaited`: its calls whose end it awaits. */
export function linkTo(
  process: DriverProcess | undefined,
  clock: Clock,
  awaited: Set<Promise<unknown>>,
): GrpcLink {
  const closed = new AbortController();
  const gone = () => new StateletError('Unavailable', 'nothing listens there');
  const asked = <T>(
    signal: AbortSignal,
    begin: (answer: (error: Error | undefined, value?: T) => void) => void,
  ) =>
    new Promise<T>((resolve, reject) => {
      const forget = whenAborted([signal, closed.signal], (reason) => reject(failureOf(reason)));
      begin((error, value) => {
        clock.setTimeout(() => {
          forget();
          if (error) reject(error);
          else resolve(value as T);
        }, 1);
      });
    });
  const isThere = () => process?.isAlive === true;
  return {
    call: (method, request, signal) => {
      const call = asked<never>(signal, (answer) => {
        if (process?.isAlive !== true) answer(gone());
        else process.call(method.name, request, (error, value) => answer(error, value as never));
      });
      const over = () => awaited.delete(call);
      awaited.add(call);
      call.then(over, over);
      return call;
    },
    watch: (_, __, { signal }) =>
      asked<undefined>(signal, (answer) => answer(new StateletError('Unimplemented', 'it tells nothing'))),
    connect: (signal) => asked<undefined>(signal, (answer) => answer(isThere() ? undefined : gone())),
    disconnected: (signal) =>
      asked<undefined>(signal, (answer) => {
        if (process?.isAlive === true) process.onDeath.add(() => answer(undefined));
        else answer(undefined);
      }),
    close: () => closed.abort(new StateletError('Unavailable', 'the connection was closed')),
  };
}

function failureOf(reason: unknown): StateletError {
  return reason instanceof StateletError ? reason : new StateletError('Canceled', 'the call was given up');
}
