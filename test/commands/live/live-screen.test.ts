import { EventEmitter } from 'node:events';
import { afterEach, expect, test } from '@jest/globals';
import { LiveScreen, type Terminal } from '../../../src/commands/live/live-screen.ts';
import { screenOf } from '../../support/terminal.ts';
import { waitFor } from '../../support/wait-for.ts';

class RecordedTerminal extends EventEmitter implements Terminal {
  columns = 20;
  rows = 4;
  readonly writes: string[] = [];

  write(text: string): void {
    this.writes.push(text);
  }

  /** A terminal begins a new line where a program writes a line feed. */
  get screen() {
    return screenOf(this.writes.join('').replaceAll(/(?<!\r)\n/gu, '\r\n'));
  }
}

const closing: LiveScreen[] = [];
afterEach(() => {
  for (const screen of closing.splice(0)) screen.close();
});

function open() {
  const terminal = new RecordedTerminal();
  const shown = { title: 'title' };
  const screen = new LiveScreen({
    terminal,
    hasColours: false,
    frame: (log, { rows, columns }) => [`${shown.title} ${columns}x${rows}`, ...log].slice(0, rows),
  });
  closing.push(screen);
  const toShow = (...lines: string[]) =>
    waitFor(() => JSON.stringify(terminal.screen.lines) === JSON.stringify(lines), { what: lines.join('|') });
  return { terminal, screen, shown, toShow };
}

test('the second screen of the terminal is drawn, without a cursor', async () => {
  const { terminal, screen, toShow } = open();
  screen.write('one\ntwo\n');
  await toShow('title 20x4', 'one', 'two');
  expect(terminal.screen).toMatchObject({ isSecond: true, hasCursor: false });
});

test('a frame that became shorter leaves nothing of the one before it', async () => {
  const { screen, shown, toShow } = open();
  screen.write('one\n');
  await toShow('title 20x4', 'one');
  shown.title = 't';
  screen.changed();
  await toShow('t 20x4', 'one');
});

test('many changes are one frame', async () => {
  const { terminal, screen, toShow } = open();
  for (let count = 0; count < 100; count += 1) screen.changed();
  screen.write('one\n');
  await toShow('title 20x4', 'one');
  expect(terminal.writes.length).toBeLessThanOrEqual(3);
});

test('a terminal that gets another size is drawn anew', async () => {
  const { terminal, screen, toShow } = open();
  screen.write('one\ntwo\nthree\n');
  await toShow('title 20x4', 'one', 'two', 'three');
  terminal.rows = 2;
  terminal.emit('resize');
  await toShow('title 20x2', 'one');
});

test('at the end the first screen has the last frame and the lines, and gets later lines; the cursor is shown', () => {
  const { terminal, screen } = open();
  screen.write('one\n');
  screen.close();
  screen.close();
  screen.write('stopped\n');
  expect(terminal.screen).toEqual({
    lines: ['title 20x4', 'one', 'stopped'],
    isSecond: false,
    hasCursor: true,
  });
  expect(terminal.listenerCount('resize')).toBe(0);
});
