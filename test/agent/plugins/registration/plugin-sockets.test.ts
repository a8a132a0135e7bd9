import { symlinkSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rename, rm, stat, symlink, unlink, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { PluginSockets, readSockets } from '../../../../src/agent/plugins/registration/plugin-sockets.ts';
import { VirtualClock } from '../../../../src/simulation/node/virtual-clock.ts';
import { PatientCalls } from '../../../../src/system/files/patient-calls.ts';
import { systemClock } from '../../../../src/system/timer.ts';
import type { Clock } from '../../../../src/types/clock.ts';
import { isWatched } from '../../../support/held-open.ts';
import { type LogLine, recordingLogger } from '../../../support/recording-logger.ts';
import { waitFor } from '../../../support/wait-for.ts';
import { testContext } from '../../../support/test-context.ts';

let root: string;
let folder: string;
let sockets: PluginSockets | undefined;
let servers: Server[];
let told: string[];
let lines: readonly LogLine[];

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'plug-'));
  folder = join(root, 'registry');
  servers = [];
  told = [];
});

afterEach(async () => {
  await sockets?.stop();
  sockets = undefined;
  await Promise.all(servers.map((server) => new Promise((done) => server.close(done))));
  await rm(root, { recursive: true, force: true });
});

/** The folder is read after events alone: a look at an interval never comes. */
const onlyEvents: Clock = {
  ...systemClock,
  setTimeout: (callback, delayMs) => (delayMs < 1000 ? systemClock.setTimeout(callback, delayMs) : 0),
};

function watch(clock: Clock = onlyEvents): void {
  const { logger, lines: kept } = recordingLogger();
  lines = kept;
  const tell = (what: string) => (path: string) => void told.push(`${what}${relative(folder, path)}`);
  const listener = { onFound: tell('+'), onGone: tell('-') };
  sockets = new PluginSockets(testContext({ clock, logger }), folder, listener);
  sockets.start();
}

async function listen(path: string): Promise<Server> {
  const server = createServer();
  servers.push(server);
  await new Promise<void>((done) => server.listen(path, done));
  return server;
}
const close = (server: Server) => new Promise((done) => server.close(done));
const until = (...all: string[]) =>
  waitFor(() => told.length >= all.length, { what: all.join() }).then(() => expect(told).toEqual(all));
/** A socket that comes after all before it: what else is there has been seen by then. */
const untilWitness = async () => {
  await listen(join(folder, 'witness'));
  await waitFor(() => told.includes('+witness'), { what: 'the witness' });
  told = told.filter((what) => what !== '+witness');
};

describe('the folder', () => {
  test('is made if it is missing, for its owner and group alone', async () => {
    folder = join(root, 'a', 'registry');
    watch();
    await listenWhenThere('late');
    await until('+late');
    // The mask of the process may take away more.
    expect((await stat(folder)).mode & 0o027).toBe(0);
  });

  test('that is removed has no plugins, and is watched again when it is made again', async () => {
    watch();
    await listenWhenThere('a');
    await until('+a');
    await rm(folder, { recursive: true });
    await until('+a', '-a');
    await mkdir(folder);
    await listen(join(folder, 'b'));
    await until('+a', '-a', '+b');
    await listen(join(folder, 'c'));
    await until('+a', '-a', '+b', '+c');
  });

  test('that is replaced by another one is read and watched', async () => {
    await mkdir(folder);
    watch();
    await listen(join(folder, 'a'));
    await until('+a');
    const other = join(root, 'other');
    await mkdir(other);
    await listen(join(other, 'b'));
    await rename(folder, join(root, 'former'));
    await rename(other, folder);
    await waitFor(() => told.includes('+b'), { what: 'the socket of the other folder' });
    await listen(join(folder, 'c'));
    await until('+a', '-a', '+b', '+c');
  });

  test('is made again at the next look, and not at once', async () => {
    const clock = new VirtualClock();
    watch(clock);
    await waitFor(() => clock.armed === 1, { what: 'the first reading' });
    await rm(folder, { recursive: true });
    await waitFor(() => (clock.nextInMs ?? Infinity) < 1000, { what: 'the event of the removal' });
    await clock.step();
    await waitFor(() => clock.armed === 1, { what: 'the reading after the removal' });
    await expect(stat(folder)).rejects.toMatchObject({ code: 'ENOENT' });
    await waitFor(
      () =>
        stat(folder).then(
          () => true,
          () => clock.step().then(() => false),
        ),
      { what: 'the folder' },
    );
  });

  test('that cannot be made is a line once, and is waited for', async () => {
    await writeFile(folder, '');
    const clock = new VirtualClock();
    watch(clock);
    for (let look = 0; look < 3; look += 1) {
      await waitFor(() => clock.armed === 1, { what: 'a reading' });
      await clock.step();
    }
    await waitFor(() => clock.armed === 1, { what: 'the last reading' });
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatchObject({
      level: 'warn',
      message: expect.stringContaining('cannot be made: EEXIST'),
    });
    await rm(folder);
    await mkdir(folder);
    await listen(join(folder, 'a'));
    await waitFor(() => (told.length > 0 ? true : clock.step().then(() => false)), { what: 'the socket' });
    expect(told).toEqual(['+a']);
  });
});

