/** `statelet charts --open` writes a file that a browser shows without anything else. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import axe from 'axe-core';
import { toXStateSource } from '../../src/commands/charts/xstate-source.ts';
import { machines } from '../../src/agent/machines/index.ts';
import { stateSentence } from '../../src/agent/policies/why/state-sentences.ts';
import { describeInBrowser } from '../support/browser.ts';
import { statelet } from '../support/daemon.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'statelet-charts-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

describeInBrowser('the file of all charts', (browser) => {
  test('has each chart with its sentences and its source, asks no server for anything, and is accessible', async () => {
    const file = join(dir, 'charts.html');
    expect(await statelet('charts', '--open', file)).toMatchObject({ code: 0, stdout: `${file}\n` });
    const page = await browser.newPage({ viewport: { width: 1200, height: 900 } });
    try {
      const asked: string[] = [];
      const problems: string[] = [];
      page.on('request', (request) => asked.push(request.url()));
      page.on('pageerror', ({ message }) => problems.push(message));
      const url = pathToFileURL(file).href;
      await page.goto(`${url}#probe`);
      for (const [name, machine] of Object.entries(machines)) {
        const section = page.locator(`section#${name}`);
        expect(await section.locator('svg .state').count()).toBeGreaterThan(1);
        await section.getByText(`The source of ${name}`).click();
        expect(await section.locator('pre').textContent()).toBe(toXStateSource(machine));
      }
      await page.getByText('What the states of pod mean').click();
      const said = stateSentence('pod', 'Syncing.Settled') ?? 'a sentence';
      await page.locator('section#pod dd', { hasText: said }).waitFor();
      if (process.env.SCREENSHOTS !== undefined)
        await page.screenshot({ path: join(process.env.SCREENSHOTS, 'charts-file.png') });
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        const found =
          await page.evaluate(`(() => {${axe.source}; return axe.run(document).then(({ violations }) =>
          violations.map(({ id, nodes }) => id + ': ' + nodes.slice(0, 3).map(({ html }) => html).join(' ')))})()`);
        expect(found).toEqual([]);
      }
      expect([asked, problems]).toEqual([[url], []]);
    } finally {
      await page.close();
    }
  });
});

test('an unknown chart, and a file that cannot be written, are errors; nothing is written', async () => {
  const file = join(dir, 'charts.html');
  const unknown = await statelet('charts', 'pods', '--open', file);
  expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining('did you mean "pod"')]);
  expect(() => readFileSync(file)).toThrow('ENOENT');
  const nowhere = await statelet('charts', '--open', join(dir, 'none', 'charts.html'));
  expect([nowhere.code, nowhere.stderr]).toEqual([1, expect.stringContaining('--open: cannot write')]);
});
