/** What slow clients get of the output of containerd's containers: all of it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Transform } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterEach, beforeAll, expect, test } from '@jest/globals';
import { WebSocket } from 'ws';
import { pingFrame } from '../../../../src/agent/server/streaming/spdy/spdy-frames.ts';
import { BIN } from '../../../support/built.ts';
import { describeOnDaemon } from '../../../support/cri-suite.ts';
import { distinctLines, hashOf, readSlowly } from '../../../support/slow-reader.ts';
import { spdyClient } from '../../../support/streaming-client.ts';

const PORT = 8080;
/** More than the system holds between two ends of a connection. */
const OUTPUT = distinctLines(270_000);
const WHOLE = { bytes: OUTPUT.length, hash: hashOf(OUTPUT) };
const WRITES = 'cat /output/all';
const MOUNTED = { volumeMounts: [{ name: 'output', mountPath: '/output', readOnly: true }] };

describeOnDaemon('a slow client of containerd', ({ bed, daemon }) => {
  const ends: (() => void)[] = [];
  const socketPath = () => `${bed.rootDir}/statelet.sock`;

  beforeAll(async () => {
    const path = join(bed.dir, 'output');
    mkdirSync(path);
    writeFileSync(join(path, 'all'), OUTPUT);
    const serving = `httpd -p ${PORT} -h /output; read go; ${WRITES}; echo end; sleep 1000`;
    bed.apply('web', {
      hostNetwork: false,
      volumes: [{ name: 'output', hostPath: { path } }],
      containers: [bed.shell(serving, { stdin: true, ...MOUNTED }), bed.server({ name: 'side', ...MOUNTED })],
    });
    await daemon.running('web');
  });
  afterEach(() => {
    for (const end of ends.splice(0)) end();
  });

  const execOf = (script: string) => {
    const command = ['sh', '-c', script].map((word) => `command=${encodeURIComponent(word)}`).join('&');
    return `/exec/default/web-node-a/side?output=1&error=1&${command}`;
  };

  function every(ms: number, act: () => void): void {
    const timer = setInterval(act, ms);
    ends.push(() => clearInterval(timer));
  }

  /** The messages of a channel, read one by one. Resolves when the server has closed the connection. */
  async function overWebSocket(
    path: string,
    protocol: string,
    request?: string,
  ): Promise<ReadonlyMap<number, Buffer>> {
    const socket = new WebSocket(`ws+unix://${socketPath()}:${path}`, [protocol]);
    const parts = new Map<number, Buffer[]>();
    socket.on('message', (data: Buffer) => {
      const [channel = 0] = data;
      parts.set(channel, [...(parts.get(channel) ?? []), data.subarray(1)]);
      socket.pause();
      setTimeout(() => socket.resume(), 2);
    });
    await once(socket, 'open');
    if (request !== undefined) socket.send(Buffer.from(`\0${request}`));
    every(20, () => {
      if (socket.readyState === socket.OPEN) socket.ping();
    });
    await once(socket, 'close');
    return new Map([...parts].map(([channel, all]) => [channel, Buffer.concat(all)]));
  }

  function begin(...args: readonly string[]): ChildProcess {
    const child = spawn(process.execPath, [BIN, ...args]);
    ends.push(() => child.kill('SIGKILL'));
    return child;
  }

  test('gets all output of a command over SPDY while it sends pings, and then the exit code', async () => {
    const client = await spdyClient({ socketPath: socketPath(), path: execOf(`${WRITES}; exit 3`) });
    const [error, stdout, stderr] = ['error', 'stdout', 'stderr'].map((type) => client.open(type));
    stderr!.resume();
    const outcome = text(error!);
    let id = 1;
    every(20, () => void client.socket.write(pingFrame((id += 2))));
    expect(await readSlowly(stdout!, 5)).toEqual(WHOLE);
    expect(JSON.parse(await outcome)).toMatchObject({ details: { causes: [{ message: '3' }] } });
    client.close();
  });

  test.each(['v5.channel.k8s.io', 'v4.channel.k8s.io'])(
    'gets all output of a command over a WebSocket of %s while it sends pings, and then the exit code',
    async (protocol) => {
      const received = await overWebSocket(execOf(`${WRITES}; exit 3`), protocol);
      expect(hashOf(received.get(1)!)).toBe(WHOLE.hash);
      expect(JSON.parse(String(received.get(3)))).toMatchObject({ details: { causes: [{ message: '3' }] } });
    },
  );

  test('gets all that a port sends over a WebSocket while it sends pings', async () => {
    const path = `/portForward/default/web-node-a?port=${PORT}`;
    const received = await overWebSocket(path, 'v4.channel.k8s.io', 'GET /all HTTP/1.0\r\n\r\n');
    const answer = received.get(0)!;
    expect(hashOf(answer.subarray(answer.indexOf('\r\n\r\n') + 4))).toBe(WHOLE.hash);
  });

  test('gets all output of both streams through statelet exec, and the exit code', async () => {
    const script = `${WRITES} & ${WRITES} >&2; wait; exit 7`;
    const args = ['exec', '--root-dir', bed.rootDir, '-q', 'web', '-c', 'side', '--', 'sh', '-c', script];
    const child = begin(...args);
    const closed = once(child, 'close');
    expect(await Promise.all([readSlowly(child.stdout!, 3), readSlowly(child.stderr!, 3)])).toEqual([
      WHOLE,
      WHOLE,
    ]);
    expect((await closed)[0]).toBe(7);
  });

  // At the end of the container itself, containerd does not read what a slow client has left in its pipe.
  test('gets all output of a container through statelet attach', async () => {
    const child = begin('attach', '--root-dir', bed.rootDir, '-i', '-q', 'web', '-c', 'main');
    const closed = once(child, 'close');
    child.stdin!.write('go\n');
    const end = Buffer.from('end\n');
    let last = Buffer.alloc(0);
    const untilEnd = child.stdout!.pipe(
      new Transform({
        transform(chunk: Buffer, _encoding, done) {
          last = Buffer.concat([last, chunk]).subarray(-end.length);
          done(null, chunk);
          if (last.equals(end)) this.end();
        },
      }),
    );
    const all = Buffer.concat([OUTPUT, end]);
    expect(await readSlowly(untilEnd, 3)).toEqual({ bytes: all.length, hash: hashOf(all) });
    child.kill();
    await closed;
  });
});