async function listenWhenThere(name: string): Promise<Server> {
  await waitFor(
    () =>
      stat(folder).then(
        () => true,
        () => false,
      ),
    { what: folder },
  );
  return listen(join(folder, name));
}

describe('a socket', () => {
  beforeEach(() => mkdir(folder));

  test('that is there at the start is found', async () => {
    await listen(join(folder, 'b'));
    await listen(join(folder, 'a'));
    watch();
    await until('+a', '+b');
  });

  test('that appears is found, and is gone when it is removed', async () => {
    watch();
    const server = await listen(join(folder, 'a'));
    await until('+a');
    await close(server);
    await until('+a', '-a');
  });

  test('that was removed and made again under its path is another one', async () => {
    const server = await listen(join(folder, 'a'));
    watch();
    await until('+a');
    await close(server);
    await listen(join(folder, 'a'));
    await until('+a', '-a', '+a');
  });

  test('that another one is moved over is another one', async () => {
    await listen(join(folder, 'a'));
    await listen(join(folder, '.a.next'));
    watch();
    await until('+a');
    await rename(join(folder, '.a.next'), join(folder, 'a'));
    await until('+a', '-a', '+a');
  });

  test('with other rights stays the same', async () => {
    await listen(join(folder, 'a'));
    watch();
    await until('+a');
    await chmod(join(folder, 'a'), 0o600);
    await untilWitness();
    expect(told).toEqual(['+a']);
  });

  test('in a sub folder is found, also if the folder comes later, or is moved in', async () => {
    await mkdir(join(folder, 'here'));
    await listen(join(folder, 'here', 'a'));
    watch();
    await until('+here/a');
    await mkdir(join(folder, 'x', 'y'), { recursive: true });
    await listen(join(folder, 'x', 'y', 'b'));
    await until('+here/a', '+x/y/b');
    await listen(join(folder, 'x', 'c'));
    await until('+here/a', '+x/y/b', '+x/c');
    await rename(join(folder, 'x'), join(folder, 'z'));
    await until('+here/a', '+x/y/b', '+x/c', '-x/c', '-x/y/b', '+z/c', '+z/y/b');
  });

  test('behind a link counts', async () => {
    await listen(join(root, 'elsewhere'));
    await symlink(join(root, 'elsewhere'), join(folder, 'link'));
    watch();
    await until('+link');
  });

  test('that comes without an event is found at the next look: a link whose socket comes later', async () => {
    await symlink(join(root, 'elsewhere'), join(folder, 'link'));
    const clock = new VirtualClock();
    watch(clock);
    await waitFor(() => clock.armed === 1, { what: 'the first reading' });
    await listen(join(root, 'elsewhere'));
    expect([told, clock.nextInMs]).toEqual([[], 20_000]);
    await clock.step();
    await until('+link');
  });

  test('two hundred at once are all found', async () => {
    watch();
    const names = Array.from({ length: 200 }, (_, i) => `s${String(i).padStart(3, '0')}`);
    await Promise.all(names.map((name) => listen(join(folder, name))));
    await waitFor(() => told.length >= 200, { what: '200 sockets' });
    expect(told.toSorted()).toEqual(names.map((name) => `+${name}`));
  });
});

