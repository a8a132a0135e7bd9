/**
 * How the agent is divided into files. Bundlers make a file for each set of modules that the same dynamic imports load: four hundred files, of
 * which a daemon would load two to three hundred. To find, read and link so many takes longer than to run what is in them.
 */
import { join } from 'node:path';
import type { CodeSplittingGroup } from 'rolldown';

const SRC = join(import.meta.dirname, '../../src');

const PROGRAM = ['commands/command-line'];
const DAEMON = [
  ...PROGRAM,
  'commands/run',
  'embedded/running-processes',
  'agent/runtime/stats/kernel-stats',
  'recorder/flight-recorder',
];
const CRI = [
  ...DAEMON,
  'doctor/start-checks',
  'agent/config/load-configuration',
  'agent/runtime/node/open-cri-node',
  'run/daemon/open-device-plugins',
  'run/daemon/open-pod-resources',
];

/** What is always loaded together, by the modules that begin it, without what they load only when it is needed. */
const MODES: Readonly<Record<string, readonly string[]>> = {
  // Before compiled code is kept.
  start: ['main'],
  program: PROGRAM,
  client: [
    ...PROGRAM,
    ...[
      'apply',
      'delete',
      'describe',
      'events',
      'exec-in-pod',
      'get',
      'get-nodes',
      'get-objects',
      'logs',
      'why',
    ].map((name) => `commands/client/${name}`),
  ],
  embedded: [
    ...DAEMON,
    'agent/runtime/cri/find-runtimes',
    'embedded/process-cgroups',
    'embedded/process-node',
  ],
  cri: CRI,
  cluster: [
    ...CRI,
    'agent/actors/dra/open-dra',
    'agent/actors/volumes/open-csi',
    'agent/runtime/dra/claims-file',
    'agent/runtime/dra/dra-node',
    'agent/runtime/node/own-addresses',
    'agent/runtime/volumes/csi/csi-node',
    'run/daemon/join-cluster',
    'run/daemon/open-node-ports',
    'run/daemon/serve-node',
  ],
  simulated: [...PROGRAM, 'commands/simulate', 'commands/hollow-command'],
};

type ModuleInfo = (id: string) => { readonly importedIds: readonly string[] } | null;

/**
 * Modules that the same modes load are in one file. A module's file is loaded by all modes of the modules that import it, so that files import
 * each other in no circle. What no mode loads is divided by the bundler.
 */
export function agentFiles(): CodeSplittingGroup {
  let modes: ReadonlyMap<string, string> | undefined;
  return {
    debugName: 'modes',
    includeDependenciesRecursively: false,
    name: (id, modules) => {
      modes ??= modesOfModules((other) => modules.getModuleInfo(other));
      return id === join(SRC, 'main.ts') ? null : modes.get(id);
    },
  };
}

/** The names of its modes, by module. */
function modesOfModules(getModuleInfo: ModuleInfo): ReadonlyMap<string, string> {
  const modes = new Map<string, string>();
  for (const [mode, begin] of Object.entries(MODES)) {
    for (const id of imported(
      begin.map((name) => join(SRC, `${name}.ts`)),
      getModuleInfo,
    )) {
      modes.set(id, modes.has(id) ? `${modes.get(id)}-${mode}` : mode);
    }
  }
  return modes;
}

/** These modules, and all that they import, except what they import dynamically. Throws where one of them is not in the program. */
function imported(begin: readonly string[], getModuleInfo: ModuleInfo): ReadonlySet<string> {
  const unknown = begin.find((id) => getModuleInfo(id) === null);
  if (unknown !== undefined)
    throw new Error(`${unknown} is no module of the program: correct MODES in ${import.meta.filename}`);
  const found = new Set(begin);
  for (const id of found) for (const other of getModuleInfo(id)?.importedIds ?? []) found.add(other);
  return found;
}
