/** Mounts of plain processes, as these see them. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lstatSync,
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
import type { RuntimeService } from '../../../src/agent/runtime/service/runtime-service.ts';
import { MountNamespace, mountProblem } from '../../../src/embedded/mounts/mount-namespace.ts';
import type { ContainerConfig, Mount } from '../../../src/types/cri.ts';
import { errorKind } from '../../../src/types/errors.ts';
import {
  kill9,
  monitorPid,
  processRuntimeBed,
  type ProcessRuntimeBed,
} from '../../support/process-runtime.ts';
import { podConfig, shell, startPod, whenExited } from '../../support/runtime-configs.ts';
import { streamingOf, textOf } from '../../support/stream-bed.ts';
import { waitFor } from '../../support/wait-for.ts';

const NAMESPACES = new URL('../../../src/embedded/mounts/mount-namespace.ts', import.meta.url).href;
/** A path that no machine has. */
const MISSING = '/statelet-test-missing';

const OUTPUT = { stdin: false, stdout: true, stderr: true, tty: false };

const asRoot = process.getuid?.() === 0 ? test : test.skip;

/** A process that has changed its user keeps others from its folder in /proc: so this one starts as nobody. */
const NOBODY = ['--reuid=65534', '--regid=65534', '--clear-groups', '--'];
/** The checkout may be in a folder that no other user can enter. */
const mayNobody = spawnSync('setpriv', [...NOBODY, 'test', '-r', new URL(NAMESPACES).pathname]).status === 0;
const asNobody = mayNobody ? asRoot : test.skip;

function outputAsNobody(script: string, env: NodeJS.ProcessEnv = process.env): string {
  const code = `const own = await import(${JSON.stringify(NAMESPACES)}); ${script}`;
  const flags = ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', code];
  return execFileSync('setpriv', [...NOBODY, process.execPath, ...flags], { encoding: 'utf8', env });
}

let bed: ProcessRuntimeBed;
let runtime: RuntimeService;
let volume: string;
beforeAll(() => {
  bed = processRuntimeBed();
  ({ runtime } = bed);
});
afterAll(() => bed.cleanup());
beforeEach(() => {
  volume = mkdtempSync(join(tmpdir(), 'statelet-volume-'));
  chmodSync(volume, 0o777);
  mkdirSync(join(volume, 'sub'));
  writeFileSync(join(volume, 'text'), 'in the volume\n');
});
afterEach(() => rmSync(volume, { recursive: true }));

const mount = (containerPath: string, more: Partial<Mount> = {}): Mount => ({
  containerPath,
  hostPath: volume,
  readonly: false,
  propagation: 'PROPAGATION_PRIVATE',
  ...more,
});
const start = (config: ContainerConfig) => startPod(runtime, join(bed.rootDir, 'pods'), config);
const forever = (mounts: readonly Mount[], more: Partial<ContainerConfig> = {}) =>
  start(shell('exec sleep 1000', { mounts, ...more }));
const run = async (id: string, script: string) => {
  const { stdout, stderr, exitCode } = await runtime.execSync(id, ['sh', '-c', script], 0);
  return { out: stdout.toString().trim().split('\n'), error: stderr.toString(), exitCode };
};
/** Others may mount on this machine meanwhile. */
const mountsOfMachine = () =>
  readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .filter((line) => [volume, MISSING, bed.rootDir].some((path) => line.includes(path)));

