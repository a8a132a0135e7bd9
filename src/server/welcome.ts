/** What people who start the daemon in a terminal want to know first. */
import { isAbsolute, relative } from 'node:path';

export interface WelcomeFacts {
  /** A file, a folder or a URL each. */
  readonly sources: readonly string[];
  readonly rootDir: string;
  readonly podLogsDir: string;
  readonly exitWithPods: boolean;
}

interface Shell {
  /** Paths below it are told as seen from there. */
  readonly cwd: string;
  /** Started by npm: `statelet` alone may not be found. */
  readonly isNpm: boolean;
}

export function welcome(facts: WelcomeFacts, { cwd, isNpm }: Shell): string {
  const { sources, rootDir, podLogsDir, exitWithPods } = facts;
  const seen = (path: string) => seenFrom(cwd, path);
  const what = `each pod of ${sources.map(seen).join(' and ') || 'its sources'}`;
  return [
    `Statelet runs ${what} as a statechart`,
    `see them:   ${isNpm ? 'npx ' : ''}statelet pods --root-dir ${seen(rootDir)}   (in another terminal)`,
    `their logs: ${seen(podLogsDir)}`,
    `to stop:    Ctrl-C${exitWithPods ? ', which ends the pods first' : '; the pods keep running'}`,
  ].join('\n');
}

/** A URL stays as it is. */
function seenFrom(cwd: string, path: string): string {
  const inside = relative(cwd, path);
  return isAbsolute(path) && inside !== '' && !inside.startsWith('..') ? inside : path;
}