describe('what is no socket of a plugin is ignored', () => {
  test('files, links to nothing, links to folders, circles of links, hidden sockets and hidden folders', async () => {
    await mkdir(join(folder, '.hidden'), { recursive: true });
    await mkdir(join(root, 'outside'));
    await listen(join(root, 'outside', 'a'));
    watch();
    await writeFile(join(folder, 'file'), '');
    await symlink('/nonexistent', join(folder, 'dangling'));
    await symlink(join(root, 'outside'), join(folder, 'linked'));
    await symlink('circle', join(folder, 'circle'));
    await symlink('.', join(folder, 'itself'));
    await listen(join(folder, '.a'));
    await listen(join(folder, '.hidden', 'b'));
    await untilWitness();
    expect(told).toEqual([]);
  });

  test('a file that takes the place of a socket ends it', async () => {
    const path = join(folder, 'a');
    await mkdir(dirname(path));
    await listen(path);
    watch();
    await until('+a');
    await unlink(path);
    await writeFile(path, '');
    await until('+a', '-a');
  });
});

describe('the end', () => {
  test('leaves neither a timer nor a watch, whenever it comes', async () => {
    await mkdir(folder);
    const watched = () => [root, folder].map(isWatched);
    const clock = new VirtualClock();
    watch(clock);
    await sockets?.stop();
    watch(clock);
    await waitFor(() => clock.armed === 1, { what: 'the first reading' });
    expect(watched()).toEqual([true, true]);
    await listen(join(folder, 'a'));
    await sockets?.stop();
    expect(clock.armed).toBe(0);
    expect(watched()).toEqual([false, false]);
    expect(told).toEqual([]);
  });
});

test('of many sockets a few are reported in each turn of the event loop, in their order, until it is stopped', async () => {
  const turns: (() => void)[] = [];
  await mkdir(folder);
  const names = Array.from({ length: 60 }, (_, index) => String(index).padStart(2, '0'));
  for (const name of names) await listen(join(folder, name));
  watch({
    ...onlyEvents,
    setTimeout: (work, delayMs) => (delayMs === 0 ? turns.push(work) : onlyEvents.setTimeout(work, delayMs)),
  });
  await waitFor(() => turns.length === 1, { what: 'the first turn' });
  expect(told).toEqual(names.slice(0, 25).map((name) => `+${name}`));
  turns[0]?.();
  expect(told).toHaveLength(50);
  // What happens in between comes after what is still to be told.
  await close(servers[0]!);
  await rm(join(folder, '00'), { force: true });
  expect(turns).toHaveLength(2);
  turns[1]?.();
  await waitFor(() => told.includes('-00'), { what: 'the socket that is gone' });
  expect(told).toEqual([...names.map((name) => `+${name}`), '-00']);
});

/** Calls of the file system for these names never return. Their deadline passes at once. */
function hangingAt(...names: readonly string[]) {
  const clock = new VirtualClock();
  const calls = new PatientCalls(clock, 1000);
  const paths = names.map((name) => (name === '' ? folder : join(folder, name)));
  const hang = <T>() => {
    setImmediate(() => void clock.advance(1000));
    return new Promise<T>(() => undefined);
  };
  return {
    call: <T>(path: string, work: () => Promise<T>) =>
      calls.call(path, () => (paths.includes(path) ? hang<T>() : work())),
  };
}

describe('reading', () => {
  beforeEach(() => mkdir(folder));

  test('links to a file system that does not answer are problems, and the sockets beside them are found', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(join(folder, 'good.sock'), resolve));
    const names = ['a.sock', 'b.sock', 'c.sock', 'd.sock', 'e.sock'];
    for (const name of names) symlinkSync('good.sock', join(folder, name));
    const { sockets, problems } = await readSockets(folder, () => undefined, hangingAt(...names));
    expect([...sockets.keys()]).toEqual([join(folder, 'good.sock')]);
    expect([...problems.keys()].sort()).toEqual(names.map((name) => join(folder, name)));
    expect([...problems.values()]).toContain('its file system does not answer');
    await new Promise((resolve) => server.close(resolve));
  });

  test('a folder that does not answer is not watched: the watch would not return either', async () => {
    const watched: string[] = [];
    const { problems } = await readSockets(folder, (path) => watched.push(path), hangingAt(''));
    expect(problems.get(folder)).toBe('its file system does not answer');
    expect(watched).toEqual([]);
  });
});
