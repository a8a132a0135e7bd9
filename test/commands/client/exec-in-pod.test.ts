import type { EventEmitter } from 'node:events';
import { PassThrough, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, test } from '@jest/globals';
import { attachToPod, execInPod, type OwnStreams } from '../../../src/commands/client/exec-in-pod.ts';
import { podOnNode } from '../../support/owner-socket.ts';
import { distinctBytes } from '../../support/slow-reader.ts';
import {
  plainStreams,
  type StartedCommand,
  type StreamingPod,
  streamingPod,
} from '../../support/streaming-pod.ts';
import { waitFor } from '../../support/wait-for.ts';

let pod: StreamingPod | undefined;
afterEach(async () => {
  await pod?.close();
  pod = undefined;
});

async function serve(command: (command: StartedCommand) => void, more = {}): Promise<StreamingPod> {
  pod = await streamingPod(podOnNode('web', 'default', more), { command });
  return pod;
}

const ends =
  (code: number, output = '', errors = '') =>
  ({ stdout, stderr, exit }: StartedCommand) => {
    stdout.end(output);
    stderr.end(errors);
    exit.resolve(code);
  };

describe('exec', () => {
  test('has the output and the exit code of the command', async () => {
    const { rootDir, commands } = await serve(ends(7, 'out', 'err\n'));
    const { own, result } = plainStreams();
    expect(await execInPod('web', ['ls', '-l', 'a b&c=d'], { rootDir }, own)).toBe(7);
    expect(await result()).toEqual({
      output: 'out',
      errors: 'err\ncommand terminated with exit code 7\n',
    });
    expect(commands[0]?.request).toMatchObject({
      command: ['ls', '-l', 'a b&c=d'],
      stdin: false,
      stdout: true,
      stderr: true,
      tty: false,
    });
  });

  test('a success says nothing; nor does a failure with --quiet', async () => {
    const { rootDir } = await serve(ends(0));
    const first = plainStreams();
    expect(await execInPod('web', ['true'], { rootDir }, first.own)).toBe(0);
    expect(await first.result()).toEqual({ output: '', errors: '' });
    await pod?.close();
    const other = await serve(ends(1));
    const second = plainStreams();
    expect(await execInPod('web', ['false'], { rootDir: other.rootDir, quiet: true }, second.own)).toBe(1);
    expect(await second.result()).toEqual({ output: '', errors: '' });
  });

  test('megabytes pass in both directions, and the end of the input arrives', async () => {
    const { rootDir } = await serve(({ stdin, stdout, stderr, exit }) => {
      stderr.end();
      stdin.pipe(stdout);
      stdout.once('end', () => exit.resolve(0));
    });
    const { own, stdin, result } = plainStreams();
    const sent = 'x'.repeat(5_000_000);
    const done = execInPod('web', ['cat'], { rootDir, stdin: true }, own);
    stdin.end(sent);
    expect(await done).toBe(0);
    const { output } = await result();
    expect(output === sent).toBe(true);
  });

  test('ends when the command does, though its input goes on', async () => {
    const { rootDir } = await serve(ends(0, 'done'));
    const { own, stdin, result } = plainStreams();
    stdin.write('unread');
    expect(await execInPod('web', ['true'], { rootDir, stdin: true }, own)).toBe(0);
    expect((await result()).output).toBe('done');
    expect(own.stdin.destroyed).toBe(true);
  });

  test('a command that cannot be started has the words of the runtime', async () => {
    const { rootDir } = await serve(({ stdout, stderr, exit }) => {
      stdout.end();
      stderr.end();
      exit.reject(new Error('no such program'));
    });
    await expect(execInPod('web', ['nope'], { rootDir }, plainStreams().own)).rejects.toThrow(
      'no such program',
    );
  });

  test('a slow terminal gets everything before the command returns', async () => {
    const output = distinctBytes(2_000_000).toString('latin1');
    const { rootDir } = await serve(ends(3, output, output));
    const { own } = plainStreams();
    const shown = { stdout: '', stderr: '' };
    const slow = (stream: 'stdout' | 'stderr') =>
      new Writable({
        decodeStrings: true,
        write: (chunk: Buffer, _encoding, done) => {
          shown[stream] += chunk.toString('latin1');
          setTimeout(done, 2);
        },
      });
    const [stdout, stderr] = [slow('stdout'), slow('stderr')];
    const flags = { rootDir, quiet: true };
    expect(await execInPod('web', ['cat'], flags, { ...own, stdout, stderr } as unknown as OwnStreams)).toBe(
      3,
    );
    expect(shown.stdout === Buffer.from(output).toString('latin1')).toBe(true);
    expect(shown.stderr === shown.stdout).toBe(true);
  });

  test('a connection that breaks is an error', async () => {
    const { rootDir } = await serve(() => undefined);
    const { own } = plainStreams();
    const done = execInPod('web', ['sleep', '1000'], { rootDir }, own).catch((error: unknown) => error);
    await waitFor(() => pod?.commands.length === 1, { what: 'the command to start' });
    await pod?.close();
    expect(await done).toMatchObject({
      kind: 'Unavailable',
      message: 'the connection broke before the command had ended; it may still run',
    });
    pod = undefined;
  });

  test('without a command, or in a pod that is not there, nothing is run', async () => {
    const { rootDir, commands } = await serve(() => undefined);
    const { own } = plainStreams();
    await expect(execInPod('web', [], { rootDir }, own)).rejects.toMatchObject({ kind: 'InvalidArgument' });
    await expect(execInPod('nope', ['ls'], { rootDir }, own)).rejects.toMatchObject({ kind: 'NotFound' });
    expect(commands).toHaveLength(0);
  });
});

