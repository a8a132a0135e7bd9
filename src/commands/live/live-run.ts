/** `statelet run --live`: the log and the pods of the daemon on one screen. Loaded only where that is shown. */
import { styleText } from 'node:util';
import { levelOf, type Logger, textLogger } from '../../agent/server/open-logger.ts';
import { prettyStream } from '../../agent/server/pretty.ts';
import { beforeEnd } from '../../system/run-command.ts';
import { bareStreams } from '../../system/terminal.ts';
import type { LivePod, LivePods } from '../../types/served-pod.ts';
import { liveFrame } from './live-frame.ts';
import { LiveScreen } from './live-screen.ts';

export interface LiveRun {
  readonly logger: Logger;
  /** The first lines of the screen. */
  readonly welcome: (text: string) => void;
  /** `pods` are listed for each frame. */
  show(pods: LivePods): void;
  /** The daemon stops, and its pods with it or without it. */
  stopping(endsPods: boolean): void;
  /** An actor has changed. */
  changed(): void;
  /** The last frame stays. */
  close(): void;
}

/** A pod that is gone stays in the table with its last status: it has ended. */
function withEnded(pods: LivePods): () => readonly LivePod[] {
  const seen = new Map<string, LivePod>();
  const list = () => {
    const now = new Map(pods.list().map((one) => [one.pod.metadata.uid, one]));
    for (const [uid, one] of now) seen.set(uid, one);
    return Array.from(seen, ([uid, one]) => now.get(uid) ?? ended(one));
  };
  list();
  pods.onStatus((uid, status) => {
    const one = seen.get(uid);
    if (one !== undefined) seen.set(uid, { ...one, status });
  });
  return list;
}

function ended({ pod, status }: LivePod): LivePod {
  const isOver = status?.phase === 'Succeeded' || status?.phase === 'Failed';
  const final = isOver ? status : { ...status, reason: 'Ended' };
  return { pod, status: final, state: 'Terminated.Finished' };
}

export function startLiveRun(verbosity: number): LiveRun {
  const hasColours = process.env.NO_COLOR === undefined;
  let welcome: readonly string[] = ['Statelet starts'];
  let pods: LivePods | undefined;
  let list: () => readonly LivePod[] = () => pods?.list() ?? [];
  let ifEmpty = 'No pods yet.';
  const screen = new LiveScreen({
    terminal: bareStreams.stdout,
    hasColours,
    frame: (log, size) => liveFrame({ welcome, pods: list(), ifEmpty, log, nowMs: Date.now() }, size),
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
        if (pods !== undefined) list = withEnded(pods);
        return;
      }
      // The daemon forgets its pods when it stops, but they go on.
      const last = list();
      list = () => last;
    },
    changed: () => screen.changed(),
    close: () => {
      screen.close();
      stopWaiting();
    },
  };
}
