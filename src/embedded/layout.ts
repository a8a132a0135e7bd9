import { join, resolve } from 'node:path';

export type StreamName = 'stdin' | 'stdout' | 'stderr';

/** What the ids of sandboxes and containers look like. */
export const RECORD_ID = /^[0-9a-f]{64}$/;

/**
 * The files of the embedded runtime below the root directory.
 *
 * ```
 * runtime/                         0700, the monitor's own
 *   monitor.sock  monitor.lock  monitor.log
 *   sandboxes/<id>.json
 *   begun/<id>.json                how the record of the sandbox began
 *   containers/<id>/               state.json, how that began (begun.json), and the named pipes stdin, stdout, stderr
 *     mounts/                      empty; where a container with volumes has its mounts put together
 *   pipes/                         named pipes that wait for their container or client
 *   streams/<id>/                  the named pipes of a command or an attached client, until both ends are open
 * scratch/<sandbox id>/            can be reached by containers that run as another user
 *   work/                          HOME and default working directory of the pod's containers
 *   termination/<container id>     default file of the termination message
 * ```
 */
export function runtimeLayout(root: string) {
  const rootDir = resolve(root);
  const runtimeDir = join(rootDir, 'runtime');
  const sandboxesDir = join(runtimeDir, 'sandboxes');
  const copiesDir = join(runtimeDir, 'begun');
  const containersDir = join(runtimeDir, 'containers');
  const pipesDir = join(runtimeDir, 'pipes');
  const streamsDir = join(runtimeDir, 'streams');
  const scratchDir = join(rootDir, 'scratch');
  return {
    rootDir,
    runtimeDir,
    sandboxesDir,
    copiesDir,
    containersDir,
    pipesDir,
    scratchDir,
    streamsDir,
    monitorLog: join(runtimeDir, 'monitor.log'),
    sandboxFile: (id: string) => join(sandboxesDir, `${id}.json`),
    sandboxCopy: (id: string) => join(copiesDir, `${id}.json`),
    sandboxOfFile: (name: string) => /^([0-9a-f]{64})\.json$/.exec(name)?.[1],
    containerDir: (id: string) => join(containersDir, id),
    containerFile: (id: string) => join(containersDir, id, 'state.json'),
    containerCopy: (id: string) => join(containersDir, id, 'begun.json'),
    mountDir: (id: string) => join(containersDir, id, 'mounts'),
    pipe: (id: string, stream: StreamName) => join(containersDir, id, stream),
    streamPipe: (id: string, stream: StreamName) => join(streamsDir, id, stream),
    podScratch: (sandboxId: string) => join(scratchDir, sandboxId),
    workDir: (sandboxId: string) => join(scratchDir, sandboxId, 'work'),
    terminationDir: (sandboxId: string) => join(scratchDir, sandboxId, 'termination'),
    terminationFile: (sandboxId: string, id: string) => join(scratchDir, sandboxId, 'termination', id),
  };
}

export type RuntimeLayout = ReturnType<typeof runtimeLayout>;
