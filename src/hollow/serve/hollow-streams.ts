/** Exec and attach in hollow containers: commands have streams, but nothing is run. */
import { PassThrough, type Writable } from 'node:stream';
import { createInterface } from 'node:readline';
import type { CommandStreams, StreamSelection } from '../../agent/runtime/service/streaming-runtime.ts';
import { Timer } from '../../system/timer.ts';
import type { Clock } from '../../types/clock.ts';
import { knownProgram } from '../node/hollow-programs.ts';
import { SIGKILL_EXIT_CODE } from '../../types/cri.ts';

/** Of a whole session: a line without an end must not fill the memory. */
const INPUT_BYTES_MAX = 1024 * 1024;
const SHELL = /^(?:\/\S+\/)?(?:sh|bash|ash)$/u;

export interface ExecPlace {
  readonly clock: Clock;
  readonly node: string;
  readonly pod: string;
  readonly container: string;
  /** Calls when the container ends. Returns a function that takes that back. */
  readonly whenEnded: (callback: () => void) => () => void;
}

/** `words`: undefined to attach to the main process. */
export function hollowStreams(
  place: ExecPlace,
  selection: StreamSelection,
  words: readonly string[] | undefined,
): CommandStreams {
  return new HollowStreams(place, selection, words);
}

class HollowStreams implements CommandStreams {
  readonly stdin: Writable | undefined;
  readonly stdout: PassThrough | undefined;
  readonly stderr: PassThrough | undefined;
  readonly exit: Promise<number>;
  readonly #place: ExecPlace;
  readonly #newLine: string;
  readonly #timer: Timer;
  readonly #forget: () => void;
  #end: (code: number) => void = () => undefined;

  constructor(place: ExecPlace, selection: StreamSelection, words: readonly string[] | undefined) {
    this.#place = place;
    this.#newLine = selection.tty ? '\r\n' : '\n';
    this.#timer = new Timer(place.clock);
    this.stdout = selection.stdout ? new PassThrough() : undefined;
    this.stderr = selection.stderr && !selection.tty ? new PassThrough() : undefined;
    const input = new PassThrough();
    this.stdin = selection.stdin ? input : undefined;
    const ended = new Promise<number>((resolve) => (this.#end = resolve));
    this.#forget = place.whenEnded(() => this.#end(words === undefined ? 0 : SIGKILL_EXIT_CODE));
    this.exit = ended.finally(() => this.#close());
    if (words !== undefined && SHELL.test(words[0] ?? '') && words.length === 1)
      this.#shell(input, selection.tty);
    else {
      input.resume();
      if (words !== undefined) this.#run(words, (code) => this.#end(code));
    }
  }

  resize(): void {
    // Nothing draws.
  }

  abandon(): void {
    this.#end(SIGKILL_EXIT_CODE);
  }

  #run(words: readonly string[], ended: (code: number) => void): void {
    const program = knownProgram(words) ?? { exitCode: 0, takesMs: 0, stdout: this.#answer(words) };
    const { takesMs = Infinity, exitCode, stdout = '', startError } = program;
    if (stdout !== '') this.#print(stdout);
    if (startError !== undefined) ended(startError.exitCode);
    else if (takesMs <= 0) ended(exitCode);
    else if (takesMs < Infinity) this.#timer.arm(takesMs, () => ended(exitCode));
  }

  /** The output of a few commands, in all containers. */
  #answer(words: readonly string[]): string {
    const { node, pod, container, clock } = this.#place;
    const command = words.join(' ');
    if (command === 'hostname' || command === 'cat /etc/hostname') return `${pod}\n`;
    if (command === 'date') return `${new Date(clock.now()).toUTCString()}\n`;
    return `${container} of ${pod} on ${node} is hollow: "${command}" is not run\n`;
  }

  #shell(input: PassThrough, isTerminal: boolean): void {
    const prompt = () => {
      if (isTerminal) this.#print('/ # ');
    };
    prompt();
    const lines = createInterface({ input });
    let bytes = 0;
    input.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= INPUT_BYTES_MAX) return;
      this.#end(SIGKILL_EXIT_CODE);
      lines.close();
    });
    let last = 0;
    lines.on('line', (text) => {
      const words = text.trim().split(/\s+/u);
      if (isTerminal) this.#print(`${text}\n`);
      if (words[0] === 'exit') {
        this.#end(Number(words[1] ?? last) & 0xff);
        return;
      }
      if (words[0] !== '') this.#run(words, (code) => (last = code));
      prompt();
    });
    lines.once('close', () => this.#end(last));
  }

  #print(text: string): void {
    this.stdout?.write(text.replaceAll('\n', this.#newLine));
  }

  #close(): void {
    this.#forget();
    this.#timer.disarm();
    this.stdout?.end();
    this.stderr?.end();
  }
}
