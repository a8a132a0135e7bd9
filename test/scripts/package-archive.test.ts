/** The archive and the Debian package, unpacked where nothing else is, and run in an empty environment. */
import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
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
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import '../support/built.ts';
import { installedProgram } from '../support/installed-program.ts';
import { waitFor } from '../support/wait-for.ts';

const scripts = fileURLToPath(new URL('../../scripts/', import.meta.url));
const { version } = JSON.parse(readFileSync(join(scripts, '../package.json'), 'utf8')) as {
  readonly version: string;
};
const NAME = `statelet-${version}-linux-x64`;
/** No program is found, and no setting. */
const NOTHING = { PATH: '' };

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'statelet-archive-'));
  writeFileSync(join(folder, 'node'), `#!/bin/sh\nexec "${process.execPath}" "$@"\n`, { mode: 0o755 });
  make('package.ts', lightArgs('light'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** For an archive in which a script stands for the large binary of Node. */
const lightArgs = (name: string) => ['--destination', join(folder, name), '--node', join(folder, 'node')];
const archiveIn = (name: string) => join(folder, name, `${NAME}.tar.gz`);
const sha256 = (file: string) => createHash('sha256').update(readFileSync(file)).digest('hex');

/** `umask`, the time zone and the folder of temporary files are those of whoever makes a package. */
function make(script: string, args: readonly string[], umask = '022', env: NodeJS.ProcessEnv = {}): void {
  const command = [process.execPath, '--disable-warning=ExperimentalWarning', join(scripts, script), ...args];
  execFileSync('sh', ['-c', `umask ${umask} && exec "$@"`, 'sh', ...command], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}

const run = (program: string, ...args: string[]) =>
  execFileSync(program, args, { encoding: 'utf8', env: NOTHING, cwd: '/' });

describe('the archive', () => {
  const unpacked = () => join(folder, 'unpacked', NAME);
  const bin = () => join(unpacked(), 'bin/statelet');

  beforeAll(() => {
    make('package.ts', ['--destination', join(folder, 'whole'), '--gzip-level', '0']);
    mkdirSync(join(folder, 'unpacked'));
    execFileSync('tar', ['-xzf', archiveIn('whole'), '-C', join(folder, 'unpacked')]);
  });

  test('has the same bytes, whoever makes it', () => {
    const env = { TZ: 'Asia/Tokyo', LC_ALL: 'C.UTF-8' };
    make('package.ts', lightArgs('other'), '077', env);
    expect(sha256(archiveIn('other'))).toBe(sha256(archiveIn('light')));
  });

  test('has documents, examples, and the licences of all that it contains', () => {
    const files = readdirSync(unpacked(), { recursive: true, encoding: 'utf8' });
    expect(files).toEqual(
      expect.arrayContaining([
        'LICENSE',
        'README.md',
        'docs/configuration.md',
        'examples/systemd/statelet.service',
        'dist/THIRD-PARTY-NOTICES.txt',
      ]),
    );
    expect(readFileSync(join(unpacked(), 'node/LICENSE'), 'utf8')).toMatch(/^Node\.js is licensed for use/u);
    const packages = files.filter((file) => /node_modules\/(?:@[^/]+\/)?[^/@]+\/package\.json$/u.test(file));
    expect(packages.length).toBeGreaterThan(10);
    const withoutLicence = packages
      .map((file) => file.replace('package.json', ''))
      .filter((name) => !readdirSync(join(unpacked(), name)).some((one) => /^licen[cs]e/iu.test(one)));
    expect(withoutLicence.filter((name) => !hasLicenceInManifest(join(unpacked(), name)))).toEqual([]);
  });

  test('starts from anywhere, through links and by its name alone', () => {
    const links = join(folder, 'links');
    mkdirSync(join(links, 'with a space'), { recursive: true });
    symlinkSync(`../unpacked/${NAME}/bin/statelet`, join(links, 'relative'));
    symlinkSync('../relative', join(links, 'with a space/statelet'));
    const shown = `statelet ${version}\n`;
    for (const program of [bin(), join(links, 'relative'), join(links, 'with a space/statelet')])
      expect(run(program, '--version')).toBe(shown);
    const env = { PATH: join(links, 'with a space') };
    const name = 'statelet';
    expect(execFileSync(name, ['--version'], { encoding: 'utf8', env })).toBe(shown);
    const inFolder = { encoding: 'utf8', env: NOTHING, cwd: links } as const;
    expect(execFileSync('/bin/sh', ['relative', '--version'], inFolder)).toBe(shown);
  });

  test('gives Node the flags of bin/statelet.js, and the name by which it was called', () => {
    const seen = join(folder, 'seen');
    mkdirSync(join(seen, 'bin'), { recursive: true });
    mkdirSync(join(seen, 'node'));
    writeFileSync(join(seen, 'node/node'), '#!/bin/sh\necho "$@"\n', { mode: 0o755 });
    writeFileSync(join(seen, 'bin/statelet'), readFileSync(bin()), { mode: 0o755 });
    symlinkSync('statelet', join(seen, 'bin/kubelet'));
    const flags = '--v8-pool-size=1 --min-semi-space-size=4';
    expect(run(join(seen, 'bin/statelet'), 'pods', '-o', 'a b')).toBe(
      `${flags} ${seen}/bin/statelet.js pods -o a b\n`,
    );
    expect(run(join(seen, 'bin/kubelet'), '--version')).toBe(`${flags} ${seen}/node/kubelet --version\n`);
    expect(run(join(unpacked(), 'bin/kubelet'), '--version')).toMatch(/^Kubernetes v1\.\d+\.\d+\n$/u);
  });

  test('runs a pod, logs for people, and serves the page and the inspector', async () => {
    const manifests = join(folder, 'pods');
    const rootDir = join(folder, 'root');
    mkdirSync(manifests);
    writeFileSync(
      join(manifests, 'clock.yaml'),
      'apiVersion: v1\nkind: Pod\nmetadata: {name: clock}\nspec: {containers: [{name: c, image: none, command: [/bin/sleep, "1000"]}]}\n',
    );
    const flags = ['--pods', manifests, '--root-dir', rootDir, '--exit-with-pods', '--healthz-port', 'auto'];
    const daemon = spawn(
      bin(),
      ['run', ...flags, '--ui=0', '--inspect', '127.0.0.1:0', '--logging-format', 'text'],
      { env: NOTHING, cwd: '/', stdio: ['ignore', 'pipe', 'inherit'] },
    );
    const ended = new Promise((resolve) => daemon.once('close', resolve));
    const lines: string[] = [];
    createInterface(daemon.stdout).on('line', (line) => lines.push(line));
    const urlIn = (words: string) => {
      const line = lines.find((one) => one.includes(words));
      return line && /http:\/\/[\d.:]+/u.exec(line)?.[0];
    };
    try {
      const page = await waitFor(() => urlIn('the page of this node'), { what: 'the page' });
      for (const path of ['/', '/page.js', '/page.css', '/icon.svg'])
        expect([path, (await fetch(page + path)).status]).toEqual([path, 200]);
      const inspector = await waitFor(() => urlIn("Stately's inspector"), { what: 'the inspector' });
      expect((await fetch(inspector)).status).toBe(200);
      const running = () =>
        /"phase": ?"Running"/u.test(run(bin(), 'pods', '--root-dir', rootDir, '-o', 'json'));
      await waitFor(running, { what: 'the pod to run', pauseMs: 300 });
    } finally {
      daemon.kill();
      expect(await ended).toBe(0);
    }
  });
});

/** Two small packages have no file for it. */
function hasLicenceInManifest(name: string): boolean {
  const { license } = JSON.parse(readFileSync(join(name, 'package.json'), 'utf8')) as { license?: string };
  return license !== undefined;
}

const describeWithDpkg = installedProgram('dpkg-deb') ? describe : describe.skip;

describeWithDpkg('the Debian package', () => {
  const file = (name: string) => join(folder, name, `statelet_${version}_amd64.deb`);
  const dpkgDeb = (...args: string[]) => execFileSync('dpkg-deb', args, { encoding: 'utf8' });
  const debArgs = (name: string) =>
    ['--archive', archiveIn('light'), '--destination', join(folder, name)].concat(['--compression', 'none']);

  beforeAll(() => make('package-deb.ts', debArgs('deb')));

  test('has the same bytes, whoever makes it', () => {
    make('package-deb.ts', debArgs('deb-two'), '077', { TZ: 'Asia/Tokyo' });
    expect(sha256(file('deb-two'))).toBe(sha256(file('deb')));
  });

  test('has its files where Debian has them, all of root', () => {
    const rows = dpkgDeb('-c', file('deb')).trim().split('\n');
    expect(
      rows.filter(
        (row) => !/^[-dl]rwxr-xr-x root\/root|^-rw-r--r-- root\/root|^lrwxrwxrwx root\/root/u.test(row),
      ),
    ).toEqual([]);
    for (const path of ['./usr/bin/statelet -> ../lib/statelet/bin/statelet', './usr/lib/statelet/node/node'])
      expect(rows.some((row) => row.endsWith(` ${path}`))).toBe(true);
    expect(rows.some((row) => row.endsWith(' ./usr/lib/systemd/system/statelet.service'))).toBe(true);
    expect(rows.some((row) => row.endsWith(' ./etc/statelet/pods/'))).toBe(true);
    expect(dpkgDeb('-f', file('deb'), 'Package', 'Version', 'Architecture')).toBe(
      `Package: statelet\nVersion: ${version}\nArchitecture: amd64\n`,
    );
  });

  test('is installed by dpkg, keeps a changed configuration, starts, and is removed again', () => {
    const root = join(folder, 'machine');
    for (const name of ['info', 'updates', 'triggers'])
      mkdirSync(join(root, 'var/lib/dpkg', name), { recursive: true });
    for (const name of ['status', 'available']) writeFileSync(join(root, 'var/lib/dpkg', name), '');
    const dpkg = (...args: string[]) =>
      execFileSync(
        'dpkg',
        [`--root=${root}`, '--force-not-root', '--force-depends', '--force-script-chrootless', ...args],
        { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] },
      );
    dpkg('--install', file('deb'));
    expect(run(join(root, 'usr/bin/statelet'), '--version')).toBe(`statelet ${version}\n`);
    expect(execFileSync('dpkg', [`--root=${root}`, '--verify', 'statelet'], { encoding: 'utf8' })).toBe('');
    const config = join(root, 'etc/statelet/config.yaml');
    writeFileSync(config, '# changed\n');
    dpkg('--force-confold', '--install', file('deb'));
    expect(readFileSync(config, 'utf8')).toBe('# changed\n');
    dpkg('--remove', 'statelet');
    expect(existsSync(join(root, 'usr/bin/statelet'))).toBe(false);
    expect(existsSync(join(root, 'usr/lib/statelet'))).toBe(false);
    expect(existsSync(config)).toBe(true);
    dpkg('--purge', 'statelet');
    expect(existsSync(config)).toBe(false);
  });
});
