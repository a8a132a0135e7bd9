/** What `statelet doctor` says about one thing that it has looked at, and how it reads JSON. */
import { isJsonObject } from '../../agent/policies/formats/canonical-json.ts';

/** In the order in which they are shown. The names are part of the JSON output: they stay. */
export const CHECKS = [
  'configuration',
  'user',
  'kernel',
  'cgroups',
  'cgroup-driver',
  'runtime',
  'runtime-network',
  'cni',
  'sandbox-image',
  'ports',
  'certificates',
  'api-server',
  'clock',
  'open-files',
  'inotify',
  'swap',
  'apparmor',
  'selinux',
  'other-agents',
] as const;
export type Check = (typeof CHECKS)[number];

/** `error`: the node does not work so. `unknown`: this user may not see it, or nothing says it. */
export type FindingStatus = 'ok' | 'warning' | 'error' | 'unknown';

export interface Finding {
  readonly check: Check;
  readonly status: FindingStatus;
  readonly message: string;
  /** What mends it: a command, or what to change in which file. */
  readonly mend?: string;
}

/** What was read, or why it was not. */
export type Reading<T> = { readonly value: T } | Unread;

export interface Unread {
  readonly problem: string;
  /** Another user could read it. */
  readonly isForbidden: boolean;
}

/** Makes the findings of one check. */
export interface Findings {
  readonly ok: (message: string) => Finding;
  readonly warning: (message: string, mend: string) => Finding;
  readonly error: (message: string, mend: string) => Finding;
  readonly unknown: (message: string, mend?: string) => Finding;
  /** Of something that has to be readable. */
  readonly unread: (what: string, unread: Unread, mend: string) => Finding;
}

export function findingsOf(check: Check): Findings {
  const unknown = (message: string, mend?: string): Finding => ({
    check,
    status: 'unknown',
    message,
    mend,
  });
  const error = (message: string, mend: string): Finding => ({ check, status: 'error', message, mend });
  return {
    ok: (message) => ({ check, status: 'ok', message }),
    warning: (message, mend) => ({ check, status: 'warning', message, mend }),
    error,
    unknown,
    unread: (what, { problem, isForbidden }, mend) =>
      isForbidden
        ? unknown(`${what} may not be read by this user`, 'run statelet doctor as root')
        : error(`${what} ${problem}`, mend),
  };
}

/** A JSON object, in which any member may be missing or of another type. */
export type Members = Readonly<Record<string, unknown>>;

/** A text says what is wrong. */
export function parsedObject(text: string): Members | string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return `is no JSON: ${(error as Error).message}`;
  }
  return isJsonObject(value) ? value : 'holds no JSON object';
}

/** The member at the end of the path; undefined where there is none. */
export function memberAt(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce((at, key) => (isJsonObject(at) && Object.hasOwn(at, key) ? at[key] : undefined), value);
}

export function textAt(value: unknown, ...path: readonly string[]): string | undefined {
  const found = memberAt(value, ...path);
  return typeof found === 'string' && found !== '' ? found : undefined;
}
