import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { BoundedOutput, runCommand, takeServiceManager } from '../../src/system/run-command.ts';
import { waitFor } from '../support/wait-for.ts';
import { installedProgram } from '../support/installed-program.ts';

/** For a busy machine to start a shell. */
const LONG_ENOUGH_MS = 5_000;

const shell = (script: string, timeoutMs?: number) =>
  runCommand('sh', ['-c', script], timeoutMs === undefined ? {} : { timeoutMs });

describe('a command', () => {
  test('that succeeds resolves', async () => {
    await expect(shell('echo fine >&2')).resolves.toBeUndefined();
  });

  test('that fails rejects with its output on stderr', async () => {
    await expect(shell('echo " no such device" >&2; exit 32')).rejects.toMatchObject({
      message: 'no such device',
      isTimeout: false,
    });
    await expect(shell('exit 32')).rejects.toThrow('sh ended with 32');
  });

  test('with too much output goes on to its end', async () => {
    const failure = shell('head -c 20000000 /dev/zero | tr "\\0" x >&2; exit 1');
    await expect(failure).rejects.toMatchObject({ message: 'x'.repeat(10 * 1024), isTimeout: false });
  });

  test('that takes too long is killed', async () => {
    await expect(shell('exec sleep 1000', 10)).rejects.toMatchObject({ isTimeout: true });
  });

  test('that takes too long is not waited for, also if a process that it has started goes on', async () => {
    const path = join(dir, 'pid');
    const failure = shell(`sleep 1000 & echo $! > ${path}; wait`, LONG_ENOUGH_MS).catch(
      (error: unknown) => error,
    );
    const pid = await waitFor(() => existsSync(path) && Number(readFileSync(path, 'utf8')), {
      what: 'sleep',
    });
    try {
      expect(await failure).toMatchObject({ isTimeout: true });
      expect(() => process.kill(pid, 0)).not.toThrow();
    } finally {
      process.kill(pid);
    }
  });

  test('that does not exist is an error of the system', async () => {
    await expect(runCommand('no-such-command', [])).rejects.toMatchObject({ code: 'ENOENT' });
  });
});

test('a command that cannot be started leaves no timer behind', async () => {
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  const before = timers();
  await expect(runCommand('no-such-program', [], { timeoutMs: 30_000 })).rejects.toThrow('ENOENT');
  expect(timers()).toBe(before);
});

/** Node has no datagram sockets. Says when it listens, then what it hears. */
const LISTENER = `use IO::Socket::UNIX; $| = 1;
my $socket = IO::Socket::UNIX->new(Type => SOCK_DGRAM, Local => $ARGV[0]) or die $!;
print "listening\\n";
while (defined $socket->recv(my $text, 4096)) { print "$text\\n"; }`;

let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'statelet-notify-'));
});

afterEach(() => rmSync(dir, { recursive: true }));

(installedProgram('systemd-notify') ? test : test.skip)(
  'the manager hears that the service is up',
  async () => {
    const path = join(dir, 'notify');
    const listener = spawn('perl', ['-e', LISTENER, path], { stdio: ['ignore', 'pipe', 'inherit'] });
    const lines = createInterface(listener.stdout);
    try {
      await once(lines, 'line');
      const env = { ...process.env, NOTIFY_SOCKET: path };
      const heard = once(lines, 'line');
      const manager = takeServiceManager(env);
      const done = manager?.ready();
      expect(await heard).toEqual(['READY=1']);
      expect('NOTIFY_SOCKET' in env).toBe(false);
      // systemd-notify waits until systemd has worked off what it has said.
      listener.kill();
      await done?.catch(() => undefined);
    } finally {
      listener.kill();
    }
  },
);

test('without a service manager there is no notification, and a missing systemd-notify is named', async () => {
  expect(takeServiceManager({})).toBeUndefined();
  const manager = takeServiceManager({ PATH: dir, NOTIFY_SOCKET: join(dir, 'none') });
  await expect(manager?.ready()).rejects.toThrow('the program systemd-notify is not installed');
});

const MODULE = fileURLToPath(new URL('../../src/system/run-command.ts', import.meta.url));

const children: ChildProcess[] = [];

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

function start(code: string, ...flags: string[]) {
  const script = `import { endProcess, endAfterOutput } from ${JSON.stringify(MODULE)};\n${code}`;
  const args = ['--disable-warning=ExperimentalWarning', ...flags, '--input-type=module', '--eval', script];
  const child = spawn(process.execPath, args);
  children.push(child);
  return child;
}

/** Many functions are compiled while much is allocated: a thread of V8 that compiles waits for a collection of garbage. */
const BUSY = `
  const functions = Array.from({ length: 400 }, (_, n) =>
    new Function('list', 'by', 'let sum = ' + n + '; for (const { x } of list) sum += x * by; return { sum, by, n: "n" + sum };'));
  const endAt = Date.now() + 100 + Math.random() * 300;
  let kept = [];
  const step = () => {
    for (let round = 0; round < 50; round++) {
      const list = Array.from({ length: 50 }, (_, x) => ({ x, y: { z: [x] } }));
      for (let by = 0; by < 20; by++) kept.push(functions[Math.floor(Math.random() * 400)](list, by));
      if (kept.length > 20000) kept = [];
    }
    if (Date.now() > endAt) endProcess(3);
    setImmediate(step);
  };
  step();`;

describe('a process that ends itself', () => {
  test('ends with its code while V8 compiles in the background', async () => {
    for (let round = 0; round < 5; round++) {
      const busy = Array.from({ length: 6 }, () => start(BUSY, '--optimize-for-size', '--v8-pool-size=1'));
      const ends = await Promise.all(busy.map((child) => once(child, 'exit')));
      expect(ends).toEqual(busy.map(() => [3, null]));
    }
  });

  test('loses no output where it waits for it', async () => {
    const child = start(`process.stdout.write('x'.repeat(1_000_000)); await endAfterOutput(4);`);
    const ended = once(child, 'exit');
    let length = 0;
    for await (const chunk of child.stdout) length += (chunk as Buffer).length;
    expect(length).toBe(1_000_000);
    expect(await ended).toEqual([4, null]);
  });

  test('does not wait for a reader that is gone', async () => {
    const child = start(
      `process.stdout.on('error', () => {}); process.stdout.write('x'.repeat(1_000_000)); await endAfterOutput(5);`,
    );
    child.stdout.destroy();
    expect(await once(child, 'exit')).toEqual([5, null]);
  });
});

const CHUNK_BYTES = 64 * 1024;

describe('a bounded output', () => {
  test('keeps what was added until it is full', () => {
    const output = new BoundedOutput(5);
    expect([output.toString(), output.isFull]).toEqual(['', false]);
    for (const text of ['a', '', 'bcd']) output.add(Buffer.from(text));
    expect([output.toString(), output.isFull]).toEqual(['abcd', false]);
    for (const text of ['efg', 'h']) output.add(Buffer.from(text));
    expect([output.toString(), output.isFull]).toEqual(['abcde', true]);
  });

  test.each([1, 7, CHUNK_BYTES])(
    'in chunks of %i bytes holds memory of its own, and no more than its limit',
    (size) => {
      const output = new BoundedOutput(10_000);
      const chunk = Buffer.alloc(size, 'x');
      for (let bytes = 0; bytes < 2 * CHUNK_BYTES; bytes += size) output.add(chunk);
      chunk.fill('y');
      expect(output.toString()).toBe('x'.repeat(10_000));
      expect(output.bytes().buffer.byteLength).toBe(10_000);
    },
  );
});
