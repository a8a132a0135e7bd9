/** The streams of a node as other clients use them: a terminal, `kubectl cp` and `kubectl debug`, the JavaScript client, many connections. */
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { Attach, Exec, KubeConfig, PortForward, type V1Status } from '@kubernetes/client-node';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { describeOnCluster } from '../../support/cluster-suite.ts';
import { kubectlProgram } from '../../support/kubernetes-programs.ts';

const PORT = 8080;
const REQUEST = 'GET /none HTTP/1.0\r\n\r\n';

describeOnCluster('clients of a node', (cluster) => {
  let dir: string;
  const kubectl = () => kubectlProgram();
  const env = () => ({
    PATH: process.env.PATH,
    HOME: dir,
    KUBECONFIG: cluster.controlPlane.adminKubeconfig,
  });
  const run = async (...args: readonly string[]) =>
    (await promisify(execFile)(kubectl(), args, { env: env() })).stdout;

  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), 'statelet-clients-'));
    const serving = `httpd -p ${PORT} -h /bin; while read a; do echo "got $a"; done; sleep 1000`;
    await cluster.create('web', { containers: [cluster.shell(serving, { stdin: true })] });
    await cluster.podIsReady('web');
  });
  afterAll(() => rmSync(dir, { recursive: true }));

  describe('at a terminal', () => {
    /** kubectl in a terminal of 33 lines with 101 columns. */
    function atTerminal(...args: readonly string[]): ChildProcess {
      const command = `stty rows 33 cols 101; exec ${[kubectl(), ...args].join(' ')}`;
      return spawn('script', ['-qec', command, '/dev/null'], { env: { ...env(), SHELL: '/bin/sh' } });
    }

    test('kubectl exec -it ends with the exit code of the command', async () => {
      const child = atTerminal('exec', '-it', 'web', '--', "sh -c 'exit 7'");
      const [shown, [code]] = await Promise.all([text(child.stdout!), once(child, 'close')]);
      expect(shown).toContain('exit code 7');
      expect(code).toBe(7);
    });

    test('kubectl exec -it passes on the size of the terminal', async () => {
      // The size is sent after the start: it may come after the command has asked for it.
      const script = '\'until [ "$(stty size)" = "33 101" ]; do sleep 0.1; done; echo sized\'';
      const child = atTerminal('exec', '-it', 'web', '--', 'sh', '-c', script);
      expect(await text(child.stdout!)).toContain('sized\r\n');
    });

    test('kubectl debug -it starts a container in the pod, and attaches to it', async () => {
      const image = `--image=${cluster.bed.containerd.image}`;
      const flags = [
        '--image-pull-policy=IfNotPresent',
        '--target=main',
        '--profile=general',
        '-c',
        'debugger',
      ];
      const child = atTerminal('debug', '-it', 'web', image, ...flags, '--', 'sh');
      let shown = '';
      let isAsked = false;
      child.stdout!.on('data', (data: Buffer) => {
        shown += data.toString();
        if (isAsked || !shown.includes('# ')) return;
        isAsked = true;
        child.stdin!.write('ps; echo in the p""od; exit 4\n');
      });
      await once(child, 'close');
      expect(shown).toContain('in the pod\r\n');
      expect(shown).toContain('httpd -p');
      const pod = await cluster.podIs('debugged', 'web', ({ status }) =>
        (status?.ephemeralContainerStatuses ?? []).some(({ state }) => state?.terminated !== undefined),
      );
      expect(pod.status?.ephemeralContainerStatuses?.[0]?.state?.terminated?.exitCode).toBe(4);
    });
  });

  test('kubectl cp copies a file to the pod and back', async () => {
    const [there, back] = [join(dir, 'there'), join(dir, 'back')];
    const bytes = Buffer.from(Array.from({ length: 2_000_000 }, (_, index) => (index * 7919) % 251));
    writeFileSync(there, bytes);
    await run('cp', there, 'web:/tmp/file', '-c', 'main');
    await run('cp', 'web:/tmp/file', back, '-c', 'main');
    expect(readFileSync(back).equals(bytes)).toBe(true);
  });

  describe('of JavaScript', () => {
    let config: KubeConfig;
    beforeAll(() => {
      config = new KubeConfig();
      config.loadFromFile(cluster.controlPlane.adminKubeconfig);
    });

    test('exec a command', async () => {
      const [stdout, stderr] = [new PassThrough(), new PassThrough()];
      const { promise, resolve } = Promise.withResolvers<V1Status>();
      const command = ['sh', '-c', 'echo out; echo err >&2; exit 3'];
      await new Exec(config).exec('default', 'web', 'main', command, stdout, stderr, null, false, resolve);
      expect((await promise).details?.causes).toEqual([{ reason: 'ExitCode', message: '3' }]);
      stdout.end();
      stderr.end();
      expect([await text(stdout), await text(stderr)]).toEqual(['out\n', 'err\n']);
    });

    test('attach to the main process', async () => {
      const [stdin, stdout] = [new PassThrough(), new PassThrough()];
      const socket = await new Attach(config).attach('default', 'web', 'main', stdout, null, stdin, false);
      stdin.write('typed\n');
      for await (const line of createInterface({ input: stdout })) if (line === 'got typed') break;
      socket.close();
    });

    test('forward a port', async () => {
      const forward = new PortForward(config);
      const server = createServer((socket) => {
        void forward.portForward('default', 'web', [PORT], socket, null, socket);
      }).listen(0, '127.0.0.1');
      await once(server, 'listening');
      expect(await ask((server.address() as AddressInfo).port)).toBe('HTTP/1.1 404');
      server.close();
    });
  });

  describe('with many connections', () => {
    let child: ChildProcess;
    let port: number;
    beforeAll(async () => {
      child = spawn(kubectl(), ['port-forward', 'pod/web', `:${PORT}`], { env: env() });
      const [line] = (await once(createInterface({ input: child.stdout! }), 'line')) as [string];
      port = Number(/127\.0\.0\.1:(\d+)/u.exec(line)?.[1]);
    });
    afterAll(async () => {
      child.kill();
      await once(child, 'close');
    });

    test('200 at once', async () => {
      const answers = await Promise.all(Array.from({ length: 200 }, () => ask(port)));
      expect(new Set(answers)).toEqual(new Set(['HTTP/1.1 404']));
    });

    test('a thousand, one after the other', async () => {
      for (let count = 0; count < 1000; count += 1) expect(await ask(port)).toBe('HTTP/1.1 404');
    });
  });
});

/** The beginning of what the server of the pod answers. */
async function ask(port: number): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1' });
  socket.write(REQUEST);
  const [answer] = (await once(socket, 'data')) as [Buffer];
  socket.destroy();
  return answer.toString().slice(0, 12);
}
