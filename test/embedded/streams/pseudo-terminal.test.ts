import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { processTable } from '../../../src/embedded/containers/proc.ts';
import { launchInTerminal } from '../../../src/embedded/streams/pseudo-terminal.ts';
import { logLines } from '../../support/process-runtime.ts';
import { containerConfig, shell, whenExited } from '../../support/runtime-configs.ts';
import { collect, streamBed, type StreamBed, textOf } from '../../support/stream-bed.ts';
import { waitFor } from '../../support/wait-for.ts';

let bed: StreamBed;
beforeAll(() => {
  bed = streamBed();
});
afterAll(() => bed.cleanup());

/** Names that shells lose or change, and values with everything that a shell would expand. */
const ENVS = [
  { key: 'dashed-name', value: `'"$HOME \`id\` \\n` },
  { key: 'dotted.name', value: 'dotted' },
  { key: 'PLAIN', value: `two words; and "quotes" 'of' both kinds` },
  { key: 'SHELL', value: '/bin/of-the-container' },
  { key: 'IFS', value: ':' },
  { key: 'SECRET', value: 'only-for-the-process' },
  { key: 'secret-name', value: 'also-for-the-process' },
];
const TTY = { tty: true, stderr: false };

describe('a command in a terminal', () => {
  let id: string;
  beforeAll(async () => {
    ({ id } = await bed.start(shell('sleep 1000', { envs: ENVS })));
  });

  const outputOf = async (command: readonly string[] | string, more = {}) => {
    const streams = await bed.exec(id, command, more);
    const output = textOf(streams.stdout);
    return { output: (await output).replaceAll('\r\n', '\n'), exitCode: await streams.exit };
  };

  test('has the environment of one without a terminal, and the kind of the terminal', async () => {
    const variables = async (more: object) =>
      (await outputOf(['env'], more)).output
        .split('\n')
        .filter((line) => line !== '')
        .sort();
    expect(await variables(TTY)).toEqual([...(await variables({})), 'TERM=xterm'].sort());
  });

  test('gets its words as they are', async () => {
    const words = ["it's", '$HOME', '`id`', 'a  b', '', '*', '\\', '"', ';', '-n', 'ü'];
    const { output } = await outputOf(['printf', '<%s>', ...words], TTY);
    expect(Buffer.from(output, 'latin1').toString()).toBe(words.map((word) => `<${word}>`).join(''));
  });

  test('shows no value of its environment in the command line of a process', async () => {
    const streams = await bed.exec(id, 'echo ready; sleep 1000', TTY);
    const shown = collect(streams.stdout);
    await waitFor(() => shown.text.includes('ready'), { what: 'the command' });
    const lines = processTable().map(({ pid }) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
      } catch {
        return '';
      }
    });
    expect(lines.some((line) => line.includes('echo ready; sleep 1000'))).toBe(true);
    expect(lines.filter((line) => line.includes('for-the-process'))).toEqual([]);
    streams.abandon();
  });

  test.each([
    ['exit 7', 7],
    ['kill -TERM $$', 143],
    ['kill -9 $$', 137],
  ])('that ends by `%s` has the exit code %i', async (script, exitCode) => {
    expect((await outputOf(script, TTY)).exitCode).toBe(exitCode);
  });

  test('leads the session of its terminal, and gets a new size', async () => {
    const streams = await bed.exec(
      id,
      `trap 'stty size; exit' WINCH; ps -o sid= -o tpgid= -p $$; echo $$ ready; while :; do sleep 0.05; done`,
      { ...TTY, stdin: true },
    );
    const shown = collect(streams.stdout);
    await waitFor(() => shown.text.includes('ready'), { what: 'the command' });
    const [session, foreground, pid] = shown.text.trim().split(/\s+/);
    expect(session).toBe(pid);
    expect(Number(foreground)).toBeGreaterThan(0);
    for (let width = 20; width <= 60; width += 1) streams.resize({ width, height: 10 });
    expect(await streams.exit).toBe(0);
    expect(shown.text).toMatch(/\b10 \d+\r\n$/);
  });

  test('gets the size of the client, which may come just before its start or just after', async () => {
    const streams = await bed.exec(
      id,
      ['sh', '-c', 'until [ "$(stty size)" != "0 0" ]; do sleep 0.05; done; stty size'],
      TTY,
    );
    streams.resize({ width: 101, height: 33 });
    expect(await textOf(streams.stdout)).toBe('33 101\r\n');
  });

  test('has from its start the last size that was known by then', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'statelet-terminal-'));
    const shown = join(folder, 'shown');
    const [stdin, stdout] = [openSync('/dev/null', 'r'), openSync(shown, 'w')];
    try {
      const [first, last] = [
        { width: 10, height: 5 },
        { width: 101, height: 33 },
      ];
      const known = [first, last];
      const spec = { command: ['stty', 'size'], env: { PATH: '/usr/bin:/bin' }, cwd: '/' };
      const size = () => known.shift() ?? last;
      const { holder } = await launchInTerminal(spec, { stdin, stdout, size });
      if (holder.exitCode === null) await once(holder, 'exit');
      expect(readFileSync(shown, 'utf8')).toBe('33 101\r\n');
    } finally {
      for (const fd of [stdin, stdout]) closeSync(fd);
      rmSync(folder, { recursive: true });
    }
  });

  test('is interrupted by ctrl-c, and gets the end of the input by ctrl-d or when the client ends it', async () => {
    // Not a shell: a signal that comes while it starts a command interrupts neither.
    const interrupted = await bed.exec(id, ['cat'], { ...TTY, stdin: true });
    const shown = collect(interrupted.stdout);
    interrupted.stdin?.write('ready\n');
    await waitFor(() => shown.text.split('ready').length === 3, { what: 'the echo, and the answer of cat' });
    interrupted.stdin?.write('\u0003');
    expect(await interrupted.exit).toBe(130);
    for (const end of ['text\n\u0004', 'text\n']) {
      const streams = await bed.exec(id, 'cat > /dev/null; echo end', { ...TTY, stdin: true });
      const output = textOf(streams.stdout);
      if (end.endsWith('\n')) streams.stdin?.end(end);
      else streams.stdin?.write(end);
      expect(await output).toMatch(/end\r\n$/);
    }
  });

  test('waits for input that no client gives', async () => {
    const streams = await bed.exec(id, 'cat; echo end', TTY);
    const shown = collect(streams.stdout);
    const other = await bed.exec(id, 'echo other');
    expect(await textOf(other.stdout)).toBe('other\n');
    expect(shown.text).toBe('');
    streams.abandon();
  });

  test('that does not exist is an error, as without a terminal', async () => {
    const streams = await bed.exec(id, ['no-such-program'], TTY);
    expect(await textOf(streams.stdout)).toBe('');
    await expect(streams.exit).rejects.toThrow(
      'command "no-such-program" (or the interpreter that it names) was not found',
    );
  });

  test('may have an equals sign in its name', async () => {
    await outputOf('echo "echo run" > a=b; chmod +x a=b');
    expect(await outputOf(['./a=b'], TTY)).toEqual({ output: 'run\n', exitCode: 0 });
  });
});

