import type { Subscription } from 'rxjs';
import { sleep, Timer } from '../../../system/timer.ts';
import type { Clock } from '../../../types/clock.ts';
import { StateletError } from '../../../types/errors.ts';
import type { ObjectReader } from '../service/api-server.ts';
import type { WatchContext } from '../watches/reflect.ts';
import { type WatchedObject, watchObject } from '../watches/watched-object.ts';
import type { ConfigObject, ConfigObjectReference } from './object-references.ts';

/** A pod must not wait longer for a server that does not answer: what it needs may already be on its disk. */
const READ_LIMIT_MS = 1_000;
/** There may be hundreds of watches, each of an object that changes rarely. */
const WATCH_SECONDS_MIN = 1_800;

type Known = WatchedObject<ConfigObject>;

/** One object that pods refer to, followed from the first of them on. */
export class ObjectWatch {
  readonly #context: WatchContext;
  readonly #api: ObjectReader;
  readonly #reference: ConfigObjectReference;
  readonly #pace: ChangePace;
  /** Undefined while the object is not followed. */
  #watch: Subscription | undefined;
  #firstSeen = Promise.withResolvers<undefined>();
  /** Undefined until the server has said whether there is such an object. */
  #known: Known | undefined;
  #problem: string | undefined;
  #loggedProblem: string | undefined;
  /** What the last read found; undefined if there was none since the watch began. */
  #found: string | undefined;
  /** Unix ms. */
  #readAt: number;
  /** The object does not change any more. */
  #isFinal = false;

  /** `onChange`: the object is not as it was when it was last read. */
  constructor(
    context: WatchContext,
    api: ObjectReader,
    reference: ConfigObjectReference,
    onChange: () => void,
  ) {
    this.#context = context;
    this.#api = api;
    this.#reference = reference;
    this.#pace = new ChangePace(context.clock, onChange);
    this.#readAt = context.clock.now();
    this.#start();
  }

  /** Undefined where there is no such object. Rejects if the server does not say within a second. */
  async read(): Promise<ConfigObject | undefined> {
    this.#readAt = this.#context.clock.now();
    if (this.#watch === undefined && !this.#isFinal) this.#start();
    const known = this.#known ?? (await this.#firstKnown());
    this.#found = versionOf(known);
    const { object } = known;
    if (object?.immutable === true) {
      this.#isFinal = true;
      this.#unsubscribe();
    }
    return object;
  }

  /** Nothing is kept of an object that has not been read for that time, until the next read. */
  stopIfUnread(forMs: number): void {
    const isUnread = this.#context.clock.now() > this.#readAt + forMs;
    // A list that is under way at a busy server would have to be asked for again.
    if (this.#watch !== undefined && this.#known !== undefined && isUnread) this.stop();
  }

  stop(): void {
    this.#unsubscribe();
    this.#pace.stop();
    this.#known = undefined;
    this.#found = undefined;
  }

  #start(): void {
    this.#firstSeen = Promise.withResolvers();
    this.#watch = watchObject<ConfigObject>(this.#api, this.#reference, {
      ...this.#context,
      watchSecondsMin: WATCH_SECONDS_MIN,
      keep: contentsOf,
    }).subscribe((state) => this.#see(state));
  }

  #unsubscribe(): void {
    this.#watch?.unsubscribe();
    this.#watch = undefined;
  }

  #see(state: Known): void {
    this.#problem = state.problem;
    if (!state.isKnown) return;
    this.#known = state;
    this.#firstSeen.resolve(undefined);
    if (this.#found !== undefined && this.#found !== versionOf(state)) this.#pace.changed();
  }

  async #firstKnown(): Promise<Known> {
    const reference = this.#reference;
    const inTime = new AbortController();
    const timeUp = sleep(this.#context.clock, READ_LIMIT_MS, inTime.signal);
    await Promise.race([this.#firstSeen.promise, timeUp]).finally(() => inTime.abort());
    if (this.#known !== undefined) return this.#known;
    const kind = reference.resource === 'secrets' ? 'secret' : 'configmap';
    this.#logProblem(`${kind} ${reference.namespace}/${reference.name}`);
    // The pod is synced with the next state of the object, whatever it is.
    if (this.#watch !== undefined) this.#found = UNKNOWN;
    const message = `failed to sync ${kind} cache: timed out waiting for the condition`;
    throw new StateletError('DeadlineExceeded', message);
  }

  /** The event of the pod has the kubelet's words, which do not say why. */
  #logProblem(what: string): void {
    if (this.#problem === undefined || this.#problem === this.#loggedProblem) return;
    this.#loggedProblem = this.#problem;
    this.#context.logger.warn({}, `A pod waits for ${what}: ${this.#problem}`);
  }
}

const UNKNOWN = 'unknown';
const ABSENT = 'absent';

function versionOf({ object }: Known): string {
  return object === undefined ? ABSENT : (object.metadata?.resourceVersion ?? '');
}

/** Annotations may have another copy of the contents (`kubectl apply`). */
function contentsOf({ metadata = {}, immutable, data, ...rest }: ConfigObject): ConfigObject {
  const { name, namespace, uid, resourceVersion } = metadata;
  const binaryData = 'binaryData' in rest ? rest.binaryData : undefined;
  // Of a Secret: by it a pull knows the form of its credentials.
  const type = 'type' in rest ? rest.type : undefined;
  return {
    metadata: { name, namespace, uid, resourceVersion },
    immutable,
    data,
    binaryData,
    type,
  };
}

const PAUSE_MIN_MS = 1_000;

const PAUSE_MAX_MS = 10_000;

/** Limits how often changes are passed on: the first at once, later ones at growing intervals. The last one is always passed on. */
class ChangePace {
  readonly #clock: Clock;
  readonly #onChange: () => void;
  readonly #timer: Timer;
  #pauseMs = PAUSE_MIN_MS;
  #emittedAt = -Infinity;

  constructor(clock: Clock, onChange: () => void) {
    this.#clock = clock;
    this.#onChange = onChange;
    this.#timer = new Timer(clock);
  }

  changed(): void {
    if (this.#timer.isArmed) return;
    const sinceMs = this.#clock.now() - this.#emittedAt;
    if (sinceMs > 2 * this.#pauseMs) this.#pauseMs = PAUSE_MIN_MS;
    if (sinceMs >= this.#pauseMs) {
      this.#emit();
      return;
    }
    this.#timer.arm(this.#pauseMs - sinceMs, () => {
      this.#pauseMs = Math.min(PAUSE_MAX_MS, 2 * this.#pauseMs);
      this.#emit();
    });
  }

  stop(): void {
    this.#timer.disarm();
  }

  #emit(): void {
    this.#emittedAt = this.#clock.now();
    this.#onChange();
  }
}
