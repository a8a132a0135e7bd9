/** The commands for the pods of a running daemon, with containers of containerd. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { afterEach, beforeAll, expect, test } from '@jest/globals';
import { BIN } from '../../../support/built.ts';
import { describeOnDaemon } from '../../../support/cri-suite.ts';
import { type CommandResult, completions, statelet } from '../../../support/daemon.ts';
import { waitFor } from '../../../support/wait-for.ts';

const PORT = 8080;
/** Serves a port, and says what it is told. */
const WEB = `echo started; httpd -p ${PORT} -h /bin; while read a; do echo "got $a"; done; sleep 1000`;

describeOnDaemon('the commands for pods', ({ bed, daemon }) => {
  const children: ChildProcess[] = [];
  const run = (command: string, ...args: string[]): Promise<CommandResult> =>
    statelet(command, '--root-dir', bed.rootDir, ...args);

  /** A command that goes on until it is killed. */
  function begin(command: string, ...args: string[]) {
    const child = spawn(process.execPath, [BIN, command, '--root-dir', bed.rootDir, ...args]);
    children.push(child);
    return child;
  }

  beforeAll(async () => {
    const side = bed.shell('echo aside; echo apart >&2; sleep 1000', { name: 'side' });
    bed.apply('web', { hostNetwork: false, containers: [bed.shell(WEB, { stdin: true }), side] });
    await daemon.running('web');
  });
  afterEach(async () => {
    for (const child of children.splice(0)) {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
      if (child.stdout?.closed === false) await once(child, 'close');
    }
  });

  test('logs prints what containers have written, and follows it', async () => {
    const side = () => run('logs', 'web', '-c', 'side');
    await waitFor(async () => (await side()).stdout.split('\n').length > 2, { what: 'the lines' });
    expect((await side()).stdout.trim().split('\n').toSorted()).toEqual(['apart', 'aside']);
    const all = (await run('logs', 'web', '--all-containers', '--prefix', '--tail', '1')).stdout;
    expect(all).toMatch(/^\[pod\/web-node-a\/main\] .+\n\[pod\/web-node-a\/side\] a\w+\n$/);
    const follower = begin('logs', '-f', 'web', '-c', 'main');
    const lines = createInterface({ input: follower.stdout })[Symbol.asyncIterator]();
    expect((await lines.next()).value).toBe('started');
    expect(await run('logs', 'web', '-c', 'main', '--previous')).toMatchObject({
      code: 1,
      stderr: 'statelet: previous terminated container "main" in pod "web-node-a" not found\n',
    });
  });

  test('exec runs a command: its output, its input and its exit code pass through', async () => {
    expect(await run('exec', 'web', '-q', '--', 'sh', '-c', 'echo out; echo err >&2; exit 3')).toEqual({
      code: 3,
      stdout: 'out\n',
      stderr: 'err\n',
    });
    const child = begin('exec', '-i', '-q', 'web', '--', 'wc', '-c');
    child.stdin.end(Buffer.alloc(3_000_000, 'x'));
    const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'close')]);
    expect([code, output.trim()]).toEqual([0, '3000000']);
    const missing = await run('exec', 'web', '-q', '--', '/no/such');
    expect(missing.code).not.toBe(0);
    expect(missing.stderr).toContain('/no/such');
  });

  test('exec gives a command a terminal', async () => {
    const command = [
      process.execPath,
      BIN,
      'exec',
      '--root-dir',
      bed.rootDir,
      '-it',
      '-q',
      'web',
      '--',
      'tty',
    ];
    const child = spawn('script', ['-qec', command.join(' '), '/dev/null'], {
      env: { PATH: process.env.PATH, SHELL: '/bin/sh' },
    });
    children.push(child);
    const [shown, [code]] = await Promise.all([text(child.stdout), once(child, 'close')]);
    expect(shown).toContain('/dev/pts/');
    expect(code).toBe(0);
  });

  test('attach joins the main process', async () => {
    const child = begin('attach', '-i', '-q', 'web', '-c', 'main');
    child.stdin.write('typed\n');
    for await (const line of createInterface({ input: child.stdout })) if (line === 'got typed') break;
  });

  test('port-forward leads to a port in the network of the pod', async () => {
    const child = begin('port-forward', 'web', `:${PORT}`);
    const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
    const port = Number(/:(\d+) ->/.exec(line)?.[1]);
    const answers = await Promise.all(Array.from({ length: 20 }, () => ask(port)));
    expect(new Set(answers)).toEqual(new Set(['HTTP/1.1 404']));
  });

  test('top, events and completion show the pod', async () => {
    const isMeasured = async () =>
      /^default +web-node-a +\d+m +\d+Mi\n$/.test((await run('top', 'pods', 'web', '--no-headers')).stdout);
    await waitFor(isMeasured, { what: 'the figures of the pod', pauseMs: 200 });
    const containers = (await run('top', 'pods', 'web', '--containers', '--no-headers')).stdout;
    for (const name of ['main', 'side'])
      expect(containers).toMatch(new RegExp(` web-node-a +${name} +\\d+m +\\d+Mi\n`));
    expect((await run('top', 'node')).stdout).toMatch(/^NAME .*\nnode-a +\d+m +\d+% +\d+Mi +\d+%\n$/);
    const events = (await run('events', '--for', 'pod/web')).stdout;
    expect(events).toMatch(/^NAMESPACE .*\n(?:default .* Pod\/web-node-a .*\n)+$/);
    expect(events).toContain('Started');
    expect(await completions(bed.rootDir, 'exec', 'w')).toBe('web-node-a\tRunning\n');
  });

  test('delete ends a pod, which stays ended until its manifest changes', async () => {
    bed.apply('short', { containers: [bed.server()] });
    const pod = await daemon.running('short');
    expect(await run('delete', 'short', '--grace-period', '1')).toMatchObject({
      code: 0,
      stdout:
        'pod "short-node-a" deleted from default namespace; it starts again when its manifest changes, in the folder or URL of static pods\n',
    });
    const running = await bed.runtime.listPodSandbox({
      state: 'SANDBOX_READY',
      labelSelector: { 'io.kubernetes.pod.uid': pod.metadata.uid },
    });
    expect(running).toEqual([]);
    // The command ends once nothing runs; what is left of the pod is cleaned up then.
    const row = /short-node-a +0\/1 +Deleted .* Terminated\.Finished\n/u;
    await waitFor(async () => row.test((await run('pods')).stdout), { what: 'the pod to be finished' });
    bed.apply('short', { containers: [bed.server({ env: [{ name: 'AGAIN', value: '1' }] })] });
    const again = await daemon.running('short');
    expect(again.metadata.uid).not.toBe(pod.metadata.uid);
  });
});

async function ask(port: number): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1' });
  socket.write('GET /none HTTP/1.0\r\n\r\n');
  const [answer] = (await once(socket, 'data')) as [Buffer];
  socket.destroy();
  return answer.toString().slice(0, 12);
}
