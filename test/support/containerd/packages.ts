/** Installs the packages that real containers need. */
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Debian's package, by a file that shows that it is installed. A package of another vendor is accepted, too. */
const PACKAGES: Readonly<Record<string, string>> = {
  containerd: 'containerd',
  ctr: 'containerd',
  runc: 'runc',
  busybox: 'busybox-static',
  iptables: 'iptables',
  ip: 'iproute2',
  'mkfs.ext4': 'e2fsprogs',
  'docker-registry': 'docker-registry',
};
const CNI_PACKAGE = 'containernetworking-plugins';
const CNI_FOLDERS = ['/usr/lib/cni', '/opt/cni/bin'];
const CNI_PLUGINS = ['bridge', 'host-local', 'portmap', 'loopback'];

/** apt fails while another apt runs: only one test worker may install at a time. */
const LOCK = join(tmpdir(), 'statelet-test-packages.lock');

/** Packages of a machine with logind, as above. */
const LOGIND_PACKAGES: Readonly<Record<string, string>> = {
  'dbus-daemon': 'dbus',
  busctl: 'systemd',
  'systemd-inhibit': 'systemd',
};

/** Installs what tests with logind need, and is missing. */
export const installLogind = (): Promise<void> => installThoseOf(LOGIND_PACKAGES);

/** Packages for a virtual machine with Debian in it, as above. */
const MACHINE_PACKAGES: Readonly<Record<string, string>> = {
  'qemu-system-x86_64': 'qemu-system-x86',
  debootstrap: 'debootstrap',
  'mkfs.ext4': 'e2fsprogs',
  iptables: 'iptables',
  ip: 'iproute2',
  ssh: 'openssh-client',
  busybox: 'busybox-static',
};

/** Installs what tests with a virtual machine need, and is missing. */
export const installVirtualMachine = (): Promise<void> => installThoseOf(MACHINE_PACKAGES);

/** Any version of it works with the double of the API server. */
export async function installKubectl(): Promise<void> {
  await install(['kubernetes-client']);
}

/** gRPC for Debian's own Python: 4 MB, and no service. */
export async function installPythonGrpc(): Promise<void> {
  await install(['python3-grpcio']);
}

/** Installs what is missing. Returns the folder of the CNI plugins. */
export async function installPackages(): Promise<string> {
  const missing = missingPackages();
  if (missing.length > 0) await install(missing);
  const stillMissing = missingPackages();
  const folder = cniFolder();
  if (stillMissing.length > 0 || folder === undefined) {
    throw new Error(`installed, and yet missing: ${stillMissing.join()}; see PATH and ${CNI_FOLDERS.join()}`);
  }
  return folder;
}

async function installThoseOf(packages: Readonly<Record<string, string>>): Promise<void> {
  const missing = Object.entries(packages).filter(([file]) => !onPath(file));
  if (missing.length > 0) await install([...new Set(missing.map(([, name]) => name))]);
}

function missingPackages(): readonly string[] {
  const packages = Object.entries(PACKAGES).filter(([file]) => !onPath(file));
  const names = packages.map(([, name]) => name);
  return [...new Set(cniFolder() === undefined ? [...names, CNI_PACKAGE] : names)];
}

function onPath(file: string): boolean {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/sbin'];
  const path = folders.map((folder) => join(folder, file)).find((candidate) => existsSync(candidate));
  return path !== undefined && (file !== 'busybox' || isStatic(path));
}

/** A dynamically linked program would not run in an image without other files. Such a program names its loader near its beginning. */
function isStatic(path: string): boolean {
  return !/\/lib\S*\/ld-/.test(readFileSync(path).toString('latin1', 0, 4096));
}

function cniFolder(): string | undefined {
  return CNI_FOLDERS.find((folder) => CNI_PLUGINS.every((plugin) => existsSync(join(folder, plugin))));
}

async function install(packages: readonly string[]): Promise<void> {
  const names = packages.join(' ');
  process.stderr.write(`\nInstalling ${names} for the tests.\n`);
  const get = `apt-get install -y --no-install-recommends ${names}`;
  // Debian would start the installed services; the tests start their own.
  const policy = '/usr/sbin/policy-rc.d';
  const noServices = `[ -e ${policy} ] || { printf '#!/bin/sh\\nexit 101\\n' > ${policy}; chmod +x ${policy}; trap 'rm -f ${policy}' EXIT; }`;
  const script = `${noServices}; ${get} || { apt-get update && ${get}; }`;
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  try {
    await run('flock', [LOCK, 'sh', '-c', script], { env, maxBuffer: 64 * 1024 * 1024 });
  } catch (error) {
    const { stderr = '' } = error as { stderr?: string };
    const mend = 'the tests need these packages: install them, or run the tests without root';
    throw new Error(`apt-get could not install ${names}; ${mend}\n${stderr}`, { cause: error });
  }
}
