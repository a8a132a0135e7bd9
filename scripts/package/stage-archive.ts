/** The files of the archive: the package as npm packs it, with the libraries that it needs, the Node of this checkout, and start scripts. */
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runProgram } from './run-program.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const OWN = import.meta.dirname;
const EXECUTABLE = 0o755;
const PLAIN = 0o644;

export interface Manifest {
  readonly version: string;
  readonly description: string;
}

export const MANIFEST = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Manifest;
/** That of this checkout. */
export const NODE = join(ROOT, 'node_modules/node/bin/node');
/** Also the name of the folder in it. */
export const ARCHIVE = `statelet-${MANIFEST.version}-linux-x64`;

/** `node`: the binary of Node that becomes part of it. */
export async function stageArchive(folder: string, node: string): Promise<void> {
  await unpackOwnPackage(folder);
  leaveOutUnused(join(folder, 'node_modules'));
  addNode(node, join(folder, 'node'));
  const script = join(folder, 'bin/statelet');
  writeFileSync(script, startScript(readFileSync(join(folder, 'bin/statelet.js'), 'utf8')));
  chmodSync(script, EXECUTABLE);
  symlinkSync('statelet', join(folder, 'bin/kubelet'));
  symlinkSync('../bin/statelet.js', join(folder, 'node/kubelet'));
}

/** `--ignore-scripts`: it has been built. */
async function unpackOwnPackage(folder: string): Promise<void> {
  const packed = mkdtempSync(join(tmpdir(), 'statelet-pack-'));
  try {
    const args = ['pack', '--ignore-scripts', '--silent', '--pack-destination', packed];
    await runProgram('npm', args, { cwd: ROOT });
    const [file = ''] = readdirSync(packed);
    mkdirSync(folder, { recursive: true });
    await runProgram('tar', ['-xzf', join(packed, file), '--strip-components=1', '-C', folder]);
  } finally {
    rmSync(packed, { recursive: true });
  }
}

/** Tests, documents and programs of the libraries. */
const UNUSED =
  /^(?:\..*|tests?|bench(?:marks?)?|examples?|docs.*|.*\.(?:d\.[cm]?ts|map|html|md|sh|ts)|bin\.js)$/iu;
const LICENSE = /^(?:licen[cs]e|notice|copying)/iu;

function leaveOutUnused(folder: string): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (UNUSED.test(entry.name) && !LICENSE.test(entry.name)) rmSync(path, { recursive: true });
    else if (entry.isDirectory()) leaveOutUnused(path);
    else chmodSync(path, PLAIN);
  }
}

function addNode(node: string, folder: string): void {
  mkdirSync(folder);
  copyFileSync(node, join(folder, 'node'));
  chmodSync(join(folder, 'node'), EXECUTABLE);
  const [major = ''] = process.versions.node.split('.');
  copyFileSync(join(OWN, `node-${major}-license.txt`), join(folder, 'LICENSE'));
}

/** Node gets the flags that stand in the first line of `bin/statelet.js`. */
function startScript(entry: string): string {
  const flags = /^#!\/usr\/bin\/env -S node (.*)\n/u.exec(entry)?.[1];
  if (flags === undefined) throw new Error('bin/statelet.js does not begin with the flags of Node');
  return readFileSync(join(OWN, 'statelet.sh'), 'utf8').replace('@FLAGS@', flags);
}
