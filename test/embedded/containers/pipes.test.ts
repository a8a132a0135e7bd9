import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import {
  closeSync,
  existsSync,
  fstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openForReading, PipeStock, withContainerEnds } from '../../../src/embedded/containers/pipes.ts';
import { testAsRoot } from '../../support/as-root.ts';
import { openBelow } from '../../support/held-open.ts';

let dir: string;
let stock: PipeStock;
const stockDir = () => join(dir, 'stock');
const pipesIn = (count: number) => Array.from({ length: count }, (_, at) => join(dir, `pipe-${at}`));

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'statelet-pipes-'));
  stock = new PipeStock(stockDir());
});
afterEach(() => rmSync(dir, { recursive: true }));

describe('the pipes of a container', () => {
  test('are named pipes for their owner alone', async () => {
    const pipes = pipesIn(2);
    await stock.place(pipes, undefined);
    for (const pipe of pipes) {
      const { mode } = statSync(pipe);
      expect([statSync(pipe).isFIFO(), (mode & 0o777).toString(8)]).toEqual([true, '600']);
    }
  });

  testAsRoot("belong to the container's user", async () => {
    const pipe = join(dir, 'of-user');
    await stock.place([pipe], { uid: 65534, gid: 65533 });
    const { uid, gid } = statSync(pipe);
    expect([uid, gid]).toEqual([65534, 65533]);
  });

  test('are different ones for each path, however many are asked for at once', async () => {
    const pipes = pipesIn(40);
    await Promise.all(pipes.map((pipe) => stock.place([pipe], undefined)));
    expect(new Set(pipes.map((pipe) => statSync(pipe).ino)).size).toBe(40);
  });

  test('are made before they are needed: the next containers take them without a process', async () => {
    await stock.place(pipesIn(2), undefined);
    const made = readdirSync(stockDir()).length;
    expect(made).toBeGreaterThan(2);
    const path = process.env.PATH;
    process.env.PATH = '/no/such/folder';
    try {
      for (let at = 0; at < made; at++) await stock.place([join(dir, `next-${at}`)], undefined);
      await expect(stock.place([join(dir, 'one-more')], undefined)).rejects.toMatchObject({
        kind: 'Internal',
        message: expect.stringMatching(/mkfifo is not installed$/),
      });
    } finally {
      process.env.PATH = path;
    }
    await stock.place([join(dir, 'one-more')], undefined);
    expect(statSync(join(dir, 'one-more')).isFIFO()).toBe(true);
  });

  test('that cannot be placed are an Internal error, and none of them stays behind', async () => {
    await expect(stock.place(['/no/such/folder/pipe'], undefined)).rejects.toMatchObject({
      kind: 'Internal',
    });
    const left = readdirSync(stockDir()).length;
    await stock.place(pipesIn(left), undefined);
    expect(readdirSync(stockDir())).toEqual([]);
  });

  test('that cannot be made are an Internal error, until they can be made again', async () => {
    writeFileSync(stockDir(), '');
    await expect(stock.place(pipesIn(1), undefined)).rejects.toMatchObject({ kind: 'Internal' });
    rmSync(stockDir());
    await stock.place(pipesIn(1), undefined);
    expect(statSync(join(dir, 'pipe-0')).isFIFO()).toBe(true);
  });

  test('of an earlier monitor that were not used are removed', () => {
    mkdirSync(stockDir());
    writeFileSync(join(stockDir(), '7'), '');
    new PipeStock(stockDir());
    expect(existsSync(join(stockDir(), '7'))).toBe(false);
  });

  test('keep their text while no process reads them: a reader can come before the writer, or after', async () => {
    const pipe = join(dir, 'waits');
    await stock.place([pipe], undefined);
    const early = openForReading(pipe);
    await withContainerEnds([pipe], ([fd = -1]) => {
      writeSync(fd, 'text');
      const buffer = Buffer.alloc(4);
      readSync(early, buffer);
      expect(buffer.toString()).toBe('text');
      closeSync(early);
      // Without any reader: no SIGPIPE, no error.
      writeSync(fd, 'more');
      const late = openForReading(pipe);
      readSync(late, buffer);
      expect(buffer.toString()).toBe('more');
      closeSync(late);
      return Promise.resolve();
    });
  });

  test("are closed on the monitor's side after the launch, also if it fails", async () => {
    const pipe = join(dir, 'closed');
    await stock.place([pipe], undefined);
    const launched = withContainerEnds([pipe], ([fd = -1]) => {
      expect(fstatSync(fd).isFIFO()).toBe(true);
      return Promise.reject(new Error('cannot be started'));
    });
    await expect(launched).rejects.toThrow('cannot be started');
    expect(openBelow(pipe)).toBe(0);
  });
});
