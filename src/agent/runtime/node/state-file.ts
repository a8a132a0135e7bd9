/** The file in which a part of the node keeps what it has given to containers: a next agent goes on with it. */
import { NewestFile, type StoredText } from '../../../system/newest-file.ts';
import { errorMessage, StateletError } from '../../../types/errors.ts';

export interface StateFileKind<State> {
  readonly manager: 'CPU manager' | 'memory manager' | 'DRA';
  /** Throws an Error that says why this agent cannot go on with the text. */
  readonly read: (text: string) => State;
  readonly text: (state: State) => string;
}

export class StateFile<State> extends NewestFile<State> {
  readonly #file: StoredText;
  readonly #kind: StateFileKind<State>;

  constructor(file: StoredText, kind: StateFileKind<State>) {
    super(file, kind.text);
    this.#file = file;
    this.#kind = kind;
  }

  /**
   * Undefined where there is no file. Throws as FailedPrecondition where the agent cannot go on with it: others would get what containers still
   * use.
   */
  read(): State | undefined {
    const text = this.#file.read();
    if (text === undefined) return undefined;
    try {
      return this.#kind.read(text);
    } catch (error) {
      throw this.unusable(errorMessage(error));
    }
  }

  unusable(problem: string): StateletError {
    const what = `could not restore state from checkpoint: ${problem}`;
    const advice = `please drain this node and delete the ${this.#kind.manager} checkpoint file "${this.#file.path}" before the next start`;
    return new StateletError('FailedPrecondition', `${what}, ${advice}`);
  }
}
