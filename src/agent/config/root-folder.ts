/** Which folder holds the state of a daemon: for the daemon itself, and for the commands that ask it. */
import { lstatSync } from 'node:fs';
import { homedir, hostname } from 'node:os';
import { join, resolve } from 'node:path';

/** Facts of the machine that defaults depend on. */
export interface Host {
  readonly hostname: string;
  readonly homedir: string;
  readonly isRoot: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The working folder; undefined: none is looked into. */
  readonly cwd?: string | undefined;
}

export interface RootFolder {
  /** Absolute. */
  readonly path: string;
  /** How it was found, as the end of a sentence about it. */
  readonly origin: string;
  /** No flag or variable names one, and there is none in the working folder. */
  readonly isDefault: boolean;
  /** Why the folder in the working folder was not taken; undefined where there is none, or it was not looked for. */
  readonly passedOver?: string;
}

export const ROOT_DIR_VARIABLE = 'STATELET_ROOT_DIR';
/** In the working folder, as `npm start` makes it. */
export const OWN_FOLDER = '.statelet';

const WRITABLE_BY_OTHERS = 0o022;

export function thisHost(): Host {
  return {
    hostname: hostname(),
    homedir: homedir(),
    isRoot: process.getuid?.() === 0,
    env: process.env,
    cwd: workingFolder(),
  };
}

/** `flag`: the value of `--root-dir`. As with the kubelet, an empty text means not given. */
export function rootFolder(flag: string | undefined, host: Host = thisHost()): RootFolder {
  if (flag !== undefined && flag !== '') return given(flag, '--root-dir');
  const variable = host.env[ROOT_DIR_VARIABLE] ?? '';
  if (variable !== '') return given(variable, ROOT_DIR_VARIABLE);
  const byDefault = { path: defaultRootDir(host), origin: 'by default', isDefault: true };
  if (host.cwd === undefined) return byDefault;
  const path = join(host.cwd, OWN_FOLDER);
  const problem = problemOf(path);
  if (problem === undefined) return { path, origin: 'found in the working folder', isDefault: false };
  return problem === 'missing' ? byDefault : { ...byDefault, passedOver: `${path} is not used: ${problem}` };
}

function given(path: string, by: string): RootFolder {
  return { path: resolve(path), origin: `given by ${by}`, isDefault: false };
}

/** A folder that this user may write. */
export function defaultRootDir({ isRoot, env, homedir: home }: Host): string {
  if (isRoot) return '/var/lib/statelet';
  const state = env.XDG_STATE_HOME ?? '';
  return join(state === '' ? join(home, '.local', 'state') : state, 'statelet');
}

/** The working folder may be anybody's, such as /tmp: what others have put there must not serve in the place of a daemon. */
function problemOf(path: string): string | undefined {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return 'missing';
  if (stats.isSymbolicLink()) return 'it is a link';
  if (!stats.isDirectory()) return 'it is no folder';
  if (stats.uid !== 0 && stats.uid !== process.getuid?.()) return 'it belongs to another user';
  return (stats.mode & WRITABLE_BY_OTHERS) === 0 ? undefined : 'others than its owner may write to it';
}

/** Undefined where it has been removed. */
function workingFolder(): string | undefined {
  try {
    return process.cwd();
  } catch {
    return undefined;
  }
}
