import { runInNewContext } from 'node:vm';
import { expect, test } from '@jest/globals';
import { INSPECTOR_PAGE } from '../../src/server/inspector-page.ts';

test('the page opens its socket when the inspector is ready, and posts the messages to it', () => {
  const page = INSPECTOR_PAGE;
  expect(page).toContain('src="https://stately.ai/inspect"');

  const sockets: PageSocket[] = [];
  const posted: unknown[] = [];
  const contentWindow = { postMessage: (data: unknown, origin: string) => posted.push({ data, origin }) };
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
    document: { getElementById: () => ({ contentWindow }) },
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

  hear?.(connected);
  sockets[0]?.onmessage?.({ data: '{"type":"@xstate.actor"}' });
  expect(posted).toEqual([{ data: { type: '@xstate.actor' }, origin: 'https://stately.ai' }]);
  expect(sockets[0]?.url).toBe('ws://localhost:1');

  hear?.(connected); // After a reload: a new socket gets all actors again.
  expect(sockets.map(({ closed }) => closed)).toEqual([true, false]);
});
