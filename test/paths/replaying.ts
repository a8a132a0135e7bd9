import type { AnyStateMachine } from 'xstate';
import type { Coverage } from './coverage.ts';
import { type Path, story } from './paths.ts';

interface Replay<Machine extends AnyStateMachine> {
  readonly path: Path<Machine>;
  readonly coverage: Coverage;
  /** What the path is about, where there are several of one machine. */
  readonly of?: string;
  readonly steps: () => Promise<void>;
  /** Done also after a failure. */
  readonly end?: () => void | Promise<void>;
}

/** Replays a path. If it fails, the error names the events that led there; if not, the coverage counts it. */
export async function replaying<Machine extends AnyStateMachine>(replay: Replay<Machine>): Promise<void> {
  const { path, coverage, of, steps, end } = replay;
  try {
    await steps();
    coverage.replayed(path);
  } catch (error) {
    const where = of === undefined ? story(path) : `${of}: ${story(path)}`;
    if (error instanceof Error) error.message = `${where}: ${error.message}`;
    throw error;
  } finally {
    await end?.();
  }
}
