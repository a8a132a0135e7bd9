/** A disk with Debian 13 as debootstrap makes it, and its kernel, for a virtual machine. */
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

const SUITE = 'trixie';
const PACKAGES = [
  ...['systemd', 'systemd-sysv', 'dbus', 'udev', 'kmod', 'linux-image-amd64', 'openssh-server'],
  ...['iproute2', 'procps', 'ca-certificates', 'less'],
];
const DISK_SIZE = '8G';
/** An emulated machine is about twenty times as slow as a real one. */
const PATIENT_SYSTEMD = `[Manager]
DefaultTimeoutStartSec=900s
DefaultTimeoutStopSec=900s
DefaultDeviceTimeoutSec=900s
`;
/** Units that would only take time. */
const MASKED = ['apt-daily.timer', 'apt-daily-upgrade.timer', 'e2scrub_all.timer', 'fstrim.timer'];

/** The addresses of the machine and of its host. */
export interface Network {
  readonly address: string;
  readonly gateway: string;
  readonly nameservers: readonly string[];
}

export interface DebianDisk {
  readonly disk: string;
  readonly kernel: string;
  readonly initrd: string;
}

/**
 * Makes the disk in `dir`. The tree that it is made from is kept in `~/.cache/statelet-vm`, or the folder VM_CACHE: it takes some minutes.
 * `authorizedKey`: who may log in as root.
 */
export async function makeDebianDisk(
  dir: string,
  authorizedKey: string,
  network: Network,
): Promise<DebianDisk> {
  const root = await debianRoot();
  prepare(root, authorizedKey, network);
  const disk = join(dir, 'disk.img');
  await run('truncate', ['--size', DISK_SIZE, disk]);
  await run('mkfs.ext4', ['-q', '-d', root, disk]);
  return { disk, kernel: inBoot(root, 'vmlinuz-'), initrd: inBoot(root, 'initrd.img-') };
}

async function debianRoot(): Promise<string> {
  const cache = process.env.VM_CACHE ?? join(homedir(), '.cache', 'statelet-vm');
  const root = join(cache, `debian-${SUITE}`);
  if (existsSync(root)) return root;
  const half = `${root}.part`;
  rmSync(half, { recursive: true, force: true });
  mkdirSync(half, { recursive: true });
  const include = `--include=${PACKAGES.join()}`;
  await run('debootstrap', ['--variant=minbase', include, SUITE, half], { maxBuffer: 64 * 1024 * 1024 });
  renameSync(half, root);
  return root;
}

function prepare(root: string, authorizedKey: string, { address, gateway, nameservers }: Network): void {
  const write = (path: string, text: string, mode = 0o644) => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    rmSync(join(root, path), { force: true });
    writeFileSync(join(root, path), text, { mode });
  };
  write('root/.ssh/authorized_keys', authorizedKey, 0o600);
  write('etc/hostname', 'debian\n');
  write('etc/hosts', '127.0.0.1 localhost\n127.0.1.1 debian\n');
  write('etc/fstab', '/dev/vda / ext4 defaults 0 1\n');
  write('etc/systemd/system.conf.d/slow.conf', PATIENT_SYSTEMD);
  write('etc/resolv.conf', nameservers.map((server) => `nameserver ${server}\n`).join(''));
  write(
    'etc/systemd/network/80-host.network',
    `[Match]\nName=en* eth*\n[Network]\nAddress=${address}/24\nGateway=${gateway}\n`,
  );
  const link = (path: string, target: string) => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    rmSync(join(root, path), { force: true });
    symlinkSync(target, join(root, path));
  };
  link(
    'etc/systemd/system/multi-user.target.wants/systemd-networkd.service',
    '/lib/systemd/system/systemd-networkd.service',
  );
  for (const unit of MASKED) link(`etc/systemd/system/${unit}`, '/dev/null');
}

function inBoot(root: string, prefix: string): string {
  const name = readdirSync(join(root, 'boot')).find((file) => file.startsWith(prefix));
  if (name === undefined) throw new Error(`${root}/boot has no ${prefix}*`);
  return join(root, 'boot', name);
}
