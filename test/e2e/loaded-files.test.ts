/** How many files of `dist/` a process loads: each costs time at the start, and `scripts/bundle/agent-files.ts` says what is in one file. */
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { BIN_ARGS } from '../support/built.ts';
import { describeOnControlPlane } from '../support/control-plane.ts';
import { DaemonBed, NODE_NAME } from '../support/daemon.ts';
import { waitFor } from '../support/wait-for.ts';

/** A process writes the name of each file of `dist/` that it loads into the file that LOADED names. */
const HOOK = `import { appendFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
registerHooks({
  load: (url, context, nextLoad) => {
    const [, name] = /[/]dist[/](.*)/.exec(url) ?? [];
    if (name !== undefined && !/[/]node_modules[/]/.test(url)) appendFileSync(process.env.LOADED, name + '\\n');
    return nextLoad(url, context);
  },
});`;

/** In names of files: modes of which an agent with plain processes has none. */
const OTHER_MODES = ['cri', 'cluster', 'simulated'];

let folder: string;
let bed: DaemonBed | undefined;
const list = () => join(folder, 'loaded');
const loaded = () => readFileSync(list(), 'utf8').trimEnd().split('\n');
const environment = () => ({
  NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(HOOK)}`,
  LOADED: list(),
});

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'statelet-loaded-'));
});
afterEach(async () => {
  await bed?.cleanUp();
  bed = undefined;
  rmSync(folder, { recursive: true });
});

test('a command that needs nothing loads the command line alone', async () => {
  const env = { ...process.env, ...environment() };
  await promisify(execFile)(process.execPath, [...BIN_ARGS, '--version'], { env });
  expect(loaded()).toContain('main.js');
  expect(loaded().length).toBeLessThanOrEqual(6);
});

test('a daemon with plain processes loads few files, and none that only containerd, a cluster or the simulation needs', async () => {
  bed = new DaemonBed();
  await bed.run(['--pod-manifest-path', bed.manifestDir], environment());
  expect(loaded().length).toBeLessThanOrEqual(22);
  const others = loaded().filter((file) => {
    const modes = file.split('-');
    return OTHER_MODES.some((mode) => modes.includes(mode)) && !modes.includes('embedded');
  });
  expect(others).toEqual([]);
});

describeOnControlPlane('in a cluster', { nodeName: NODE_NAME }, (controlPlane) => {
  test('a daemon loads few files', async () => {
    bed = new DaemonBed();
    const flags = ['--kubeconfig', controlPlane.nodeKubeconfig, '--node-ip', controlPlane.nodeIp];
    await bed.run(
      ['--pod-manifest-path', bed.manifestDir, ...flags, ...controlPlane.serverFlags],
      environment(),
    );
    const node = () => controlPlane.read(`/api/v1/nodes/${NODE_NAME}`);
    await waitFor(node, { what: 'the node' });
    expect(loaded().length).toBeLessThanOrEqual(40);
  });
});
