import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import type { StreamsRequest } from '../../../src/embedded/monitor/protocol.ts';
import { StreamDesk } from '../../../src/embedded/streams/stream-desk.ts';
import { openBelow } from '../../support/held-open.ts';
import { type EngineBed, engineBed } from '../../support/process-engine.ts';
import { kill9, logLines, monitorPid } from '../../support/process-runtime.ts';
import { containerConfig, shell, whenExited } from '../../support/runtime-configs.ts';
import { collect, streamBed, type StreamBed, textOf } from '../../support/stream-bed.ts';
import { waitFor } from '../../support/wait-for.ts';

describe('stream desk', () => {
  const NEVER = new AbortController().signal;
  const LS: StreamsRequest = { command: ['ls'], stdin: true, stdout: true, stderr: true, tty: false };
  const ATTACH: StreamsRequest = { stdin: true, stdout: true, stderr: true, tty: false };

  let bed: EngineBed;
  let desk: StreamDesk;
  let id: string;
  const openDesk = () => new StreamDesk(bed.layout, bed.engine);
  const folders = () => readdirSync(bed.layout.streamsDir);

  beforeEach(async () => {
    bed = engineBed();
    desk = openDesk();
    ({ id } = await bed.create(shell('sleep 1000', { stdin: true })));
    await bed.engine.startContainer(id);
  });
  afterEach(async () => {
    jest.useRealTimers();
    await bed.cleanup();
  });

  describe('streams that are opened', () => {
    test('have the pipes that were asked for', async () => {
      const both = await desk.open(id, LS);
      expect(readdirSync(join(bed.layout.streamsDir, both.id)).sort()).toEqual(['stderr', 'stdin', 'stdout']);
      expect(both.stdin).toBe(bed.layout.streamPipe(both.id, 'stdin'));
      const output = await desk.open(id, { ...LS, stdin: false, stderr: false });
      expect(readdirSync(join(bed.layout.streamsDir, output.id))).toEqual(['stdout']);
      expect(output.stdin).toBeUndefined();
    });

    test('of an attached client lead to the input of the container', async () => {
      const { id: streams, stdin } = await desk.open(id, ATTACH);
      expect(stdin).toBe(bed.layout.pipe(id, 'stdin'));
      expect(readdirSync(join(bed.layout.streamsDir, streams)).sort()).toEqual(['stderr', 'stdout']);
    });

    test('are closed and removed when no client runs them in time', async () => {
      jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate'] });
      const opened = [await desk.open(id, LS), await desk.open(id, ATTACH)];
      expect(folders()).toHaveLength(2);
      expect(openBelow(bed.layout.streamsDir)).toBeGreaterThan(0);
      jest.advanceTimersByTime(30_000);
      jest.useRealTimers();
      expect(folders()).toEqual([]);
      for (const streams of opened) {
        await expect(desk.run(streams.id, NEVER)).rejects.toMatchObject({ kind: 'NotFound' });
      }
      expect(openBelow(bed.layout.streamsDir)).toBe(0);
    });

    test('run once, and leave no file', async () => {
      const { id: streams } = await desk.open(id, { ...LS, stdin: false });
      expect(await desk.run(streams, NEVER)).toBe(0);
      expect(folders()).toEqual([]);
      await expect(desk.run(streams, NEVER)).rejects.toMatchObject({ kind: 'NotFound' });
    });

    test('of an earlier monitor are removed', () => {
      mkdirSync(join(bed.layout.streamsDir, 'old'));
      openDesk();
      expect(folders()).toEqual([]);
    });
  });

  test('a container that is unknown or does not run has no streams', async () => {
    await expect(desk.open('unknown', LS)).rejects.toMatchObject({ kind: 'NotFound' });
    await bed.engine.stopContainer(id, 0);
    for (const request of [LS, ATTACH]) {
      await expect(desk.open(id, request)).rejects.toMatchObject({ kind: 'FailedPrecondition' });
    }
    expect(folders()).toEqual([]);
  });

  test('a container that has ended meanwhile runs no command', async () => {
    const { id: streams } = await desk.open(id, LS);
    await bed.engine.stopContainer(id, 0);
    await expect(desk.run(streams, NEVER)).rejects.toMatchObject({ kind: 'FailedPrecondition' });
  });

  test('a client that gave up before it runs gets Canceled, and the command does not stay', async () => {
    const { id: streams } = await desk.open(id, { ...LS, command: ['sh', '-c', 'sleep 1; touch done'] });
    await expect(desk.run(streams, AbortSignal.abort())).rejects.toMatchObject({ kind: 'Canceled' });
    expect(existsSync(join(bed.layout.rootDir, 'done'))).toBe(false);
  });

  test('the size and the end of input of unknown streams are ignored', async () => {
    await desk.resize('unknown', { width: 1, height: 1 });
    desk.endInput('unknown');
    expect(folders()).toEqual([]);
  });
});

