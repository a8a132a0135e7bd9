/** The files of the Debian package, from those of the archive. */
import { createHash } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { MODIFIED_AT } from './reproducible.ts';
import { MANIFEST } from './stage-archive.ts';

const OWN = join(import.meta.dirname, 'debian');
const PROGRAM = 'usr/lib/statelet';
const DOCUMENTS = 'usr/share/doc/statelet';
const MAINTAINER_SCRIPTS = ['postinst', 'prerm', 'postrm'];
const MAINTAINER = 'The Statelet Authors <maintainers@statelet.dev>';
const KIB = 1024;

/** Moves the files of `archive` to Debian's places for them below `root`, and adds the files of a package. */
export function stageDebianPackage(archive: string, root: string): void {
  makeFolder(root, 'etc/statelet/pods');
  makeFolder(root, dirname(PROGRAM));
  renameSync(archive, join(root, PROGRAM));
  for (const name of ['README.md', 'ARCHITECTURE.md', 'CHANGELOG.md', 'docs', 'examples'])
    renameSync(join(root, PROGRAM, name), placeOf(root, DOCUMENTS, name));
  // `statelet demo` copies these, and no program may need files in /usr/share/doc.
  renameSync(join(root, DOCUMENTS, 'examples/pods'), placeOf(root, PROGRAM, 'examples/pods'));
  symlinkSync('../../../../lib/statelet/examples/pods', placeOf(root, DOCUMENTS, 'examples/pods'));
  symlinkSync('../lib/statelet/bin/statelet', placeOf(root, 'usr/bin/statelet'));
  const examples = join(root, DOCUMENTS, 'examples/systemd');
  copyFileSync(
    join(examples, 'statelet.service'),
    placeOf(root, 'usr/lib/systemd/system', 'statelet.service'),
  );
  copyFileSync(join(examples, 'config.yaml'), placeOf(root, 'etc/statelet/config.yaml'));
  addLegalDocuments(root);
  addControl(root);
  settle(root);
}

/** Debian has the Apache license once for all packages. */
function addLegalDocuments(root: string): void {
  rmSync(join(root, PROGRAM, 'LICENSE'));
  copyFileSync(join(OWN, 'copyright'), placeOf(root, DOCUMENTS, 'copyright'));
  copyFileSync(join(OWN, 'lintian-overrides'), placeOf(root, 'usr/share/lintian/overrides/statelet'));
  const date = new Date(Number(MODIFIED_AT) * 1000).toUTCString().replace('GMT', '+0000');
  const changelog = `statelet (${MANIFEST.version}) unstable; urgency=medium

  * See CHANGELOG.md for what is new.

 -- ${MAINTAINER}  ${date}
`;
  writeFileSync(placeOf(root, DOCUMENTS, 'changelog.gz'), gzipSync(changelog, { level: 9 }));
}

function addControl(root: string): void {
  const files = filesBelow(root);
  const bytes = files.reduce((sum, file) => sum + lstatSync(join(root, file)).size, 0);
  makeFolder(root, 'DEBIAN');
  for (const name of MAINTAINER_SCRIPTS) copyFileSync(join(OWN, name), join(root, 'DEBIAN', name));
  const configurations = files.filter((file) => file.startsWith('etc/'));
  writeFileSync(join(root, 'DEBIAN/conffiles'), configurations.map((file) => `/${file}\n`).join(''));
  const sums = files
    .filter((file) => !configurations.includes(file) && lstatSync(join(root, file)).isFile())
    .map((file) => `${md5(join(root, file))}  ${file}\n`);
  writeFileSync(join(root, 'DEBIAN/md5sums'), sums.join(''));
  writeFileSync(join(root, 'DEBIAN/control'), control(Math.ceil(bytes / KIB)));
}

/** Node 24 is built with glibc 2.28. */
function control(installedKiB: number): string {
  return `Package: statelet
Version: ${MANIFEST.version}
Architecture: amd64
Maintainer: ${MAINTAINER}
Installed-Size: ${installedKiB}
Depends: libc6 (>= 2.28), libstdc++6, mount
Recommends: containerd | cri-o, runc, containernetworking-plugins, iptables
Section: admin
Priority: optional
Description: Kubernetes node agent in which every pod is a statechart
 Statelet takes the kubelet's place on a node: it runs the pods of manifest
 files, of a URL and of an API server in containerd or CRI-O, or as plain
 processes. The package contains the Node.js that it runs on.
`;
}

function md5(file: string): string {
  return createHash('md5').update(readFileSync(file)).digest('hex');
}

/** Files and links, in the order of their names. */
function filesBelow(root: string): readonly string[] {
  return readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((name) => !lstatSync(join(root, name)).isDirectory())
    .sort();
}

/** Modes that do not depend on the umask, and one time for all: dpkg-deb lowers later times only. */
function settle(root: string): void {
  for (const name of ['.', ...readdirSync(root, { recursive: true, encoding: 'utf8' })]) {
    const path = join(root, name);
    const stats = lstatSync(path);
    if (stats.isSymbolicLink()) continue;
    const isProgram = stats.isDirectory() || (stats.mode & 0o100) !== 0;
    chmodSync(
      path,
      isProgram || MAINTAINER_SCRIPTS.map((one) => `DEBIAN/${one}`).includes(name) ? 0o755 : 0o644,
    );
    utimesSync(path, Number(MODIFIED_AT), Number(MODIFIED_AT));
  }
}

function placeOf(root: string, ...parts: readonly string[]): string {
  const path = join(root, ...parts);
  mkdirSync(dirname(path), { recursive: true });
  return path;
}

function makeFolder(root: string, name: string): void {
  mkdirSync(join(root, name), { recursive: true });
}
