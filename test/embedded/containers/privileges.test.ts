/** What the embedded runtime can hold a plain process to, shown by what the kernel says of it. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RuntimeService } from '../../../src/agent/runtime/service/runtime-service.ts';
import type { ContainerConfig, LinuxContainerSecurityContext } from '../../../src/types/cri.ts';
import { outputAsNobody } from '../../support/as-nobody.ts';
import { processRuntimeBed, type ProcessRuntimeBed } from '../../support/process-runtime.ts';
import { containerConfig, podConfig, shell, startPod, whenExited } from '../../support/runtime-configs.ts';
import { waitFor } from '../../support/wait-for.ts';

const PRIVILEGES = new URL('../../../src/embedded/containers/privileges.ts', import.meta.url).href;

const asRoot = process.getuid?.() === 0 ? test : test.skip;

describe('a container of the embedded runtime', () => {
  let bed: ProcessRuntimeBed;
  let runtime: RuntimeService;

  beforeAll(() => {
    bed = processRuntimeBed();
    ({ runtime } = bed);
  });

  afterAll(() => bed.cleanup());

  const start = (config: ContainerConfig) => startPod(runtime, join(bed.rootDir, 'pods'), config);
  const secured = (command: readonly string[], securityContext: LinuxContainerSecurityContext) =>
    containerConfig(command, { linux: { securityContext } });
  const create = async (config: ContainerConfig) => {
    const sandbox = podConfig(join(bed.rootDir, 'pods'));
    return runtime.createContainer(await runtime.runPodSandbox(sandbox), config, sandbox);
  };

  /** Of `/proc/<pid>/status`, as the container itself reads it; of a command that is run in it as well. */
  async function statusOf(securityContext: LinuxContainerSecurityContext) {
    const { id, logFile } = await start(
      secured(['sh', '-c', 'cat /proc/$$/status; echo read; exec sleep 1000'], securityContext),
    );
    const log = () => readFileSync(logFile, 'utf8').replace(/^\S+ stdout F /gm, '');
    await waitFor(() => log().includes('read\n'), { what: 'its status' });
    const { stdout } = await runtime.execSync(id, ['cat', '/proc/self/status'], 0);
    await runtime.stopContainer(id, 0);
    return [fieldsOf(log()), fieldsOf(stdout.toString())];
  }

  const NOTHING = '0'.repeat(16);
  const NET_BIND_SERVICE = '0000000000000400';

  asRoot(
    'has only the capabilities that it adds after ALL are dropped, and so have its commands',
    async () => {
      const capabilities = { dropCapabilities: ['ALL'], addCapabilities: ['CAP_NET_BIND_SERVICE'] };
      for (const fields of await statusOf({ capabilities })) {
        expect(fields).toMatchObject({ CapEff: NET_BIND_SERVICE, CapBnd: NET_BIND_SERVICE, CapInh: NOTHING });
      }
    },
  );

  asRoot('loses the capabilities that it drops by name, and keeps the others', async () => {
    const own = fieldsOf(readFileSync('/proc/self/status', 'utf8')).CapEff ?? '';
    const capabilities = { dropCapabilities: ['NET_RAW', 'CHOWN'], addCapabilities: [] };
    const left = BigInt(`0x${own}`) & ~((1n << 13n) | 1n);
    for (const fields of await statusOf({ capabilities })) expect(BigInt(`0x${fields.CapEff}`)).toBe(left);
  });

  test('gets no new privileges if it must not', async () => {
    for (const fields of await statusOf({ noNewPrivs: true })) expect(fields.NoNewPrivs).toBe('1');
  });

  asRoot('is in its supplementary groups, and in no others', async () => {
    for (const fields of await statusOf({ supplementalGroups: [1234, 5678] })) {
      expect([fields.Uid, fields.Groups]).toEqual(['0 0 0 0', '1234 5678']);
    }
  });

  asRoot('has all of this also as another user', async () => {
    const user = { runAsUser: 65534, runAsGroup: 65533 };
    const capabilities = { dropCapabilities: ['ALL'], addCapabilities: [] };
    const all = { ...user, capabilities, noNewPrivs: true, supplementalGroups: [1234] };
    for (const fields of await statusOf(all)) {
      expect(fields).toMatchObject({ Uid: '65534 65534 65534 65534', Gid: '65533 65533 65533 65533' });
      expect(fields).toMatchObject({ Groups: '1234', CapBnd: NOTHING, NoNewPrivs: '1' });
    }
    for (const fields of await statusOf({ ...user, noNewPrivs: true })) expect(fields.Groups).toBe('');
  });

  test('is started by setpriv, which leaves no process of its own', async () => {
    const { id, logFile } = await start(
      secured(['sh', '-c', 'echo $$; exec sleep 1000'], { noNewPrivs: true }),
    );
    const pid = await waitFor(() => / F (\d+)$/m.exec(readFileSync(logFile, 'utf8'))?.[1], {
      what: 'its pid',
    });
    // The shell says its pid before it becomes the other program.
    const isSleep = () => readFileSync(`/proc/${pid}/cmdline`, 'utf8') === 'sleep\u00001000\u0000';
    await waitFor(isSleep, { what: 'the program of the container under this pid' });
    await runtime.stopContainer(id, 1000);
    expect(await runtime.containerStatus(id)).toMatchObject({ exitCode: 143 });
  });

  test.each([
    [127, '/no/such/program'],
    [127, 'no-such-program'],
    [126, '/etc/passwd'],
  ])('is a StartError of %i when %s cannot be run, as without', async (exitCode, program) => {
    const id = await create(secured([program], { noNewPrivs: true }));
    await expect(runtime.startContainer(id)).rejects.toThrow(`"${program}"`);
    expect(await runtime.containerStatus(id)).toMatchObject({ exitCode, reason: 'StartError' });
  });

  test('is refused with an unknown capability', async () => {
    const capabilities = { dropCapabilities: ['NET_ROW'], addCapabilities: [] };
    await expect(create(secured(['true'], { capabilities }))).rejects.toMatchObject({
      kind: 'InvalidArgument',
      message: expect.stringMatching(/"main" names an unknown capability, NET_ROW.*NET_RAW/),
    });
  });
});