describe('a container with a terminal', () => {
  test('has one stream in its log, and no input from a client that has none', async () => {
    const { id, logFile } = await bed.start(shell('echo out; echo err >&2; tty; exit 5', { tty: true }));
    expect(await whenExited(bed.runtime, id)).toMatchObject({ exitCode: 5, reason: 'Error' });
    const lines = logLines(logFile).map((line) => line.replace(/\r$/, ''));
    expect(lines.slice(0, 2)).toEqual(['stdout F out', 'stdout F err']);
    expect(lines[2]).toMatch(/^stdout F \/dev\/pts\/\d+$/);
  });

  test('gets SIGTERM when it is stopped', async () => {
    const { id, logFile } = await bed.start(
      shell('trap "echo asked; exit 9" TERM; echo ready; while :; do sleep 0.05; done', { tty: true }),
    );
    await waitFor(() => logLines(logFile).length > 0, { what: 'the container to be ready' });
    await bed.runtime.stopContainer(id, 1000);
    expect((await bed.runtime.containerStatus(id)).exitCode).toBe(9);
    expect(logLines(logFile).join()).toContain('asked');
  });

  test('is killed with what it has started', async () => {
    const { id, logFile } = await bed.start(
      containerConfig(['sh', '-c', 'trap "" HUP TERM; sleep 1000 & echo $!; wait'], { tty: true }),
    );
    const child = await waitFor(() => Number(/F (\d+)/.exec(logLines(logFile)[0] ?? '')?.[1]) || undefined, {
      what: 'the pid of the child',
    });
    await bed.runtime.stopContainer(id, 0);
    expect((await bed.runtime.containerStatus(id)).exitCode).toBe(137);
    expect(processTable().map(({ pid }) => pid)).not.toContain(child);
  });

  test('has a start error if its program is missing', async () => {
    await expect(bed.start(containerConfig(['/no/such/program'], { tty: true }))).rejects.toThrow(
      '/no/such/program',
    );
  });
});
