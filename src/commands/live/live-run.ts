/** `statelet run --live`: the log and the pods of the daemon on one screen. Loaded only where that is shown. */
import { styleText } from 'node:util';
import { levelOf, type Logger, textLogger } from '../../server/open-logger.ts';
import { prettyStream } from '../../server/pretty.ts';
import { beforeEnd } from '../../system/end-process.ts';
import type { LivePod } from '../../types/served-pod.ts';
import { liveFrame } from './live-frame.ts';
import { LiveScreen } from './live-screen.ts';

export interface LiveRun {
  readonly logger: Logger;
  /** The first lines of the screen. */
  readonly welcome: (text: string) => void;
  /** `pods` is asked for each frame. */
  show(pods: () => readonly LivePod[]): void;
  /** The daemon stops, and its pods with it or without it. */
  stopping(endsPods: boolean): void;
  /** An actor has changed. */
  changed(): void;
  /** The last frame stays. */
  close(): void;
}

export function startLiveRun(verbosity: number): LiveRun {
  const hasColours = process.env.NO_COLOR === undefined;
  let welcome: readonly string[] = ['Statelet starts'];
  let pods: () => readonly LivePod[] = () => [];
  let ifEmpty = 'No pods yet.';
  const screen = new LiveScreen({
    terminal: process.stdout,
    hasColours,
    frame: (log, size) => liveFrame({ welcome, pods: pods(), ifEmpty, log, nowMs: Date.now() }, size),
  });
  const stopWaiting = beforeEnd(() => screen.close());
  return {
    logger: textLogger(levelOf(verbosity), prettyStream(screen, hasColours)),
    welcome: (text) => {
      const [title = '', ...more] = text.split('\n');
      welcome = [hasColours ? styleText('bold', title, { validateStream: false }) : title, ...more];
    },
    show: (source) => {
      pods = source;
      screen.changed();
    },
    stopping: (endsPods) => {
      if (endsPods) {
        ifEmpty = 'All pods have ended.';
        return;
      }
      // The daemon forgets its pods when it stops, but they go on.
      const last = pods();
      pods = () => last;
    },
    changed: () => screen.changed(),
    close: () => {
      screen.close();
      stopWaiting();
    },
  };
}
