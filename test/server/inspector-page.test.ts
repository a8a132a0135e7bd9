import { runInNewContext } from 'node:vm';
import { expect, test } from '@jest/globals';
import { pino } from 'pino';
import { startInspector } from '../../src/server/inspector.ts';
import { INSPECTOR_PAGE } from '../../src/server/inspector-page.ts';
import { describeInBrowser } from '../support/browser.ts';

test('the page opens its socket when the inspector is ready, and posts the messages to it', () => {
  const page = INSPECTOR_PAGE;
  expect(page).toContain('src="https://stately.ai/inspect"');

  const sockets: PageSocket[] = [];
  const posted: unknown[] = [];
  const contentWindow = { postMessage: (data: unknown, origin: string) => posted.push({ data, origin }) };
  const waiting = { hidden: false };
  const listeners: ((message: object) => void)[] = [];
  class PageSocket {
    readonly url: string;
    closed = false;
    onmessage?: (message: { data: string }) => void;
    constructor(url: string) {
      this.url = url;
      sockets.push(this);
    }
    close(): void {
      this.closed = true;
    }
  }
  runInNewContext(/<script>(.*)<\/script>/su.exec(page)?.[1] ?? '', {
    document: { getElementById: (id: string) => (id === 'waiting' ? waiting : { contentWindow }) },
    location: { host: 'localhost:1' },
    addEventListener: (_: string, listener: (message: object) => void) => listeners.push(listener),
    WebSocket: PageSocket,
  });
  const [hear] = listeners;
  const connected = {
    source: contentWindow,
    origin: 'https://stately.ai',
    data: { type: '@statelyai.connected' },
  };

  hear?.({ ...connected, origin: 'https://stately.ai.example' });
  hear?.({ ...connected, source: {} });
  hear?.({ ...connected, data: { type: 'other' } });
  expect(sockets).toEqual([]);
  expect(waiting.hidden).toBe(false);

  hear?.(connected);
  expect(waiting.hidden).toBe(true);
  sockets[0]?.onmessage?.({ data: '{"type":"@xstate.actor"}' });
  expect(posted).toEqual([{ data: { type: '@xstate.actor' }, origin: 'https://stately.ai' }]);
  expect(sockets[0]?.url).toBe('ws://localhost:1');

  hear?.(connected); // After a reload: a new socket gets all actors again.
  expect(sockets.map(({ closed }) => closed)).toEqual([true, false]);
});

describeInBrowser('without the web site of the inspector', (browser) => {
  test('the page says what is missing, and which page needs no other site', async () => {
    const logger = pino({ level: 'silent' });
    const inspector = await startInspector({ host: '127.0.0.1', port: 0, logger });
    const page = await browser.newPage();
    try {
      await page.route('https://stately.ai/**', (route) => route.abort());
      await page.goto(inspector.url);
      const text = await page.getByRole('status').innerText();
      expect(text).toMatch(/this browser has to reach https:\/\/stately\.ai/);
      expect(text).toMatch(/statelet run --ui/);
    } finally {
      await page.close();
      await inspector.close();
    }
  });
});
