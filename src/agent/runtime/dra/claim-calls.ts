/**
 * Calls to DRA drivers for claims: the claims of one pod that one driver is asked for in one turn of the event loop go into one
 * call.
 */
import type { ClaimKey } from '../../policies/dra/claim-devices.ts';
import { driverWords } from '../../policies/formats/terminal-text.ts';
import { unlessAborted } from '../../../system/promises.ts';
import { StateletError } from '../../../types/errors.ts';
import type { DraDriver } from './dra-driver.ts';

type Answers<Answer> = Readonly<Record<string, Answer>>;

type Call<Answer> = (
  driver: DraDriver,
  claims: readonly ClaimKey[],
  signal: AbortSignal,
) => Promise<Answers<Answer>>;

interface Batch<Answer> {
  readonly claims: ClaimKey[];
  readonly answers: Promise<Answers<Answer>>;
  /** One for each caller that waits for the answer. */
  readonly signals: AbortSignal[];
  /** Aborted when no caller waits any more. */
  readonly life: AbortController;
}

export class ClaimCalls<Answer extends { readonly error: string }> {
  readonly #method: string;
  readonly #call: Call<Answer>;
  /** Calls that have not been made yet, by pod and driver. */
  readonly #batches = new Map<string, Batch<Answer>>();

  /** `method`: for errors. */
  constructor(method: string, call: Call<Answer>) {
    this.#method = method;
    this.#call = call;
  }

  /** Resolves to the driver's answer for that claim. Rejects with its error for the claim, or for the whole call. */
  async ask(driver: DraDriver, pod: string, claim: ClaimKey, signal: AbortSignal): Promise<Answer> {
    const key = `${pod} ${driver.name} ${driver.endpoint}`;
    const batch = this.#batches.get(key) ?? this.#begin(key, driver);
    batch.claims.push(claim);
    batch.signals.push(signal);
    const giveUp = () => {
      if (batch.signals.every(({ aborted }) => aborted)) batch.life.abort(signal.reason);
    };
    signal.addEventListener('abort', giveUp, { once: true });
    try {
      return this.#answerOf(claim, await unlessAborted(batch.answers, signal), batch);
    } finally {
      signal.removeEventListener('abort', giveUp);
    }
  }

  #begin(key: string, driver: DraDriver): Batch<Answer> {
    const claims: ClaimKey[] = [];
    const life = new AbortController();
    const answers = Promise.resolve().then(() => {
      this.#batches.delete(key);
      return this.#call(driver, claims, life.signal);
    });
    const batch = { claims, answers, signals: [], life };
    this.#batches.set(key, batch);
    return batch;
  }

  #answerOf({ uid, name }: ClaimKey, answers: Answers<Answer>, { claims }: Batch<Answer>): Answer {
    const failed = (problem: string) => new StateletError('FailedPrecondition', problem);
    const unknown = Object.keys(answers).find((answered) => claims.every((claim) => claim.uid !== answered));
    if (unknown !== undefined) {
      const shown = driverWords(unknown);
      throw failed(`${this.#method} returned result for unknown claim UID ${shown}`);
    }
    const answer = Object.hasOwn(answers, uid) ? answers[uid] : undefined;
    if (answer === undefined) {
      const skipped = claims.filter((claim) => !Object.hasOwn(answers, claim.uid)).length;
      throw failed(`${this.#method} skipped ${skipped} ResourceClaims`);
    }
    if (answer.error === '') return answer;
    const words = driverWords(answer.error);
    throw failed(`${this.#method} failed for ResourceClaim ${name}: ${words}`);
  }
}