describe('attached client', () => {
  let bed: StreamBed;
  beforeAll(() => {
    bed = streamBed();
  });
  afterAll(() => bed.cleanup());

  const whenLogged = (file: string, line: string) =>
    waitFor(() => logLines(file).includes(`stdout F ${line}`), { what: `"${line}" in the log` });

  describe('the input of a container', () => {
    const COUNT = 'while read line; do echo "got $line"; done; echo end';

    test('with stdinOnce ends when the first client ends its input; the client still gets the output', async () => {
      const { id, logFile } = await bed.start(shell(COUNT, { stdin: true, stdinOnce: true }));
      const client = await bed.attach(id, { stdin: true });
      const output = textOf(client.stdout);
      client.stdin?.end('1\n2\n');
      expect(await output).toBe('got 1\ngot 2\nend\n');
      expect(await client.exit).toBe(0);
      expect(await whenExited(bed.runtime, id)).toMatchObject({ exitCode: 0 });
      expect(logLines(logFile)).toEqual(['got 1', 'got 2', 'end'].map((line) => `stdout F ${line}`));
    });

    test('with stdinOnce ends when the first client disappears', async () => {
      const { id, logFile } = await bed.start(shell(COUNT, { stdin: true, stdinOnce: true }));
      const client = await bed.attach(id, { stdin: true });
      client.stdin?.write('1\n');
      await whenLogged(logFile, 'got 1');
      client.abandon();
      expect(await whenExited(bed.runtime, id)).toMatchObject({ exitCode: 0 });
    });

    test('without stdinOnce goes on after a client has ended its input', async () => {
      const { id, logFile } = await bed.start(shell(COUNT, { stdin: true }));
      const first = await bed.attach(id, { stdin: true });
      first.stdin?.end('1\n');
      await whenLogged(logFile, 'got 1');
      const second = await bed.attach(id, { stdin: true });
      second.stdin?.write('2\n');
      await whenLogged(logFile, 'got 2');
      expect((await bed.runtime.containerStatus(id)).state).toBe('CONTAINER_RUNNING');
    });

    test('is dropped for a container without `stdin`, and after stdinOnce has ended it', async () => {
      const plain = await bed.start(shell('cat; sleep 1000'));
      const once = await bed.start(shell(`${COUNT}; sleep 1000`, { stdin: true, stdinOnce: true }));
      (await bed.attach(once.id, { stdin: true })).stdin?.end();
      await whenLogged(once.logFile, 'end');
      for (const { id } of [plain, once]) {
        const client = await bed.attach(id, { stdin: true });
        await new Promise<void>((done) => client.stdin?.write('text\n', () => done()));
        client.abandon();
      }
      expect(readFileSync(once.logFile, 'utf8')).not.toContain('text');
    });

    test('makes a client wait while the container does not read, and ends with the container', async () => {
      const { id } = await bed.start(shell('sleep 1000', { stdin: true }));
      const client = await bed.attach(id, { stdin: true });
      let written = 0;
      while (client.stdin?.write(Buffer.alloc(65_536))) written += 65_536;
      expect(written).toBeLessThan(1_000_000);
      await bed.runtime.stopContainer(id, 0);
      expect(await client.exit).toBe(0);
      expect(client.stdin?.destroyed).toBe(true);
    });
  });

  describe('a client of a main process', () => {
    test('without input gets output and errors, and the end', async () => {
      const { id } = await bed.start(
        shell('while [ ! -e go ]; do sleep 0.05; done; echo out; echo err >&2; exit 3'),
      );
      const client = await bed.attach(id);
      const all = Promise.all([textOf(client.stdout), textOf(client.stderr), client.exit]);
      await (
        await bed.exec(id, 'touch go')
      ).exit;
      expect(await all).toEqual(['out\n', 'err\n', 0]);
    });

    test('that does not read is cut off, and the container goes on', async () => {
      const part = 'head -c 500000 /dev/zero | tr "\\0" "x" | fold -w 1000; echo; echo "part $number"';
      const { id, logFile } = await bed.start(
        shell(`while read number; do ${part}; done; sleep 1000`, { stdin: true }),
      );
      const idle = await bed.attach(id);
      const reader = await bed.attach(id, { stdin: true });
      const seen = collect(reader.stdout);
      // The client that reads asks for each part: it is never behind, also on a busy machine.
      for (let number = 1; number <= 30; number += 1) {
        reader.stdin?.write(`${number}\n`);
        await waitFor(() => seen.text.endsWith(`\npart ${number}\n`), { what: `part ${number}` });
      }
      await whenLogged(logFile, 'part 30');
      idle.stdout?.resume();
      await expect(idle.exit).rejects.toMatchObject({ kind: 'ResourceExhausted' });
      reader.abandon();
    });

    test('can come after the monitor was killed, also to a terminal', async () => {
      const loop = 'while read line; do echo "got $line"; done';
      const plain = await bed.start(shell(loop, { stdin: true }));
      const terminal = await bed.start(containerConfig(['sh'], { stdin: true, tty: true }));
      const early = await bed.attach(plain.id);
      await kill9(await monitorPid(bed.rootDir));
      await expect(early.exit).rejects.toMatchObject({ kind: 'Unavailable' });
      await bed.runtime.listContainers();
      const late = await bed.attach(plain.id, { stdin: true });
      const lines = collect(late.stdout);
      late.stdin?.write('1\n');
      await waitFor(() => lines.text === 'got 1\n', { what: 'the output of the plain container' });
      const shown = await bed.attach(terminal.id, { stdin: true, tty: true });
      const screen = collect(shown.stdout);
      shown.resize({ width: 77, height: 11 });
      const isSized = () => {
        shown.stdin?.write('stty size\n');
        return screen.text.includes('11 77\r\n');
      };
      await waitFor(isSized, { what: 'the size of the terminal', pauseMs: 100 });
      shown.stdin?.write('exit\n');
      expect(await shown.exit).toBe(0);
    });

    test('does not keep the pipes of a container that is removed', async () => {
      const before = await bed.monitorDescriptors();
      const { id, sandboxId } = await bed.start(shell('sleep 1000', { stdin: true, stdinOnce: true }));
      const client = await bed.attach(id, { stdin: true });
      await bed.runtime.removePodSandbox(sandboxId);
      expect(await client.exit).toBe(0);
      await waitFor(async () => (await bed.monitorDescriptors()) <= before, {
        what: `${before} descriptors`,
      });
      expect(existsSync(`${bed.rootDir}/runtime/containers/${id}`)).toBe(false);
    });
  });
});
