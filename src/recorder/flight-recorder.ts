/**
 * Writes the transitions of all actors to files in the root folder, the oldest of which are deleted. They survive the end of the agent, and
 * that of the machine as far as the kernel has written them to the disk. No actor waits for a write: where the disk is full or too slow,
 * transitions are lost and counted.
 */
import { join } from 'node:path';
import { RecordWriter, type SessionFacts } from './policies/record-format.ts';
import { isRoutine } from './policies/record-entry.ts';
import { Timer } from '../system/timer.ts';
import type { AgentContext } from '../types/agent-context.ts';
import { errorMessage } from '../types/errors.ts';
import type { ActorStep, TransitionKind } from '../types/transition.ts';
import { SegmentRing } from './segment-ring.ts';

/** The first transition after a quiet time is written so soon. Those that follow are written together: a write costs more than they do. */
const SOON_MS = 10;
const BATCH_MS = 300;
const RETRY_MS = 10_000;
const WAITING_MAX = 2 ** 20;

export function recordFolder(rootDir: string): string {
  return join(rootDir, 'record');
}

export class FlightRecorder {
  readonly #context: AgentContext;
  readonly #rootDir: string;
  readonly #ring: SegmentRing;
  readonly #writer: RecordWriter;
  readonly #timer: Timer;
  readonly #waitingMax: number;
  #routine = new WeakMap<TransitionKind, boolean>();
  #writing: Promise<void> | undefined;
  /** After an error, until it is tried again. */
  #isPaused = false;
  #wroteAtMs = 0;
  #hasWarned = false;
  #isClosed = false;

  constructor(context: AgentContext, session: SessionFacts, rootDir: string, sizeBytes: number) {
    const { clock } = context;
    this.#context = context;
    this.#rootDir = rootDir;
    this.#ring = new SegmentRing(recordFolder(rootDir), sizeBytes);
    this.#waitingMax = Math.min(WAITING_MAX, this.#ring.appendMax);
    this.#writer = new RecordWriter(session);
    this.#timer = new Timer(clock);
    this.#writer.begin(clock.now());
    this.#arm();
  }

  /** A `TransitionListener`. */
  readonly record = (kind: TransitionKind, actor: string, atMs: number, step: ActorStep): void => {
    if (this.#isClosed || this.#isRoutine(kind)) return;
    if (this.#isPaused || this.#writer.size >= this.#waitingMax) {
      this.#writer.lose(1);
      return;
    }
    this.#writer.add(kind, actor, atMs, step);
    this.#arm();
  };

  /** Resolves when what was recorded before is written, unless the disk refuses it. */
  async flush(): Promise<void> {
    await this.#writing;
    if (!this.#isPaused && !this.#isClosed) await (this.#writing ?? this.#begin());
  }

  /** Resolves when everything is written that can be. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#timer.disarm();
    await this.#writing;
    await this.#write();
    await this.#ring.close();
  }

  #isRoutine(kind: TransitionKind): boolean {
    const known = this.#routine.get(kind);
    if (known !== undefined) return known;
    const is = isRoutine(kind);
    this.#routine.set(kind, is);
    return is;
  }

  #arm(): void {
    if (this.#isClosed || this.#timer.isArmed || this.#writing !== undefined) return;
    this.#timer.arm(this.#isPaused ? RETRY_MS : this.#delayMs(), () => {
      this.#isPaused = false;
      void this.#begin();
    });
  }

  #begin(): Promise<void> {
    this.#timer.disarm();
    return (this.#writing = this.#write().finally(() => {
      this.#writing = undefined;
      if (this.#writer.size > 0) this.#arm();
    }));
  }

  #delayMs(): number {
    const quietMs = Math.abs(this.#context.clock.now() - this.#wroteAtMs);
    return Math.max(SOON_MS, BATCH_MS - quietMs);
  }

  async #write(): Promise<void> {
    if (this.#writer.size === 0) return;
    // Lines that wait use names that this file has explained. Transitions that come meanwhile are written for the next file.
    this.#wroteAtMs = this.#context.clock.now();
    const isLast = this.#ring.isFull;
    const { lines, count } = this.#writer.take();
    if (isLast) this.#writer.begin(this.#context.clock.now());
    try {
      await this.#ring.append(lines);
      if (isLast) await this.#ring.next();
      this.#hasWarned = false;
    } catch (error) {
      this.#writer.lose(count);
      this.#fail(error);
    }
  }

  /** The record goes on in a session of its own, later. */
  #fail(error: unknown): void {
    const { clock, logger } = this.#context;
    const rootDir = this.#rootDir;
    this.#isPaused = true;
    this.#writer.begin(clock.now());
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    const folder = recordFolder(rootDir);
    logger.warn(
      {},
      `the flight recorder cannot write to ${folder}, and goes on when it can: ${errorMessage(error)}`,
    );
  }
}
