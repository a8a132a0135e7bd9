/** The package as it is published: `npm pack`, installed into an empty folder without a registry. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { builtinModules } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { build } from 'rolldown';
import ts from 'typescript';
import { acceptsConnections } from './support/accepts-connections.ts';
import { BIN } from './support/built.ts';
import { waitFor } from './support/wait-for.ts';

const repository = dirname(dirname(BIN));
const { version, dependencies } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as {
  readonly version: string;
  readonly dependencies: Readonly<Record<string, string>>;
};

let folder: string;
const installed = () => join(folder, 'lib/node_modules/statelet');

/** `--ignore-scripts`: it has been built. `--offline`: npm finds nothing but what the package contains. */
function install(): void {
  const run = (...args: string[]) =>
    execFileSync('npm', [...args, '--ignore-scripts', '--silent'], { cwd: repository, stdio: 'ignore' });
  run('pack', '--pack-destination', folder);
  const [archive = ''] = readdirSync(folder);
  const cache = join(folder, 'npm-cache');
  run('install', '--global', '--offline', '--prefix', folder, '--cache', cache, join(folder, archive));
}

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'statelet-package-'));
  install();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const dist = () => join(installed(), 'dist');

/** The packages that these files of `dist/` import, by name. */
async function importedPackages(scripts: readonly string[]): Promise<string[]> {
  const paths = new Set<string>();
  await build({
    input: scripts.map((name) => join(dist(), name)),
    write: false,
    logLevel: 'silent',
    plugins: {
      name: 'imports',
      resolveId: (path) => {
        if (isAbsolute(path) || path.startsWith('.')) return undefined;
        if (!path.startsWith('node:') && !builtinModules.includes(path)) paths.add(path);
        return { id: path, external: true };
      },
    },
  });
  return [...new Set([...paths].map((path) => /^(?:@[^/]+\/)?[^/]+/u.exec(path)?.[0] ?? path))];
}

const statelet = (...args: string[]) =>
  execFileSync(process.execPath, [join(folder, 'bin/statelet'), ...args], { encoding: 'utf8' });

describe('the published package', () => {
  test('depends on the packages that dist/ imports, and on no other', async () => {
    const scripts = readdirSync(dist()).filter((name) => name.endsWith('.js'));
    expect((await importedPackages(scripts)).sort()).toEqual(Object.keys(dependencies).sort());
  });

  test('has its documents, the examples and the licences of the libraries that it contains', () => {
    const files = readdirSync(installed(), { recursive: true, encoding: 'utf8' });
    expect(files).toEqual(
      expect.arrayContaining([
        'README.md',
        'LICENSE',
        'docs/configuration.md',
        'examples/pods/clock.yaml',
        'dist/THIRD-PARTY-NOTICES.txt',
      ]),
    );
    const notices = readFileSync(join(installed(), 'dist/THIRD-PARTY-NOTICES.txt'), 'utf8');
    for (const library of ['xstate', 'commander', 'yaml', 'rxjs', '@grpc/grpc-js', '@bufbuild/protobuf'])
      expect(notices).toMatch(new RegExp(`^${library} \\d.*: .*\\n\\n.*(Licen[cs]e|Copyright)`, 'imu'));
  });

  test('loads no second client of HTTP for the daemon', () => {
    const daemon = readdirSync(dist()).filter((name) => /^run-[\w-]{8}\.js$/u.test(name));
    expect(daemon).toHaveLength(1);
    const code = `await import(${JSON.stringify(join(dist(), daemon[0] ?? ''))});
      console.log(process.moduleLoadList.filter((name) => /undici$|_http_server$/.test(name)).join());`;
    const loaded = execFileSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8' });
    expect(loaded.trim()).toBe('NativeModule _http_server');
  });

  test('has a first minute in an empty folder, without a checkout', async () => {
    const cwd = join(folder, 'empty');
    const manifests = join(cwd, 'statelet-demo');
    mkdirSync(manifests, { recursive: true });
    // Somebody has changed this one, and starts the demo again.
    const clock = readFileSync(join(installed(), 'examples/pods/clock.yaml'), 'utf8');
    writeFileSync(join(manifests, 'clock.yaml'), clock.replace('name: clock', 'name: mine'));
    const bin = join(folder, 'bin/statelet');
    const daemon = spawn(process.execPath, [bin, 'demo'], { cwd, stdio: ['ignore', 'ignore', 'inherit'] });
    const ended = once(daemon, 'close');
    const get = (...args: string[]) =>
      execFileSync(process.execPath, [bin, 'get', ...args], { cwd, encoding: 'utf8', stdio: 'pipe' });
    try {
      await waitFor(() => acceptsConnections(join(cwd, '.statelet/statelet.sock')), { what: 'the daemon' });
      await waitFor(() => /^mine +1\/1 +Running /mu.test(get('pods')), { what: 'the pods', pauseMs: 300 });
      expect(get('pod', 'who-am-i', '-o', 'name')).toBe('pod/who-am-i\n');
    } finally {
      daemon.kill();
      await ended;
    }
    expect(readdirSync(cwd)).toEqual(['.statelet', 'statelet-demo']);
    expect(readdirSync(manifests)).toEqual(readdirSync(join(installed(), 'examples/pods')));
  });

  test('runs with what it contains alone', () => {
    expect(statelet('--version')).toBe(`statelet ${version}\n`);
    expect(statelet('charts', 'pod')).toContain('createMachine');
    expect(statelet('simulate', '--pods', '3', '--hours', '0.1')).toContain('seed');
  });
});

