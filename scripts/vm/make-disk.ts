/** The disk of the virtual machine: Debian 13 with its own packages, and the Debian package of this checkout beside them. */
import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { archive, busyboxImage } from '../../test/support/containerd/images.ts';
import { runProgram } from '../package/run-program.ts';

/** What apt would install for the first of the ten commands is there: the machine has no network. */
const PACKAGES = [
  'systemd-sysv',
  'dbus',
  'udev',
  'iproute2',
  'iptables',
  'kmod',
  'procps',
  'containerd',
  'runc',
]
  .concat(['containernetworking-plugins', 'ca-certificates', 'linux-image-cloud-amd64', 'initramfs-tools'])
  .concat(['zstd', 'mount', 'util-linux']);
const MIRROR = 'http://deb.debian.org/debian';
const DISK_SIZE = '6G';
const EXAMPLE = join(import.meta.dirname, '../../examples/systemd');

/** An emulated machine is some ten times as slow as a real one. */
const SLOW =
  '[Manager]\nDefaultTimeoutStartSec=900s\nDefaultTimeoutStopSec=900s\nDefaultDeviceTimeoutSec=900s\n';
/** Units that take long, and that no step needs. */
const MASKED = ['apt-daily.timer', 'apt-daily-upgrade.timer', 'dpkg-db-backup.timer', 'fstrim.timer']
  .concat(['e2scrub_all.timer', 'e2scrub_reap.service', 'getty@tty1.service', 'serial-getty@ttyS0.service'])
  .concat(['systemd-networkd-wait-online.service', 'systemd-binfmt.service', 'systemd-pstore.service']);

export interface Disk {
  readonly image: string;
  readonly kernel: string;
  readonly initrd: string;
}

/** `folder` keeps Debian's files for the next time. */
export async function makeDisk(folder: string, debianPackage: string): Promise<Disk> {
  const base = join(folder, 'debian');
  if (!existsSync(join(base, 'vmlinuz'))) {
    rmSync(base, { recursive: true, force: true });
    const options = ['--variant=minbase', `--include=${PACKAGES.join(',')}`];
    await runProgram('debootstrap', [...options, 'trixie', base, MIRROR]);
  }
  const root = join(folder, 'root');
  rmSync(root, { recursive: true, force: true });
  await runProgram('cp', ['--archive', '--reflink=auto', base, root]);
  const put = (name: string, text: string | Buffer) => writeFileSync(join(root, name), text);
  copyFileSync(debianPackage, join(root, 'root/statelet_0.1.0_amd64.deb'));
  put('root/images.tar', archive(images()));
  put('root/ten-commands.sh', tenCommands());
  put('root/guest-steps.sh', readFileSync(join(import.meta.dirname, 'guest-steps.sh')));
  chmodSync(join(root, 'root/guest-steps.sh'), 0o755);
  put('etc/hostname', 'statelet-vm\n');
  put('etc/hosts', '127.0.0.1 localhost statelet-vm\n');
  put('etc/fstab', '/dev/vda / ext4 defaults 0 1\n');
  mkdirSync(join(root, 'etc/systemd/system.conf.d'), { recursive: true });
  put('etc/systemd/system.conf.d/slow.conf', SLOW);
  const unit = 'etc/systemd/system/statelet-vm.service';
  put(unit, readFileSync(join(import.meta.dirname, 'statelet-vm.service')));
  await runProgram('systemctl', [`--root=${root}`, 'enable', 'statelet-vm.service']);
  await runProgram('systemctl', [`--root=${root}`, 'mask', ...MASKED]);
  const image = join(folder, 'disk.img');
  rmSync(image, { force: true });
  await runProgram('mkfs.ext4', ['-q', '-F', '-d', root, image, DISK_SIZE]);
  return { image, kernel: join(root, 'vmlinuz'), initrd: join(root, 'initrd.img') };
}

/** By the names that the first pod and Debian's containerd have for them. */
function images() {
  const pause = ['sh', '-c', 'trap "exit 0" TERM INT; while :; do sleep 2147483 & wait; done'];
  return [
    busyboxImage('docker.io/library/busybox:1.37'),
    busyboxImage('registry.k8s.io/pause:3.8', { Entrypoint: pause, Cmd: [] }),
  ];
}

/** Those of README.md, each as a step. One that follows a log would not end. */
function tenCommands(): string {
  const readme = readFileSync(join(EXAMPLE, 'README.md'), 'utf8');
  const commands = /```sh\n([^`]*)```/u.exec(readme)?.[1]?.trim().split('\n') ?? [];
  const steps = commands.map((command, index) => {
    const ends = command.includes('--follow')
      ? `await 'the log' 'statelet logs first' && { timeout 120 ${command} | head -n 3; }`
      : command;
    return `step 'command ${index + 1}' ${JSON.stringify(ends)}`;
  });
  return ['cd /root', ...steps, ''].join('\n');
}
