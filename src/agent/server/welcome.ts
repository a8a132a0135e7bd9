/** The first lines of a daemon that is started in a terminal. */
import { isAbsolute, relative } from 'node:path';

export interface WelcomeFacts {
  /** A file, a folder or a URL each. */
  readonly sources: readonly string[];
  readonly rootDir: string;
  /** Whether commands in the same folder find the daemon without `--root-dir`. */
  readonly isFound: boolean;
  readonly podLogsDir: string;
  readonly exitWithPods: boolean;
  readonly page?: string | undefined;
}

interface Shell {
  /** Paths inside it are shown relative to it. */
  readonly cwd: string;
  /** Started by npm: `statelet` may not be in the PATH. */
  readonly isNpm: boolean;
}

export function welcome(facts: WelcomeFacts, { cwd, isNpm }: Shell): string {
  const { sources, rootDir, isFound, podLogsDir, exitWithPods, page } = facts;
  const shortened = (path: string) => relativeTo(cwd, path);
  const folder = isFound ? '' : ` --root-dir ${shortened(rootDir)}`;
  const what = `each pod of ${sources.map(shortened).join(' and ') || 'its sources'}`;
  return [
    `Statelet runs ${what} as a statechart`,
    ...(page === undefined ? [] : [`their page: ${page}   (in a browser)`]),
    `see them:   ${isNpm ? 'npx ' : ''}statelet pods${folder}   (in another terminal)`,
    `their logs: ${shortened(podLogsDir)}`,
    `to stop:    Ctrl-C${exitWithPods ? ', which ends the pods first' : '; the pods keep running'}`,
  ].join('\n');
}

/** A URL stays as it is. */
function relativeTo(cwd: string, path: string): string {
  const inside = relative(cwd, path);
  return isAbsolute(path) && inside !== '' && !inside.startsWith('..') ? inside : path;
}