describe('statelet/eviction-plugin', () => {
  /** A project that has the package as a dependency. */
  const project = () => join(folder, 'project');
  const run = (code: string) =>
    execFileSync(process.execPath, ['--input-type=module', '-e', code], { cwd: project(), encoding: 'utf8' });

  beforeAll(() => {
    mkdirSync(join(project(), 'node_modules/@types'), { recursive: true });
    symlinkSync(installed(), join(project(), 'node_modules/statelet'));
    writeFileSync(join(project(), 'package.json'), '{ "type": "module" }');
    for (const name of ['@types/node', 'undici-types'])
      symlinkSync(join(repository, 'node_modules', name), join(project(), 'node_modules', name));
    cpSync(join(installed(), 'examples/eviction-plugin/oldest-first.ts'), join(project(), 'oldest-first.ts'));
  });

  test('is the one module that can be imported, beside package.json', () => {
    expect(run("console.log(Object.keys(await import('statelet/eviction-plugin')))")).toBe(
      "[ 'startEvictionPlugin' ]\n",
    );
    const json = "(await import('statelet/package.json', { with: { type: 'json' } })).default.version";
    expect(run(`console.log(${json})`)).toBe(`${version}\n`);
    expect(() => run("await import('statelet/dist/main.js').catch(() => process.exit(3))")).toThrow();
  });

  test('imports none of the packages that the agent depends on', async () => {
    expect(await importedPackages(['eviction-plugin.js'])).toEqual([]);
  });

  function typeProblems(file: string): readonly string[] {
    const program = ts.createProgram([join(project(), file)], {
      strict: true,
      noEmit: true,
      exactOptionalPropertyTypes: true,
      module: ts.ModuleKind.NodeNext,
      target: ts.ScriptTarget.ES2023,
      types: ['node'],
      typeRoots: [join(project(), 'node_modules/@types')],
      skipDefaultLibCheck: true,
    });
    return ts
      .getPreEmitDiagnostics(program)
      .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' '));
  }

  test('has types, with which the example is right and a wrong plugin is not', () => {
    expect(typeProblems('oldest-first.ts')).toEqual([]);
    writeFileSync(
      join(project(), 'wrong.ts'),
      `import { startEvictionPlugin } from 'statelet/eviction-plugin';
await startEvictionPlugin({ name: 'x', evictPods: ({ activePods: [pod] }) => ({ evictPods: [{ pod: pod!, reason: 5 }] }) });
`,
    );
    expect(typeProblems('wrong.ts').join('\n')).toMatch(/number.* is not assignable to type 'string'/u);
  });
});