asRoot('a program is found although its user may not read other folders of the PATH, as with exec', () => {
  const closed = mkdtempSync(join(tmpdir(), 'statelet-closed-'));
  try {
    const find = `console.log(own.findProgram('setpriv', process.argv[1], '/'));`;
    const path = [closed, join(closed, 'bin'), '/usr/bin', '/bin'].join(':');
    expect(outputAsNobody(PRIVILEGES, find, path)).toMatch(/^(\/usr)?\/bin\/setpriv\n$/);
    expect(outputAsNobody(PRIVILEGES, find, closed)).toBe('undefined\n');
  } finally {
    rmSync(closed, { recursive: true });
  }
});

test('without setpriv, a container that needs it is refused with that reason; others run', async () => {
  const bin = mkdtempSync(join(tmpdir(), 'statelet-bin-'));
  for (const program of ['sh', 'mkfifo', 'flock']) {
    symlinkSync(execFileSync('which', [program], { encoding: 'utf8' }).trim(), join(bin, program));
  }
  const path = process.env.PATH;
  const bed = processRuntimeBed();
  process.env.PATH = bin;
  try {
    const sandbox = podConfig(join(bed.rootDir, 'pods'));
    const sandboxId = await bed.runtime.runPodSandbox(sandbox);
    const linux = { securityContext: { noNewPrivs: true } };
    const config = shell('exit 3', { linux });
    await expect(bed.runtime.createContainer(sandboxId, config, sandbox)).rejects.toMatchObject({
      kind: 'FailedPrecondition',
      message: expect.stringMatching(/"main".*needs setpriv.*install util-linux/),
    });
    const id = await bed.runtime.createContainer(sandboxId, shell('exit 3'), sandbox);
    await bed.runtime.startContainer(id);
    expect((await whenExited(bed.runtime, id)).exitCode).toBe(3);
  } finally {
    process.env.PATH = path;
    await bed.cleanup();
    rmSync(bin, { recursive: true });
  }
});

function fieldsOf(status: string): Record<string, string> {
  const lines = status.split('\n').map((line) => line.split(':'));
  return Object.fromEntries(
    lines.map(([key = '', value = '']) => [key, value.trim().replaceAll(/\s+/g, ' ')]),
  );
}
