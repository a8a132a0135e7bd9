import { once } from 'node:events';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { readAddress } from '../../src/agent/server/control-socket.ts';
import { cli, startCli } from '../support/cli.ts';
import { exitCodeOf } from '../../src/embedded/containers/launch.ts';
import { waitFor } from '../support/wait-for.ts';

let folder: string;
const closing: (() => unknown)[] = [];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'statelet-run-'));
});
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
});

/** A daemon with its own folder and its own port. */
function start(...args: string[]) {
  const fixed = [
    '--root-dir',
    join(folder, 'root'),
    '--healthz-port',
    'auto',
    '--pods',
    join(folder, 'local'),
  ];
  const running = startCli('run', ...fixed, ...args);
  closing.push(() => running.child.kill('SIGKILL') && running.finished);
  const address = () =>
    waitFor(
      async () =>
        running.child.exitCode === null ? readAddress(join(folder, 'root')) : running.output.stderr,
      {
        what: 'statelet.addr',
      },
    );
  return { ...running, address };
}

const modeOf = (path: string): number => statSync(path).mode & 0o777;

function logLines(stdout: string): Record<string, unknown>[] {
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

describe('statelet run', () => {
  test.each(['SIGINT', 'SIGTERM'] as const)('serves until %s, then ends with exit code 0', async (signal) => {
    const { child, address, finished } = start();
    const healthz = `http://${await address()}/healthz`;
    // The server answers before the container runtime is ready.
    await waitFor(async () => (await (await fetch(healthz)).text()) === 'ok', {
      what: '/healthz to be ok',
    });
    child.kill(signal);
    const { code, stdout, stderr } = await finished;
    expect([code, stderr]).toEqual([0, '']);
    expect(logLines(stdout).map(({ msg }) => msg)).toEqual(
      expect.arrayContaining(['stopping; pods keep running', 'stopped']),
    );
    expect(existsSync(join(folder, 'root', 'statelet.addr'))).toBe(false);
  });

  test('reads its configuration from a file, and warns about fields that have no effect', async () => {
    await mkdir(join(folder, 'pods'));
    const config = join(folder, 'kubelet.yaml');
    await writeFile(
      config,
      'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nstaticPodPath: pods\noomScoreAdj: 3\nlogging: { format: text }\n',
    );
    const { child, address, finished } = start('--config', config);
    await address();
    child.kill('SIGTERM');
    const { code, stdout } = await finished;
    expect(code).toBe(0);
    expect(stdout).toMatch(/WARN: .*kubelet\.yaml: known, but without effect here: oomScoreAdj\n/);
    expect(stdout).not.toContain('no source of pods');
  });

  test('with -v 4 logs the capacity and the allocatable resources of the node', async () => {
    const reserved = ['--extended-resources', 'example.com/gpu=2', '--max-pods', '7', '--eviction-hard='];
    const { child, address, finished } = start('-v', '4', ...reserved);
    await address();
    child.kill('SIGTERM');
    const amounts = expect.stringMatching(
      /^cpu=\d+,memory=\w+,(?:hugepages-\w+=\w+,)*ephemeral-storage=\w+,pods=7,example\.com\/gpu=2$/,
    );
    const line = { level: 'debug', msg: 'Node resources', capacity: amounts, allocatable: amounts };
    expect(logLines((await finished).stdout)).toContainEqual(expect.objectContaining(line));
  });

  test('does not start when more is reserved than the node has', async () => {
    const { code, stdout, stderr } = await start('--kube-reserved', 'memory=1Ei').finished;
    expect([code, stdout]).toEqual([2, expect.not.stringContaining('Running the pods')]);
    expect(stderr).toMatch(
      /^statelet: invalid Node Allocatable configuration\. Resource "memory" .*--kube-reserved/,
    );
  });

  describe('the states of pods', () => {
    const MANIFEST = `apiVersion: v1
kind: Pod
metadata: { name: web }
spec:
  terminationGracePeriodSeconds: 1
  containers: [{ name: main, command: [sleep, '1000'] }]
`;

    /** The output of a daemon that starts a pod, and ends the pod when it is stopped itself. */
    async function printed(...args: string[]): Promise<string> {
      const manifest = join(folder, 'web.yaml');
      await writeFile(manifest, MANIFEST);
      const { child, address, finished } = start(
        '--pod-manifest-path',
        manifest,
        '--exit-with-pods',
        ...args,
      );
      const pods = `http://${await address()}/pods`;
      await waitFor(async () => (await (await fetch(pods)).text()).includes('"Syncing.Settled"'), {
        what: 'the pod to be settled',
      });
      child.kill('SIGTERM');
      const { code, stdout } = await finished;
      expect(code).toBe(0);
      return stdout;
    }

    test('are in a log as text, after the welcome', async () => {
      const text = await printed('--logging-format', 'text');
      expect(text).toMatch(
        /^\S+ INFO: Statelet runs each pod of .*\/web\.yaml as a statechart\n {4}see them: .*\n {4}their logs: .*\n {4}to stop: /,
      );
      const ways = [...text.matchAll(/: default\/web-\S+: (\w+\.\w+ → .*)$/gm)].map(([, way]) => way);
      expect(ways).toEqual([
        'Syncing.Working → Syncing.Settled',
        // A sync may be under way when the signal comes.
        expect.stringMatching(
          /^Syncing\.Settled → (?:Syncing\.\w+ → )*Terminating\.Stopping → Terminated\.CleaningUp → Terminated\.Finished$/,
        ),
      ]);
    });

    test('are not in a log as JSON, except with -v 4', async () => {
      const quiet = logLines(await printed());
      expect(quiet.filter(({ msg }) => String(msg).includes('Syncing.') || msg === 'state')).toEqual([]);
      expect(quiet).toContainEqual(
        expect.objectContaining({ msg: expect.stringMatching(/^Running the pods of /) }),
      );
      await rm(join(folder, 'root'), { recursive: true, maxRetries: 5 });
      const states = logLines(await printed('-v', '4')).filter(({ msg }) => msg === 'state');
      expect(states.map(({ to }) => to)).toEqual(
        expect.arrayContaining(['Syncing.Settled', 'Terminating.Stopping', 'Terminated.Finished']),
      );
    });
  });

  test('without a source of pods names the flags, and ends with exit code 2', async () => {
    const { code, stdout, stderr } = await cli(
      'run',
      '--root-dir',
      join(folder, 'root'),
      '--healthz-port',
      '0',
    );
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(
      /^statelet: no source of pods was given: --pods, --pod-manifest-path, --kubeconfig or .*\n"statelet run --pods FOLDER" .*\n/u,
    );
    expect(existsSync(join(folder, 'root'))).toBe(false);
  });

  test('does not start twice in one root folder', async () => {
    await start().address();
    const { code, stderr } = await start().finished;
    expect(code).toBe(1);
    expect(stderr).toMatch(/^statelet: .*root/);
    expect(stderr).not.toMatch(/^ +at /m);
  });

  test.each(['--healthz-port', '--inspect'])(
    'names the flag to change when the port of %s is in use',
    async (flag) => {
      const taken = createServer().listen(0, '127.0.0.1');
      await once(taken, 'listening');
      closing.push(() => taken.close());
      const { port } = taken.address() as AddressInfo;
      const { code, stderr } = await start(`${flag}=${port}`).finished;
      expect(code).toBe(1);
      expect(stderr).toMatch(
        new RegExp(`^statelet: cannot serve .* on 127.0.0.1:${port}: the port is in use.*${flag}`),
      );
      expect(stderr).not.toMatch(/^ +at /m);
    },
  );

  test('ignores SIGUSR1 (which would open a debugger), SIGUSR2, and SIGHUP without a terminal', async () => {
    const { child, address, output, finished } = start();
    await address();
    for (const signal of ['SIGUSR1', 'SIGUSR2', 'SIGHUP'] as const) {
      child.kill(signal);
      const told = `"signal":"${signal}","msg":"a signal without effect here"`;
      await waitFor(() => output.stdout.includes(told), { what: `a line about ${signal}` });
    }
    child.kill('SIGTERM');
    expect(await finished).toMatchObject({ code: 0, stderr: '' });
  });

  test('exits at once on SIGQUIT', async () => {
    const { child, address, finished } = start('--exit-with-pods');
    await address();
    child.kill('SIGQUIT');
    const { code, stdout } = await finished;
    expect(code).toBe(131);
    expect(logLines(stdout).at(-1)).toMatchObject({ msg: 'leaving at once: pods may be left running' });
  });

  test('makes no file that other users may write, whatever the umask of its shell', async () => {
    const before = process.umask(0);
    try {
      const { child, address, finished } = start();
      await address();
      expect(modeOf(join(folder, 'root'))).toBe(0o755);
      expect(modeOf(join(folder, 'root', 'statelet.addr'))).toBe(0o644);
      expect(modeOf(join(folder, 'root', 'lock'))).toBe(0o600);
      child.kill('SIGTERM');
      await finished;
    } finally {
      process.umask(before);
    }
  });

  test('takes two SIGINT at once as one Ctrl-C, and exits at once on a later one', async () => {
    const pid = join(folder, 'pid');
    await mkdir(join(folder, 'pods'));
    await writeFile(
      join(folder, 'pods', 'stubborn.json'),
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'stubborn' },
        spec: {
          terminationGracePeriodSeconds: 600,
          containers: [
            {
              name: 'main',
              image: 'host',
              command: [
                'sh',
                '-c', // `$$` stands for one dollar in a command.
                `trap "" TERM; echo $$$$ > ${pid}; while :; do sleep 1; done`,
              ],
            },
          ],
        },
      }),
    );
    const { child, output, finished } = start(
      '--exit-with-pods',
      '--pod-manifest-path',
      join(folder, 'pods'),
    );
    // The file exists before it has the number, and signalling 0 would signal the process group of this test.
    const group = await waitFor(() => (existsSync(pid) && Number(readFileSync(pid, 'utf8'))) || undefined, {
      what: 'the container',
    });
    closing.push(() => process.kill(-group, 'SIGKILL'));
    child.kill('SIGINT');
    child.kill('SIGINT');
    await waitFor(() => output.stdout.includes('ending all pods'), { what: 'the daemon to end its pods' });
    expect(child.exitCode).toBeNull();
    await waitFor(
      () => {
        // The daemon may end before the test has read its output.
        child.kill('SIGINT');
        return output.stdout.includes('leaving at once: pods may be left running');
      },
      {
        what: 'a Ctrl-C that counts as another',
      },
    );
    const { code } = await finished;
    // As a shell shows it: one more signal may meet the process at its very end.
    expect(exitCodeOf(code, child.signalCode)).toBe(130);
  });
});