describe('a plain process with a mount', () => {
  test('writes into the volume, at a path that the machine does not have and does not get', async () => {
    const { id, logFile } = await start(
      shell(`echo new > ${MISSING}/deep/new; cat ${MISSING}/deep/text`, {
        mounts: [mount(`${MISSING}/deep`)],
      }),
    );
    expect(await whenExited(runtime, id)).toMatchObject({ exitCode: 0 });
    expect(readFileSync(logFile, 'utf8')).toContain('in the volume');
    expect(readFileSync(join(volume, 'new'), 'utf8')).toBe('new\n');
    expect([existsSync(MISSING), mountsOfMachine()]).toEqual([false, []]);
  });

  test('shares it with its commands, attached ones too, and with other containers of its pod', async () => {
    const streams = streamingOf(runtime);
    const mounts = [mount(MISSING)];
    const { id, sandboxId, sandbox } = await forever(mounts);
    const another = {
      ...shell('exec sleep 1000', { mounts }),
      metadata: { name: 'other', attempt: 0 },
      logPath: 'other/0.log',
    };
    const otherId = await runtime.createContainer(sandboxId, another, sandbox);
    await runtime.startContainer(otherId);
    expect(await run(otherId, `echo other > ${MISSING}/other`)).toMatchObject({ exitCode: 0 });
    expect(await run(id, `cat ${MISSING}/other`)).toMatchObject({ out: ['other'] });
    const attached = await streams.exec({ ...OUTPUT, containerId: id, command: ['cat', `${MISSING}/other`] });
    expect('streams' in attached && (await textOf(attached.streams.stdout))).toBe('other\n');
  });

  test('works in a folder of the volume, and runs a program of it', async () => {
    const program = join(volume, 'program');
    writeFileSync(program, '#!/bin/sh\npwd; echo "$0"\n', { mode: 0o755 });
    symlinkSync(`${MISSING}/program`, join(volume, 'sub/link'));
    const config = {
      ...shell(''),
      command: ['./link'],
      workingDir: `${MISSING}/sub`,
      mounts: [mount(MISSING)],
    };
    const { id, logFile } = await start(config);
    expect(await whenExited(runtime, id)).toMatchObject({ exitCode: 0 });
    expect(readFileSync(logFile, 'utf8')).toContain(`${MISSING}/sub`);
  });

  test('reports a missing program or folder as without a mount', async () => {
    const missing = { ...shell(''), command: [`${MISSING}/none`], mounts: [mount(MISSING)] };
    await expect(start(missing)).rejects.toThrow(`command "${MISSING}/none"`);
    const nowhere = shell('true', { mounts: [mount(MISSING)], workingDir: `${MISSING}/none` });
    await expect(start(nowhere)).rejects.toThrow(`working directory ${MISSING}/none does not exist`);
  });

  test('cannot write where the mount is read-only, in a whole volume, in a part and in a file', async () => {
    const readonly = true;
    const { id } = await forever([
      mount(MISSING, { readonly }),
      mount(`${MISSING}-part`, { readonly, hostPath: join(volume, 'sub') }),
      mount(`${MISSING}-file`, { readonly, hostPath: join(volume, 'text') }),
    ]);
    const { out, error } = await run(
      id,
      `cat ${MISSING}-file; for f in ${MISSING}/a ${MISSING}-part/a ${MISSING}-file; do echo a > $f; done`,
    );
    expect(out).toEqual(['in the volume']);
    expect(error.match(/Read-only file system/g)).toHaveLength(3);
  });

  test('finds the files of the machine beside what is mounted, and writes to the machine there', async () => {
    const beside = mkdtempSync(join(tmpdir(), 'statelet-beside-'));
    try {
      mkdirSync(join(beside, 'kept'));
      const { id } = await forever([mount(join(beside, 'new'))]);
      const script = `ls ${beside}; echo on-machine > ${beside}/kept/a; echo in-memory > ${beside}/b`;
      expect(await run(id, script)).toMatchObject({ out: ['kept', 'new'], exitCode: 0 });
      expect(readFileSync(join(beside, 'kept/a'), 'utf8')).toBe('on-machine\n');
      expect(readdirSync(beside)).toEqual(['kept']);
    } finally {
      rmSync(beside, { recursive: true });
    }
  });

  test('finds them under all their names, in a folder of a thousand entries', async () => {
    const parent = join(bed.rootDir, 'large');
    mkdirSync(parent);
    const names = ['a b', 't\tab', 'back\\slash', '#hash', 'new\nline', `"quoted'`, 'comma,=', 'UUID=1', 'ü'];
    for (const name of names) writeFileSync(join(parent, name), `of ${name}`);
    for (let index = names.length; index < 1000; index++) writeFileSync(join(parent, `f${index}`), '');
    const { id } = await forever([mount(join(parent, 'missing'))], { workingDir: parent });
    const script = 'ls | wc -l; touch missing/seen; cat "$@"';
    const { stdout } = await runtime.execSync(id, ['sh', '-c', script, 'sh', ...names], 0);
    expect(stdout.toString()).toBe(`1002\n${names.map((name) => `of ${name}`).join('')}`);
    expect(existsSync(join(volume, 'seen'))).toBe(true);
    rmSync(parent, { recursive: true });
  });

  test('has a mount in a volume, whose mount point is made there', async () => {
    const inner = mkdtempSync(join(tmpdir(), 'statelet-inner-'));
    try {
      writeFileSync(join(inner, 'inner'), '');
      const file = { hostPath: join(volume, 'text') };
      const { id } = await forever([
        mount(`${MISSING}/a b/c`, { hostPath: inner, readonly: true }),
        mount(MISSING),
        mount(`${MISSING}/d/file`, file),
      ]);
      const script = `ls '${MISSING}/a b/c'; cat ${MISSING}/d/file; touch '${MISSING}/a b/c/x'`;
      const { out, error } = await run(id, script);
      expect([out, error]).toEqual([['inner', 'in the volume'], expect.stringContaining('Read-only')]);
      expect(readdirSync(volume).sort()).toEqual(['a b', 'd', 'sub', 'text']);
    } finally {
      rmSync(inner, { recursive: true });
    }
  });

  test('leaves its termination message in the volume', async () => {
    const annotations = { 'io.kubernetes.container.terminationMessagePath': `${MISSING}/sub/message` };
    const { id } = await start(
      shell(
        `echo from the volume > ${MISSING}/sub/message; test "$STATELET_TERMINATION_LOG" = ${MISSING}/sub/message`,
        {
          annotations,
          mounts: [mount(MISSING)],
        },
      ),
    );
    expect(await whenExited(runtime, id)).toMatchObject({ exitCode: 0, message: 'from the volume\n' });
  });

  test('is not started where a link of the volume would have a mount point made outside', async () => {
    const outside = mkdtempSync(join(tmpdir(), 'statelet-outside-'));
    try {
      symlinkSync(outside, join(volume, 'out'));
      symlinkSync(join(outside, 'made'), join(volume, 'dangling'));
      const deep = forever([mount(MISSING), mount(`${MISSING}/out/made`)]);
      await expect(deep).rejects.toThrow(`${MISSING}/out leads out of the volume`);
      const file = mount(`${MISSING}/dangling`, { hostPath: join(volume, 'text') });
      await expect(forever([mount(MISSING), file])).rejects.toThrow('dangling is a link');
      expect(readdirSync(outside)).toEqual([]);
      expect(lstatSync(join(volume, 'out')).isSymbolicLink()).toBe(true);
    } finally {
      rmSync(outside, { recursive: true });
    }
  });

  test('has the mount in a terminal', async () => {
    const { id, logFile } = await start(
      shell(`cat ${MISSING}/text`, { mounts: [mount(MISSING)], tty: true, stdin: true }),
    );
    expect(await whenExited(runtime, id)).toMatchObject({ exitCode: 0 });
    expect(readFileSync(logFile, 'utf8')).toContain('in the volume');
  });

  asRoot('has it as another user, with and without dropped capabilities', async () => {
    const user = { runAsUser: 65534, runAsGroup: 65533 };
    const dropped = { ...user, capabilities: { dropCapabilities: ['ALL'], addCapabilities: [] } };
    for (const securityContext of [user, dropped]) {
      const { id } = await forever([mount(MISSING)], { linux: { securityContext } });
      const { out } = await run(id, `touch ${MISSING}/by-user; stat -c %u:%g ${MISSING}/by-user; id -G`);
      expect(out).toEqual(['65534:65533', '65533']);
      rmSync(join(volume, 'by-user'));
    }
  });

  test('has the mount for its commands as well when another monitor has adopted it', async () => {
    const { id } = await forever([mount(MISSING)]);
    await kill9(await monitorPid(bed.rootDir));
    // A call may still go to the monitor that was killed.
    const read = () =>
      run(id, `cat ${MISSING}/text`).catch((error: unknown) => {
        if (errorKind(error) !== 'Unavailable') throw error;
      });
    const answer = await waitFor(read, { what: 'another monitor to answer' });
    expect(answer).toMatchObject({ out: ['in the volume'], exitCode: 0 });
    await runtime.stopContainer(id, 0);
    await expect(run(id, 'true')).rejects.toThrow('is not running');
  });

  test('that cannot be mounted is refused when it is created', async () => {
    const sandbox = podConfig(join(bed.rootDir, 'pods'));
    const sandboxId = await runtime.runPodSandbox(sandbox);
    const config = shell('true', { mounts: [mount('/')] });
    await expect(runtime.createContainer(sandboxId, config, sandbox)).rejects.toThrow(
      'container "main" cannot have its mount at /: the root of the machine stays as it is',
    );
  });
});

