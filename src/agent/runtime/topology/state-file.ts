/** The file in which a manager of CPUs or memory keeps what it has given to containers: a next agent goes on with it. */
import { readFile } from 'node:fs/promises';
import { OneAtATime } from '../../../system/promises.ts';
import { replaceFile } from '../../../system/replace-file.ts';
import { ifThere } from '../../../system/system-errors.ts';
import { errorMessage, StateletError } from '../../../types/errors.ts';

const PRIVATE_FILE_MODE = 0o600;

export interface StateFileKind<State> {
  readonly path: string;
  readonly manager: 'CPU manager' | 'memory manager';
  /** Throws an Error that says why the text is no state of this policy. */
  readonly read: (text: string, policy: string) => State;
  readonly text: (policy: string, state: State) => string;
}

export class StateFile<State> {
  readonly #kind: StateFileKind<State>;
  readonly #writes = new OneAtATime();
  /** What the file has; undefined: not known, or there is none. */
  #saved: State | undefined;

  constructor(kind: StateFileKind<State>) {
    this.#kind = kind;
  }

  /**
   * Undefined where there is no file. Rejects as FailedPrecondition where it cannot be gone on with. It is of another policy: containers would
   * keep what others use.
   */
  async read(policy: string): Promise<State | undefined> {
    const text = await ifThere(readFile(this.#kind.path, 'utf8'));
    if (text === undefined) return undefined;
    try {
      return this.#kind.read(text, policy);
    } catch (error) {
      throw this.unusable(errorMessage(error));
    }
  }

  unusable(problem: string): StateletError {
    const { path, manager } = this.#kind;
    const what = `could not restore state from checkpoint: ${problem}`;
    const advice = `please drain this node and delete the ${manager} checkpoint file "${path}" before the next start`;
    return new StateletError('FailedPrecondition', `${what}, ${advice}`);
  }

  isSaved(state: State): boolean {
    return state === this.#saved;
  }

  /** Resolves when the file has what `current` returned when its turn came. */
  save(policy: string, current: () => State): Promise<void> {
    return this.#writes.run(async () => {
      const state = current();
      if (state === this.#saved) return;
      const { path, text } = this.#kind;
      await replaceFile(path, text(policy, state), { mode: PRIVATE_FILE_MODE });
      this.#saved = state;
    });
  }
}
