/** `npm run test:quick` leaves out the tests that start processes or containers, or take long. Any other test that starts a process fails. */
import childProcess from 'node:child_process';
// First: in a worker that began with tests that start no process, `node:tls` came to be without `createSecureContext`, and clients never connected.
import 'node:tls';
import { syncBuiltinESMExports } from 'node:module';

/** Folders of such tests. */
const FOLDERS = [
  'commands',
  'compare',
  'run/daemon',
  'doctor',
  'e2e',
  'eviction-plugin-kit',
  'agent/runtime/cgroups',
  'agent/runtime/cri',
  'agent/runtime/garbage',
  'agent/runtime/images',
  'agent/runtime/logs',
  'agent/runtime/node',
  'agent/runtime/pleg',
  'agent/runtime/pods',
  'embedded',
  'agent/runtime/volumes',
  'scripts',
  'simulation/races',
  'simulation/seeds',
  'support',
];

/** Such tests in other folders. */
const FILES = [
  'agent/actors/.*-on-control-plane',
  'agent/actors/(measured-pods|races|supervisor|probes/probe-story)',
  'agent/actors/cluster/(mirrors-and-events|node-credentials|node-in-cluster)',
  'agent/actors/start/(preemptions|room-arbiter)',
  'agent/cluster/client/(answer-times|dial|http2-connection|open-api-clients|real-api-server|wrong-certificates)',
  'agent/cluster/credentials/(certificate-store|load-kubeconfig|made-certificates)',
  'agent/cluster/(objects/real-tokens|service/reviews|watches/reflect-on-faulty-server)',
  'agent/config/documentation',
  'run/daemon',
  'lint',
  'package',
  'systemd-example',
  'paths/embedded',
  'agent/plugins/built-in/real-processes',
  'agent/runtime/devices/device-plugin-example',
  'agent/runtime/probes/(http-get|prober)',
  'agent/runtime/shutdown/shutdown-watch',
  'agent/server/(endpoints|inspector|node/node-server|open-logger)',
  'agent/server/routes/system-log(s|-queries)',
  'page/server/page-server',
  'simulation/(several-nodes|simulation|api/api-contract)',
  'agent/sources/(api-source-real-server|file-source)',
  'agent/sources/manifests/manifest-yaml',
  'system/(compiled-code|dbus/dbus-connection|file-lock|plain-file|replace-file|run-command)',
  'system/files/(foreign-file|remove-tree)',
  'vectors',
];

/** Patterns of the paths of such tests, from the folder of the repository. */
export const LEFT_OUT: readonly string[] = [
  ...FOLDERS.map((folder) => `/test/${folder}/`),
  ...FILES.map((file) => `/test/${file}\\.test\\.ts$`),
];

/** Matches the paths of such tests. */
export const MAY_START = new RegExp(LEFT_OUT.join('|'), 'u');
const STARTS = ['exec', 'execFile', 'execFileSync', 'execSync', 'fork', 'spawn', 'spawnSync'] as const;

/** Returns the function that ends it; undefined where the test may start processes. */
export function forbidProcesses(testPath: string): (() => void) | undefined {
  if (MAY_START.test(testPath)) return undefined;
  const before = STARTS.map((name) => [name, childProcess[name]] as const);
  replace(STARTS.map((name) => [name, refuse] as const));
  return () => replace(before);
}

function replace(functions: readonly (readonly [string, unknown])[]): void {
  Object.assign(childProcess, Object.fromEntries(functions));
  syncBuiltinESMExports();
}

function refuse(): never {
  throw new Error('npm run test:quick starts no processes: name this test in scripts/jest/no-processes.ts');
}
