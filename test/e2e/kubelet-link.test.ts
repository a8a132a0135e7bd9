/** A link named `kubelet` is a kubelet: its command line, its version, its defaults. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { controlSocket } from '../../src/agent/server/control-socket.ts';
import { type CommandResult, DaemonBed } from '../support/daemon.ts';
import { launcherOf, makeKubeletLink } from '../support/kubelet-link.ts';
import { manifest, SERVE, shell } from './manifests.ts';

let folder: string;
let link: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'statelet-link-'));
  link = makeKubeletLink(folder);
});
afterAll(() => rmSync(folder, { recursive: true }));

function kubelet(...args: readonly string[]): Promise<CommandResult> {
  const { promise, resolve } = Promise.withResolvers<CommandResult>();
  const child = execFile(process.execPath, [link, ...args], (_error, stdout, stderr) =>
    resolve({ code: child.exitCode, stdout, stderr }),
  );
  return promise;
}

describe('kubelet', () => {
  test('--version prints what the preflight of installers reads', async () => {
    expect(await kubelet('--version')).toEqual({ code: 0, stdout: 'Kubernetes v1.36.2\n', stderr: '' });
    expect((await kubelet('--version=raw')).stdout).toMatch(
      /^version\.Info\{Major:"1", Minor:"36", .*\}\n$/u,
    );
  });

  test('--help has its flags, its defaults, and the flags without effect', async () => {
    const { code, stdout } = await kubelet('--help');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Usage: kubelet /u);
    expect(stdout).toContain('--bootstrap-kubeconfig <FILE>');
    expect(stdout).toMatch(/--root-dir <DIR> .*\(default: \/var\/lib\/kubelet\)\n/u);
    expect(stdout).toMatch(
      /--container-runtime-endpoint .*\(default: unix:\/\/\/run\/containerd\/containerd\.sock\)\n/u,
    );
    expect(stdout).toMatch(
      /Flags of the kubelet that have no effect:\n(?: {2}--[\w-]+\n)* {2}--oom-score-adj\n/u,
    );
  });

  test.each<[string, readonly string[], RegExp]>([
    ['an unknown flag', ['--bogus'], /^kubelet: unknown option '--bogus'/u],
    ['a command', ['run'], /^kubelet: too many arguments/u],
    ['a truth value as a word of its own', ['--register-node', 'false'], /^kubelet: too many arguments/u],
    ['another version', ['--version=v1.30.0'], /^kubelet: --version: version "v1\.30\.0" must match/u],
    [
      'a wrong value of a flag without effect',
      ['--fail_swap_on=maybe'],
      /^kubelet: --fail-swap-on: must be true or false \(got "maybe"\)/u,
    ],
    [
      'a gate that does not exist',
      ['--feature-gates=Foo=true'],
      /^kubelet: --feature-gates: unrecognized feature gate: Foo\n$/u,
    ],
  ])('refuses %s', async (_, args, message) => {
    const { code, stderr } = await kubelet(...args);
    expect(code).toBe(2);
    expect(stderr).toMatch(message);
  });
});

describe('a kubelet that runs', () => {
  let bed: DaemonBed;
  beforeEach(() => {
    bed = new DaemonBed(launcherOf(link));
  });

  /** Asks the daemon at the socket of its root folder. */
  async function asked(
    path: string,
  ): Promise<{ readonly status: number | undefined; readonly body: string }> {
    const question = get({ socketPath: controlSocket(bed.rootDir), path });
    const [answer] = (await once(question, 'response')) as [IncomingMessage];
    return { status: answer.statusCode, body: await text(answer) };
  }

  afterEach(() => bed.cleanUp());

  test('takes a command line of installers: flags win over drop-ins, these over the file, and each flag without effect is one warning', async () => {
    const head = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';
    const config = join(bed.dir, 'config.yaml');
    const dropIns = join(bed.dir, 'kubelet.conf.d');
    mkdirSync(dropIns);
    writeFileSync(
      config,
      `${head}maxPods: 5\nsyncFrequency: 7s\nhealthzPort: 1\nstaticPodPath: ${bed.manifestDir}\n`,
    );
    writeFileSync(
      join(dropIns, '10-cloud.conf'),
      `${head}maxPods: 6\nfeatureGates: { ComponentStatusz: false }\nport: 0\n`,
    );
    writeFileSync(join(bed.manifestDir, 'web.yaml'), manifest('web', { containers: [shell(SERVE)] }));
    const daemon = bed.launch([
      ...[
        `--config=${config}`,
        `--config-dir=${dropIns}`,
        '--max_pods=9',
        '--container-runtime-endpoint=embedded',
      ],
      ...[
        '--feature-gates=ComponentFlagz=f',
        '--port=auto',
        '--exit-with-pods',
        '--logging-format=json',
        '-v=2',
      ],
      ...[
        '--runtime-cgroups=/system.slice/containerd.service',
        '--oom-score-adj=-999',
        '--fail-swap-on=false',
      ],
      ...['--hairpin-mode', 'hairpin-veth', '--volume-plugin-dir=/opt/plugins', '--hairpin-mode=none'],
    ]);
    await daemon.ready();
    await daemon.running('web');
    const warnings = daemon.log.filter(({ level, msg }) => level === 'warn' && msg.startsWith('--'));
    expect(warnings.map(({ msg }) => msg.split(':')[0]).sort()).toEqual([
      ...['--fail-swap-on', '--hairpin-mode', '--volume-plugin-dir'],
    ]);
    expect((await daemon.fetch('/healthz')).status).toBe(200);
    expect(await asked('/configz')).toMatchObject({
      status: 200,
      body: expect.stringContaining('"featureGates":{"ComponentFlagz":false,"ComponentStatusz":false}'),
    });
    expect((await asked('/configz')).body).toMatch(/"syncFrequency":"7s".*"maxPods":9/u);
    expect((await asked('/flagz')).status).toBe(404);
  });
});