/** As much of a terminal as the command needs. */
function fakeTerminal() {
  const raw: boolean[] = [];
  const input = Object.assign(new PassThrough(), {
    isTTY: true,
    isRaw: false,
    setRawMode: (mode: boolean) => raw.push(mode),
  });
  const output = Object.assign(new PassThrough(), { isTTY: true, columns: 80, rows: 24 });
  const stderr = new PassThrough();
  const shown = text(output);
  const own = { stdin: input, stdout: output, stderr } as unknown as OwnStreams;
  return { own, input, output, raw, shown, window: output as EventEmitter };
}

describe('with a terminal', () => {
  test('keys are passed on unchanged, and the size and its changes too; the terminal is restored at the end', async () => {
    const { rootDir, commands } = await serve(() => undefined);
    const { own, input, output, raw, shown, window } = fakeTerminal();
    const done = execInPod('web', ['sh'], { rootDir, stdin: true, tty: true }, own);
    await waitFor(() => commands[0]?.sizes.length === 1, { what: 'the first size' });
    expect(raw).toEqual([true]);
    Object.assign(output, { columns: 100, rows: 30 });
    window.emit('resize');
    await waitFor(() => commands[0]?.sizes.length === 2, { what: 'the second size' });
    input.write('\u0003');
    const [command] = commands;
    await waitFor(() => String(command?.stdin.read()) === '\u0003', { what: 'Ctrl-C' });
    if (command) ends(0, 'bye\r\n')(command);
    expect(await done).toBe(0);
    output.end();
    expect(await shown).toBe('bye\r\n');
    expect(command?.request).toMatchObject({ tty: true, stderr: false, stdin: true });
    expect(command?.sizes).toEqual([
      { width: 80, height: 24 },
      { width: 100, height: 30 },
    ]);
    expect(window.listenerCount('resize')).toBe(0);
  });

  test('that is wanted and missing: the command runs without one, with a message', async () => {
    const { rootDir, commands } = await serve(ends(0));
    const { own, stdin, result } = plainStreams();
    stdin.end();
    await execInPod('web', ['sh'], { rootDir, stdin: true, tty: true }, own);
    expect(commands[0]?.request).toMatchObject({ tty: false, stderr: true });
    expect((await result()).errors).toBe(
      'Unable to use a TTY - input is not a terminal or the right kind of file\n',
    );
  });
});

describe('attach', () => {
  test('shows the output of the container, and passes input on to it', async () => {
    const { rootDir, commands } = await serve(({ stdin, stdout, stderr, exit }) => {
      stderr.end();
      stdin.pipe(stdout);
      stdout.once('end', () => exit.resolve(0));
    });
    const { own, stdin, result } = plainStreams();
    stdin.end('hello');
    expect(await attachToPod('web', { rootDir, stdin: true }, own)).toBe(0);
    expect(await result()).toEqual({ output: 'hello', errors: '' });
    expect(commands[0]?.request).toMatchObject({ stdin: true, stdout: true, stderr: true, tty: false });
  });

  test('a container without a terminal cannot have one now', async () => {
    const { rootDir } = await serve(ends(0));
    const { own, result } = plainStreams();
    await attachToPod('web', { rootDir, tty: true }, own);
    expect((await result()).errors).toBe(
      'error: Unable to use a TTY - container main did not allocate one\n',
    );
  });

  test('a container with a terminal has one output', async () => {
    const { rootDir, commands } = await serve(ends(0), { containers: [{ name: 'main', tty: true }] });
    await attachToPod('web', { rootDir }, plainStreams().own);
    expect(commands[0]?.request).toMatchObject({ stderr: false });
  });
});
