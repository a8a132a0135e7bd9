/** Routes that the settings switch off, as the kubelet switches them off. */
import type { ServerSettings } from '../../types/node-settings.ts';
import { RequestError, type Route } from '../routes/route.ts';

export type RouteSwitches = Pick<
  ServerSettings,
  'enableDebuggingHandlers' | 'enableSystemLogHandler' | 'enableProfilingHandler' | 'enableDebugFlagsHandler'
>;

const DEBUGGING = ['run', 'exec', 'attach', 'portForward', 'containerLogs', 'runningpods', 'logs'].map(
  (name) => `/${name}/`,
);
const PROFILING = '/debug/pprof/';
const FLAGS = '/debug/flags/v';
const LOGS = '/logs/';
/** Not told of at all without the debugging handlers. */
const HIDDEN = ['/configz', '/checkpoint/', '/flagz', '/statusz', FLAGS];

/** What of the routes is served with these settings. */
export function enabledRoutes(routes: readonly Route[], switches: RouteSwitches): readonly Route[] {
  if (!switches.enableDebuggingHandlers) {
    const closed = [...DEBUGGING, PROFILING];
    const open = routes.filter(({ path }) => !isBelow(path, [...closed, ...HIDDEN]));
    return [...open, ...closed.map((path) => disabled(path, 'Debug endpoints are disabled.'))];
  }
  const closed = [
    ...(switches.enableProfilingHandler ? [] : [[PROFILING, 'profiling endpoint is disabled.'] as const]),
    ...(switches.enableDebugFlagsHandler ? [] : [[FLAGS, 'flags endpoint is disabled.'] as const]),
    ...(switches.enableSystemLogHandler ? [] : [[LOGS, 'logs endpoint is disabled.'] as const]),
  ];
  const roots = closed.map(([root]) => root);
  const open = routes.filter(({ path }) => !isBelow(path, roots));
  return [...open, ...closed.map(([root, text]) => disabled(root, text))];
}

/** For everyone: what the kubelet serves on `readOnlyPort`. */
export function readOnlyRoutes(routes: readonly Route[]): readonly Route[] {
  return enabledRoutes(routes, {
    enableDebuggingHandlers: false,
    enableSystemLogHandler: false,
    enableProfilingHandler: false,
    enableDebugFlagsHandler: false,
  });
}

function isBelow(path: string, roots: readonly string[]): boolean {
  return roots.some((root) => path === root || path.startsWith(root));
}

function disabled(root: string, text: string): Route {
  return {
    path: root.endsWith('/') ? `${root}*` : root,
    handle: () => {
      throw new RequestError(405, `${text}\n`, { 'X-Content-Type-Options': 'nosniff' });
    },
  };
}
