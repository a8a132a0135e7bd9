/** Removes the containerd or CRI-O of a test with everything that it left, in any state. */
import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { parseMountInfo } from '../../../src/agent/policies/formats/mountinfo.ts';
import { waitFor } from '../wait-for.ts';
import { type Belongings, layoutIn } from './layout.ts';

const run = promisify(execFile);
const NAMESPACE = 'k8s.io';
const CGROUPS = '/sys/fs/cgroup';
const CNI_RESULTS = '/var/lib/cni/results';

export async function wipe(dir: string): Promise<void> {
  const layout = layoutIn(dir);
  // The runtime first, as it could start something again; then the containers, then their shims or monitors.
  for (const runtime of ['containerd', 'crio']) await killAll(() => processesOf(dir, runtime));
  await deleteContainers(dir);
  const sockets = shimSockets(dir);
  for (const holder of ['containerd-shim', 'conmon']) await killAll(() => processesOf(dir, holder));
  for (const socket of sockets) await rm(socket, { force: true });
  await unmountAll(dir);
  await removeNetwork(layout);
  // Processes of a machine that was killed with the test may still be ending.
  await waitFor(() => cgroupsAreGone(layout.cgroupRoot), { what: 'cgroups without processes' });
  await rm(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
}

/** The processes of the bed in the folder whose program name begins with this text. */
export function processesOf(dir: string, program: string): readonly number[] {
  const pids = readdirSync('/proc').map(Number).filter(Number.isInteger);
  return pids.filter((pid) => {
    const [path = '', ...args] = readIfThere(`/proc/${pid}/cmdline`).split('\0');
    const name = basename(path);
    const isProgram = name === program || name.startsWith(`${program}-`);
    return isProgram && args.some((arg) => arg.startsWith(`${dir}/`));
  });
}

async function killAll(find: () => readonly number[]): Promise<void> {
  await waitFor(
    () => {
      const pids = find();
      for (const pid of pids) kill(pid);
      return pids.length === 0;
    },
    { what: 'killed processes to be gone' },
  );
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

async function deleteContainers(dir: string): Promise<void> {
  const root = join(dir, 'runc', NAMESPACE);
  const ids = existsSync(root) ? readdirSync(root) : [];
  // One by one: after a test that passed there are few.
  for (const id of ids) await run('runc', ['--root', root, 'delete', '--force', id]).catch(() => undefined);
}

/** Each shim listens outside the folder of the bed, at the address in its bundle. */
function shimSockets(dir: string): readonly string[] {
  const bundles = join(dir, 'state/io.containerd.runtime.v2.task', NAMESPACE);
  const ids = existsSync(bundles) ? readdirSync(bundles) : [];
  const addresses = ids.map((id) => readIfThere(join(bundles, id, 'address')));
  return addresses.filter((address) => address !== '').map((address) => address.replace('unix://', ''));
}

async function unmountAll(dir: string): Promise<void> {
  const mounts = mountsBelow(dir).toReversed();
  if (mounts.length > 0) await run('umount', ['--lazy', ...mounts]).catch(() => undefined);
  const left = mountsBelow(dir);
  if (left.length > 0) throw new Error(`could not unmount ${left.join()}`);
}

export function mountsBelow(dir: string): readonly string[] {
  const mounts = parseMountInfo(readFileSync('/proc/self/mountinfo', 'utf8'));
  return mounts.map(({ path }) => path).filter((path) => path.startsWith(`${dir}/`));
}

async function removeNetwork({ bridge, network }: Belongings): Promise<void> {
  await removeNetworkResults(network);
  if (!existsSync(`/sys/class/net/${bridge}`)) return;
  await run('ip', ['link', 'delete', bridge]);
  for (const command of ['iptables', 'ip6tables']) await removeRules(command, network);
}

/** CNI's cached results for removing a pod's network, by the network's name and the pod's sandbox. */
async function removeNetworkResults(network: string): Promise<void> {
  const results = existsSync(CNI_RESULTS) ? readdirSync(CNI_RESULTS) : [];
  for (const result of results.filter((name) => name.startsWith(`${network}-`))) {
    const [sandboxId] = result.slice(network.length + 1).split('-');
    await rm(join(CNI_RESULTS, result), { force: true });
    await rm(join(CNI_RESULTS, `cni-loopback-${sandboxId}-lo`), { force: true });
  }
}

/** The iptables rules of the portmap plugin for pods that were not removed, and their chains. The rules name the network. */
async function removeRules(command: string, network: string): Promise<void> {
  const nat = (...args: string[]) => run(command, ['--wait', '--table', 'nat', ...args]);
  const listed = await nat('--list-rules').catch(() => ({ stdout: '' }));
  const rules = listed.stdout.split('\n').filter((line) => line.includes(`\\"${network}\\"`));
  for (const rule of rules) {
    const words = [...rule.matchAll(/"((?:\\.|[^"])*)"|(\S+)/g)].map(
      ([, quoted, bare]) => bare ?? quoted?.replaceAll('\\"', '"') ?? '',
    );
    const chain = words[words.indexOf('-j') + 1] ?? '';
    await nat('-D', ...words.slice(1));
    await nat('-F', chain);
    await nat('-X', chain);
  }
}

/** Removes the cgroup and those below it in every hierarchy. They must not have processes. */
export function removeCgroups(cgroupRoot: string): void {
  const hierarchies = [CGROUPS, ...readdirSync(CGROUPS).map((name) => join(CGROUPS, name))];
  for (const hierarchy of hierarchies) removeCgroup(join(hierarchy, cgroupRoot));
}

/** Returns false while a cgroup has processes. */
function cgroupsAreGone(cgroupRoot: string): boolean {
  try {
    removeCgroups(cgroupRoot);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EBUSY') throw error;
    return false;
  }
}

function removeCgroup(path: string): void {
  if (!existsSync(path)) return;
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    if (entry.isDirectory()) removeCgroup(join(path, entry.name));
  }
  rmdirSync(path);
}

function readIfThere(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
