import { mkdtempSync, rmSync } from 'node:fs';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { openForReading, PipeStock } from '../../../src/embedded/containers/pipes.ts';
import { OutputCopy } from '../../../src/embedded/streams/output-copy.ts';
import { openForWriting } from '../../../src/embedded/streams/container-input.ts';
import { distinctBytes, hashOf, readSlowly } from '../../support/slow-reader.ts';

const OUTPUT = distinctBytes(1_500_000);

let dir: string;
let client: Socket;
let copy: OutputCopy;
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'statelet-copy-'));
  const pipe = join(dir, 'pipe');
  await new PipeStock(join(dir, 'pipes')).place([pipe], undefined);
  client = new Socket({ fd: openForReading(pipe), readable: true, writable: false });
  copy = new OutputCopy(openForWriting(pipe));
  copy.clientIsOpen();
});
afterEach(() => {
  copy.destroy();
  client.destroy();
  rmSync(dir, { recursive: true });
});

test('a client that reads slowly gets everything, however long the container has to wait for it', async () => {
  for (let at = 0; at < OUTPUT.length; at += 50_000) copy.write(OUTPUT.subarray(at, at + 50_000));
  expect(copy.behind).toBe(true);
  const read = readSlowly(client, 150);
  await copy.caughtUp();
  copy.end();
  await copy.ended;
  expect(await read).toEqual({ bytes: OUTPUT.length, hash: hashOf(OUTPUT) });
});

test('a client that reads nothing is cut off', async () => {
  copy.write(OUTPUT);
  await copy.caughtUp();
  await expect(copy.ended).rejects.toThrow(
    "the attached client read nothing of the container's output for 10 s and was cut off",
  );
});