describe('mount namespaces', () => {
  test('can be made by this user', async () => {
    expect(await mountProblem()).toBeUndefined();
  });

  asNobody('are to be had without root, where the kernel lets users have namespaces', () => {
    const script = `
      const { mkdtempSync, readdirSync, writeFileSync, mkdirSync } = await import('node:fs');
      const { execFileSync } = await import('node:child_process');
      const dir = mkdtempSync('${tmpdir()}/statelet-nobody-');
      for (const name of ['volume', 'staging']) mkdirSync(dir + '/' + name);
      const mount = (containerPath, readonly) =>
        ({ containerPath, readonly, hostPath: dir + '/volume', propagation: 'PROPAGATION_PRIVATE' });
      const namespace = await own.MountNamespace.make(
        [mount('${MISSING}/deep', false), mount('/etc/statelet-test', true)], dir + '/staging');
      const [command, ...words] = namespace.entering('${MISSING}');
      const script = 'pwd; id -u; grep CapEff /proc/self/status; echo a > deep/new; touch /etc/statelet-test/b 2>&1; ls /etc/hostname';
      console.log(execFileSync(command, [...words, 'sh', '-c', script + '; true'], { encoding: 'utf8' }));
      console.log(readdirSync(dir + '/volume').join(), readdirSync(dir + '/staging').length);
      namespace.close();
      execFileSync('rm', ['-r', dir]);`;
    const lines = outputAsNobody(script).split('\n');
    expect(lines.slice(0, 3)).toEqual([MISSING, '65534', 'CapEff:\t0000000000000000']);
    expect(lines[3]).toContain('Read-only file system');
    expect(lines.slice(4, 7)).toEqual(['/etc/hostname', '', 'new 0']);
  });

  asNobody('are not to be had where the kernel lets users have none, and the kernel is quoted', () => {
    const none = 'echo 0 > /proc/sys/user/max_user_namespaces; exec "$@"';
    const code = `console.log(await (await import(${JSON.stringify(NAMESPACES)})).mountProblem())`;
    const node = [
      process.execPath,
      '--disable-warning=ExperimentalWarning',
      '--input-type=module',
      '-e',
      code,
    ];
    const within = ['unshare', '--user', '--map-current-user', '--keep-caps', 'sh', '-c', none, 'sh'];
    const problem = execFileSync('setpriv', [...NOBODY, ...within, ...node], { encoding: 'utf8' });
    expect(problem).toBe('unshare: unshare failed: No space left on device\n');
  });

  test('are not made of a process that has ended', () => {
    expect(() => MountNamespace.of(2 ** 22 + 1)).toThrow('ENOENT');
  });
});
