/** exec, attach, cp and port-forward through kubectl, and straight at the node, with a runtime that carries the streams itself. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { beforeAll, expect, test } from '@jest/globals';
import { WebSocket } from 'ws';
import { describeOnCluster } from '../../support/cluster-suite.ts';
import { kubectlProgram } from '../../support/kubernetes-programs.ts';
import { distinctLines, hashOf, readSlowly } from '../../support/slow-reader.ts';

/** More than the system holds between two ends of a connection. */
const OUTPUT = distinctLines(270_000);

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

describeOnCluster('the streams of a node', (cluster) => {
  const environment = () => ({
    PATH: process.env.PATH,
    HOME: cluster.controlPlane.dir,
    KUBECONFIG: cluster.controlPlane.adminKubeconfig,
  });
  const program = () => kubectlProgram();

  function kubectl(args: readonly string[], input: string | Buffer = ''): Promise<Ended> {
    return new Promise((resolve) => {
      const options = { env: environment(), maxBuffer: 64 * 1024 * 1024, encoding: 'latin1' } as const;
      const child = execFile(program(), [...args], options, (error, stdout, stderr) => {
        resolve({ code: error ? Number(error.code) : 0, stdout, stderr });
      });
      child.stdin?.on('error', () => undefined).end(input);
    });
  }

  const exec = (...command: readonly string[]) =>
    kubectl(['exec', 'web', '--container=main', '--', ...command]);

  beforeAll(async () => {
    const serving = 'httpd -p 8080 -h /bin; cat; sleep 1000';
    await cluster.create('web', {
      containers: [
        cluster.shell(serving, { stdin: true }),
        cluster.shell('cat', { name: 'term', stdin: true, tty: true }),
      ],
    });
    await cluster.podIsReady('web');
    // Without a command after cat the shell's output would end at once, and containerd would read no more input.
    await kubectl(['exec', '-i', 'web', '-c', 'main', '--', 'sh', '-c', 'cat > /tmp/output; true'], OUTPUT);
  });

  test('exec gives both outputs and the exit code', async () => {
    expect(await exec('sh', '-c', 'echo out; echo err >&2; exit 3')).toEqual({
      code: 3,
      stdout: 'out\n',
      stderr: 'err\ncommand terminated with exit code 3\n',
    });
  });

  test('exec carries input and output of several megabytes unchanged', async () => {
    const input = Buffer.alloc(3_000_000, 'a line of text\n');
    const { code, stdout } = await kubectl(['exec', '-i', 'web', '--', 'cat'], input);
    expect(code).toBe(0);
    expect(stdout === input.toString('latin1')).toBe(true);
  });

  // kubectl and the API server ask every five seconds whether their connection stands, also when the command has ended.
  test.each([
    ['a WebSocket', 'true'],
    ['SPDY', 'false'],
  ])('exec over %s gives a slow reader all output, and the exit code', async (_, webSockets) => {
    const args = ['exec', 'web', '-c', 'main', '--', 'sh', '-c', 'cat /tmp/output; exit 7'];
    const env = { ...environment(), KUBECTL_REMOTE_COMMAND_WEBSOCKETS: webSockets };
    const child = spawn(program(), args, { env });
    const closed = once(child, 'close');
    expect(await readSlowly(child.stdout, 40)).toEqual({ bytes: OUTPUT.length, hash: hashOf(OUTPUT) });
    expect((await closed)[0]).toBe(7);
  });

  test('exec of a program that does not exist fails with the reason', async () => {
    const { code, stderr } = await exec('/no/such');
    expect(code).not.toBe(0);
    expect(stderr).toContain('/no/such');
  });

  test('attach reaches the main process', async () => {
    const child = spawn(program(), ['attach', '-i', 'web', '-c', 'main'], { env: environment() });
    child.stdin.write('typed\n');
    for await (const line of createInterface({ input: child.stdout })) if (line === 'typed') break;
    child.kill();
    await once(child, 'close');
  });

  test('port-forward carries a hundred connections at once', async () => {
    const child = spawn(program(), ['port-forward', 'pod/web', ':8080'], { env: environment() });
    const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
    const port = Number(/127\.0\.0\.1:(\d+)/u.exec(line)?.[1]);
    const answers = await Promise.all(
      Array.from({ length: 100 }, async () => {
        const socket = connect({ port, host: '127.0.0.1' });
        socket.write('GET /none HTTP/1.0\r\n\r\n');
        const [answer] = (await once(socket, 'data')) as [Buffer];
        socket.destroy();
        return answer.toString().slice(0, 12);
      }),
    );
    expect(new Set(answers)).toEqual(new Set(['HTTP/1.1 404']));
    child.kill();
    await once(child, 'close');
  });

  test('a WebSocket of v5, which no runtime speaks, is translated', async () => {
    const path =
      '/exec/default/web/main?input=1&output=1&error=1&command=sh&command=-c&command=cat%3B+exit+5';
    const socket = new WebSocket(`ws+unix://${cluster.bed.rootDir}/statelet.sock:${path}`, [
      'v5.channel.k8s.io',
    ]);
    const messages: Buffer[] = [];
    socket.on('message', (data: Buffer) => void messages.push(data));
    await once(socket, 'open');
    socket.send(Buffer.from('\0typed'));
    socket.send(Buffer.from([255, 0]));
    await once(socket, 'close');
    const received = (channel: number) =>
      Buffer.concat(
        messages.filter(([first]) => first === channel).map((data) => data.subarray(1)),
      ).toString();
    expect(received(1)).toBe('typed');
    expect(JSON.parse(received(3))).toMatchObject({
      details: { causes: [{ reason: 'ExitCode', message: '5' }] },
    });
  });

  test('a client that disappears takes its connection with it', async () => {
    const child = spawn(program(), ['exec', '-i', 'web', '--', 'cat'], { env: environment() });
    child.stdin.write('typed\n');
    await once(child.stdout, 'data');
    child.kill('SIGKILL');
    await once(child, 'close');
    expect(await text(child.stderr)).not.toContain('error');
    expect((await exec('echo', 'still here')).stdout).toBe('still here\n');
  });
});
