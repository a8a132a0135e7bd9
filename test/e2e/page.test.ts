/** The page in a real browser: with a real daemon, and with 5,000 pods that are made up. SCREENSHOTS=FOLDER keeps pictures of it. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import axe from 'axe-core';
import type { Page } from 'playwright-core';
import type { EvictionExplanation } from '../../src/agent/policies/eviction/explanation.ts';
import { describeInBrowser } from '../support/browser.ts';
import { DaemonBed, type Daemon, printedAddress, startStatelet } from '../support/daemon.ts';
import { PageBed, podRow } from '../support/page-bed.ts';
import { put } from '../agent/sources/support.ts';
import { PATIENCE_MS, waitFor } from '../support/wait-for.ts';
import { manifest, shell } from './manifests.ts';

const { SCREENSHOTS } = process.env;

/** Nothing listens there. */
const KUBECONFIG = {
  apiVersion: 'v1',
  kind: 'Config',
  'current-context': 'only',
  clusters: [{ name: 'only', cluster: { server: 'http://127.0.0.1:1' } }],
  users: [{ name: 'only', user: { token: 'none' } }],
  contexts: [{ name: 'only', context: { cluster: 'only', user: 'only' } }],
};
const readinessProbe = { exec: { command: ['true'] }, periodSeconds: 1 };
/** Of the actors that live as long as the daemon, and of a probe. */
const LASTING_CHARTS = ['certificate', 'connection', 'eviction', 'evictionPlugins', 'lease', 'node'].concat([
  'plugin',
  'probe',
  'shutdown',
  'statusWriter',
  'supervisor',
  'taints',
]);
/** Part of the name of the actor, where that is not the name of the chart. */
const ACTORS: Readonly<Record<string, string>> = { probe: 'readiness', statusWriter: 'status-writer' };

const explanation = {
  conditions: ['MemoryPressure'],
  thresholds: [
    {
      ...{
        signal: 'memory.available',
        isHard: true,
        gracePeriodSeconds: 0,
        threshold: '<100Mi',
        observed: '50Mi',
      },
      ...{ isMet: true, reclaim: [], resource: 'memory', victim: 'default/big', why: 'it uses most' },
      candidates: [
        {
          ...{ namespace: 'default', name: 'big', uid: 'b', priority: 0, usage: 2e9, request: 0 },
          ...{ exceedsRequest: true, overRequest: 2e9, isCritical: false },
        },
      ],
    },
  ],
} as const satisfies EvictionExplanation;

/** Of a daemon with `--ui`. */
async function addressOf(daemon: Daemon): Promise<string> {
  const line = await daemon.logged('the page', ({ msg }) => msg.startsWith('the page of this node'));
  return (line as { url?: string }).url ?? '';
}

describeInBrowser('the page', (browser) => {
  let page: Page;
  let problems: string[];
  beforeEach(async () => {
    page = await browser.newPage({ viewport: { width: 1300, height: 850 }, colorScheme: 'light' });
    page.setDefaultTimeout(PATIENCE_MS);
    problems = [];
    page.on('pageerror', ({ message }) => problems.push(message));
    page.on('console', (message) => {
      if (message.type() === 'error') problems.push(message.text());
    });
    page.on('request', (request) => {
      if (new URL(request.url()).hostname !== '127.0.0.1') problems.push(`asks ${request.url()}`);
    });
  });
  afterEach(async () => {
    await page.close();
    expect(problems).toEqual([]);
  });

  async function picture(name: string): Promise<void> {
    if (SCREENSHOTS !== undefined) await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`) });
  }

  /** What axe finds wrong, in the light and in the dark. */
  async function expectAccessible(): Promise<void> {
    await page.evaluate(`globalThis.axe ?? (() => {${axe.source}})()`);
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      const found = await page.evaluate(`axe.run(document).then(({ violations }) =>
        violations.map(({ id, nodes }) => id + ': ' + nodes.slice(0, 3).map(({ html }) => html).join(' ')))`);
      expect(found).toEqual([]);
    }
  }

  describe('of a daemon', () => {
    let bed: DaemonBed;
    beforeEach(() => {
      bed = new DaemonBed();
    });
    afterEach(async () => {
      await page.close();
      await bed.cleanUp();
    });

    async function start(): Promise<{ daemon: Daemon; url: string }> {
      await put(
        join(bed.manifestDir, 'web.json'),
        manifest('web', { containers: [shell('exec sleep 1000', { readinessProbe })] }),
      );
      const daemon = await bed.start('--ui=127.0.0.1:0');
      await daemon.running('web');
      return { daemon, url: await addressOf(daemon) };
    }

    test('lights the chart of a pod while it ends, and says that it has gone', async () => {
      const { url } = await start();
      await page.goto(`${url}#/pod/default/web-node-a`);
      // The great states at first; one that is clicked shows what is inside.
      await page
        .locator('.great.active', { hasText: 'Syncing' })
        .locator('li.active', { hasText: 'Settled' })
        .waitFor();
      expect(await page.locator('.great').count()).toBe(3);
      expect(await page.locator('.chart').count()).toBe(0);
      await page.getByRole('button', { name: 'Syncing', exact: true }).click();
      await page.locator('.leaf.active[data-state="Syncing.Settled"]').waitFor();
      expect(await page.locator('.leaf.next[data-state="Syncing.Working"]').count()).toBe(1);
      expect(await page.locator('.leaf.pale[data-state="Syncing.Starting.Admitting"]').count()).toBe(1);
      await page.getByText('runs as its spec says').waitFor();
      await page.getByText('Container started').first().waitFor();
      // What was before the page was opened comes from the flight recorder.
      await page.locator('.transitions li', { hasText: 'ADMITTED' }).waitFor();
      const lanes = page.getByRole('region', { name: 'Time axis' });
      await lanes
        .getByRole('img', { name: /^state: .*Syncing\.Working for .*Syncing\.Settled for/ })
        .waitFor();
      await lanes.getByRole('img', { name: /^container main: .*runs for/ }).waitFor();
      await lanes.getByRole('img', { name: /^readiness main: ready for/ }).waitFor();
      await lanes.getByRole('img', { name: /^events: .*Started: Container started/ }).waitFor();
      await picture('pod');
      await expectAccessible();
      await page.setViewportSize({ width: 390, height: 800 });
      await picture('pod-small');
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390);
      await page.setViewportSize({ width: 1300, height: 850 });
      await page.keyboard.press('-');
      await page.waitForURL(/\?open=Syncing&zoom=1h$/);
      await page.getByRole('button', { name: 'Whole chart' }).click();
      rmSync(join(bed.manifestDir, 'web.json'));
      await page.getByText('This pod is not on this node. This is what is recorded of it:').waitFor();
      await page.getByText('web-node-a ended at').waitFor();
      await page.locator('.transitions li', { hasText: 'STOP_DONE' }).waitFor();
      await page.locator('.leaf.active[data-state="Terminated.Finished"]').waitFor();
      await lanes.getByRole('img', { name: /^state: .*Terminated\.Finished for/ }).waitFor();
      await lanes.getByRole('img', { name: /^readiness main: ready for/ }).waitFor();
      await lanes.getByRole('img', { name: /^events: .*Killing/ }).waitFor();
      await picture('pod-ended');
      await page.goto(`${url}#/?show=gone`);
      await page.getByRole('link', { name: 'default/web-node-a' }).click();
      await page.getByText('web-node-a ended at').waitFor();
      await page.locator('.transitions li', { hasText: 'ADMITTED' }).waitFor();
    });

    test('shows the pods, the node and the charts of its actors, and those of a daemon without the flag', async () => {
      const { url } = await start();
      await page.goto(url);
      const row = page.getByRole('row', {
        name: /Running default\/web-node-a 1\/1 0 .* runs as its spec says/,
      });
      await row.getByText('Syncing.Settled').waitFor();
      await page.getByText('Node node-a is ready.').waitFor();
      await picture('pods');
      await expectAccessible();
      await page.goto(`${url}#/node`);
      await page.getByRole('img', { name: /^MemoryPressure: no pressure for/ }).waitFor();
      // Static pods are critical.
      await page.getByText('For memory: no pod that may go').waitFor();
      await page.locator('tr', { hasText: 'never: it is critical' }).first().waitFor();
      await expectAccessible();
      await page.goto(`${url}#/charts`);
      await page.getByText('Runtime.Ready: the container runtime is ready').waitFor();
      await page
        .locator('.cards li', { hasText: 'One probe of one container' })
        .getByText('waits for its next turn')
        .waitFor();
      await page.goto(`${url}#/chart/eviction`);
      await page.locator('.leaf.active[data-state="Pressure.Memory.Absent"]').waitFor();
      await picture('eviction');
      const served = startStatelet('ui', '--root-dir', bed.rootDir);
      try {
        await page.goto(`${await printedAddress(served)}#/chart/supervisor`);
        await page.locator('.leaf.active[data-state="Runtime.Ready"]').waitFor();
        await page.locator('li', { hasText: 'the container runtime is ready' }).waitFor();
        await expectAccessible();
      } finally {
        await page.close();
        served.child.kill();
        await served.result;
      }
    });
  });

  /** Its API server does not answer. Of the actors that run only for some time there are none. */
  test.each(['run', 'ui'])('lights each chart whose actor runs, served by statelet %s', async (command) => {
    const bed = new DaemonBed();
    const bootstrap = join(bed.dir, 'bootstrap.yaml');
    writeFileSync(bootstrap, JSON.stringify(KUBECONFIG));
    const probed = shell('exec sleep 1000', { readinessProbe });
    await put(join(bed.manifestDir, 'web.json'), manifest('web', { containers: [probed] }));
    const kubeconfig = join(bed.dir, 'kubeconfig.yaml');
    const flags = ['--kubeconfig', kubeconfig, '--bootstrap-kubeconfig', bootstrap, '--port', 'auto'];
    const daemon = await bed.start(
      ...flags,
      '--eviction-plugins',
      ...(command === 'run' ? ['--ui=127.0.0.1:0'] : []),
    );
    await daemon.running('web');
    const served = command === 'ui' ? startStatelet('ui', '--root-dir', bed.rootDir) : undefined;
    try {
      const url = served ? await printedAddress(served) : await addressOf(daemon);
      for (const name of LASTING_CHARTS) {
        await page.goto(`${url}#/chart/${name}`);
        await page.locator(`.chart[aria-label^="The chart ${name}, in "] .leaf.active`).first().waitFor();
        await page.getByRole('heading', { level: 2, name: ACTORS[name] ?? name }).waitFor();
      }
    } finally {
      await page.close();
      served?.child.kill();
      await served?.result;
      await bed.cleanUp();
    }
  });

  describe('with 5,000 pods', () => {
    let bed: PageBed;
    beforeEach(async () => {
      bed = await new PageBed().open();
      for (let index = 0; index < 5000; index += 1) {
        const name = `pod-${String(index).padStart(4, '0')}`;
        bed.rows.set(`uid-${name}`, podRow(name));
      }
      await page.goto(bed.url);
      await page.getByText('5000 of 5000 pods').waitFor();
    });
    afterEach(async () => {
      await page.close();
      await bed.close();
    });

    test('holds only the rows in sight, scrolls to any, and what comes to need attention goes to the top', async () => {
      expect(await page.locator('tbody tr').count()).toBeLessThan(70);
      await page.evaluate('scrollTo(0, 1e9)');
      await page.getByText('pod-4999').waitFor();
      await page.evaluate('scrollTo(0, 0)');
      await page.getByText('pod-0000').waitFor();
      const says = `waits for its image <img src=x onerror="document.title='hacked'"> ${'and waits '.repeat(60)}`;
      const health = { kind: 'attention' } as const;
      bed.put(podRow('pod-4999', { status: 'ImagePullBackOff', health, says }));
      const first = page.locator('tbody tr').first();
      await first.getByText('ImagePullBackOff').waitFor();
      // The whole of what it says, as text.
      const cell = first.locator('.says');
      expect((await cell.textContent())?.trim()).toBe(says.trim());
      const isWhole =
        "(({ scrollHeight, clientHeight }) => scrollHeight <= clientHeight)(document.querySelector('td.says'))";
      expect(await page.evaluate(isWhole)).toBe(true);
      expect(await page.locator('main img').count()).toBe(0);
      await picture('many');
      await page.getByRole('button', { name: 'Needs attention 1' }).click();
      await page.getByText('1 of 5000 pods').waitFor();
    });

    test('obeys the keys, and has a link for each pod', async () => {
      await page.keyboard.press('/');
      await page.keyboard.type('pod-12');
      await page.getByText('100 of 5000 pods').waitFor();
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('Enter');
      await page.waitForURL(/#\/pod\/default\/pod-1201$/);
      await page.getByText('This pod is not on this node').waitFor();
      await page.keyboard.press('Escape');
      await page.locator('#search').waitFor();
      await page.keyboard.press('?');
      await page.getByText('previous pod').waitFor();
      await page.keyboard.press('c');
      await page.getByRole('link', { name: 'statusWriter' }).waitFor();
      await picture('charts');
      await expectAccessible();
    });

    test('has search, filter and order in its address: another page shows the same, and back leads back', async () => {
      bed.put(podRow('pod-0007', { health: { kind: 'failed' } }));
      await page.locator('#search').fill('pod-00');
      await page.getByText('100 of 5000 pods').waitFor();
      await page.getByRole('button', { name: 'Needs attention' }).click();
      await page.getByRole('button', { name: 'Restarts' }).click();
      await page.waitForURL(/#\/\?search=pod-00&show=attention&sort=restarts$/);
      const address = page.url();
      await page.locator('td.name a', { hasText: 'pod-0007' }).click();
      await page.getByText('This pod is not on this node').waitFor();
      await page.keyboard.press('Escape');
      await page.getByText('1 of 5000 pods').waitFor();
      expect(page.url()).toBe(address);
      await page.goBack();
      await page.getByText('This pod is not on this node').waitFor();
      await page.goBack();
      await page.goBack();
      await page.waitForURL(/show=attention$/);
      await page.goBack();
      await page.getByText('100 of 5000 pods').waitFor();
      expect(await page.locator('#search').inputValue()).toBe('pod-00');
      await page.goForward();
      await page.getByText('1 of 5000 pods').waitFor();
      const other = await browser.newPage();
      await other.goto(address);
      await other.getByText('1 of 5000 pods').waitFor();
      await other.locator('th[aria-sort="ascending"]', { hasText: 'Restarts' }).waitFor();
      expect(await other.locator('#search').inputValue()).toBe('pod-00');
      await other.close();
    });

    test('fits a small screen, in the dark', async () => {
      await page.emulateMedia({ colorScheme: 'dark' });
      await page.setViewportSize({ width: 390, height: 800 });
      await page.getByText('pod-0001').waitFor();
      const [width, ground] = await page.evaluate<[number, string]>(
        '[document.documentElement.scrollWidth, getComputedStyle(document.body).backgroundColor]',
      );
      expect(width).toBeLessThanOrEqual(390);
      expect(ground).toBe('rgb(13, 17, 23)');
      await picture('small');
    });

    test('shows the pressure of the node over time, who would go next, and what has gone, on each screen', async () => {
      const kind = { chart: 'eviction', actor: 'eviction', event: 'EVALUATED', actions: [] };
      const state = (memory: string) => `Pass.Observing,Pressure.Memory.${memory},Disk.Absent,PID.Absent`;
      const memory = { signal: 'memory.available', whole: 2 ** 33, hard: 2 ** 29, soft: 2 ** 30 };
      const measured = (left: number) => ({ evaluation: { figures: [{ ...memory, left }] } });
      bed.recorded = [
        {
          ...kind,
          atMs: Date.now() - 70_000,
          from: state('Absent'),
          to: state('Absent'),
          data: measured(2 ** 32),
        },
        {
          ...{ ...kind, atMs: Date.now() - 60_000, from: state('Absent'), to: state('Present.Observed') },
          data: measured(2 ** 28),
        },
        {
          ...kind,
          atMs: Date.now() - 50_000,
          from: state('Present.Observed'),
          to: state('Present.Lingering'),
        },
      ];
      bed.explanation = explanation;
      bed.gone = [
        {
          ...{ namespace: 'shop', name: 'cart', uid: 'u', status: 'Evicted', kind: 'failed' },
          endedMs: Date.now() - 9_000,
          says: 'It was evicted: <b>memory</b> was short.',
        },
      ];
      for (const width of [1440, 820, 390]) {
        await page.setViewportSize({ width, height: 850 });
        await page.goto(`${bed.url}#/node`);
        const lane = page.getByRole('img', {
          name: /^MemoryPressure: no pressure for .*under pressure for 10s, was/,
        });
        await lane.waitFor();
        await page
          .getByText('For memory: default/big: uses 1.8Gi, requests 0, priority 0, more than it requested')
          .waitFor();
        await page.locator('tr.met', { hasText: 'memory.available' }).waitFor();
        await page
          .getByRole('img', {
            name: /^memory.available: 4Gi of 8Gi left for 10s, 256Mi of 8Gi left, below the hard threshold for /,
          })
          .waitFor();
        await page.getByTitle('soft threshold: 1Gi').waitFor();
        await expectAccessible();
        await picture(`node-${width}`);
        await page.goto(`${bed.url}#/?show=gone`);
        await page.getByText('It was evicted: <b>memory</b> was short.').waitFor();
        await expectAccessible();
        expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
      }
      await page.getByRole('link', { name: 'shop/cart' }).click();
      await page.getByText('The record has shop/cart.').waitFor();
    });

    test('makes a chart larger and smaller by buttons, wheel and keys, and leaves the wheel to the page when all is in sight', async () => {
      await page.goto(`${bed.url}#/chart/eviction`);
      const chart = page.locator('.chart');
      await chart.waitFor();
      const width = async () => Number((await chart.locator('svg').getAttribute('viewBox'))?.split(' ')[2]);
      const becomes = async (what: string, fits: (width: number) => boolean) =>
        waitFor(async () => fits(await width()), { what });
      await page.getByRole('button', { name: 'Fit' }).click();
      await becomes('all of it', (now) => now > 1500);
      const whole = await width();
      await chart.hover();
      await page.mouse.wheel(0, -100);
      await becomes('a larger chart by the wheel', (now) => now < whole);
      await page.mouse.wheel(0, 100);
      await becomes('all of it again', (now) => now === whole);
      await page.getByRole('button', { name: 'Larger' }).click();
      await becomes('a larger chart by a button', (now) => now < whole);
      await chart.focus();
      await page.keyboard.press('0');
      await becomes('all of it by a key', (now) => now === whole);
      await page.keyboard.press('+');
      await becomes('a larger chart by a key', (now) => now < whole);
      await page.keyboard.press('-');
      await becomes('all of it by the other key', (now) => now === whole);
      await page.mouse.wheel(0, 100);
      await waitFor(() => page.evaluate<boolean>('scrollY > 0'), { what: 'the page to scroll' });
      expect(await width()).toBe(whole);
    });

    test('makes a chart larger with two fingers, which stay where they are on it, and leaves one finger to the page', async () => {
      const context = await browser.newContext({ hasTouch: true, viewport: { width: 390, height: 800 } });
      const phone = await context.newPage();
      await phone.goto(`${bed.url}#/chart/eviction`);
      const chart = phone.locator('.chart');
      await chart.scrollIntoViewIfNeeded();
      await phone.getByRole('button', { name: 'Fit' }).click();
      const look = async () => {
        const text = (await chart.locator('svg').getAttribute('viewBox')) ?? '';
        const [x = 0, y = 0, width = 0] = text.split(' ').map(Number);
        return { x, y, width };
      };
      await waitFor(async () => (await look()).width > 1500, { what: 'all of it' });
      const { x, y, width } = (await chart.boundingBox())!;
      const whole = await look();
      const client = await context.newCDPSession(phone);
      const touch = (type: 'touchStart' | 'touchMove' | 'touchEnd', ...across: number[]) =>
        client.send('Input.dispatchTouchEvent', {
          type,
          touchPoints: across.map((share, id) => ({ x: x + width * share, y: y + 60, id })),
        });
      const inDrawing = ({ x: left, width: shown }: typeof whole, share: number) => left + shown * share;
      await touch('touchStart', 0.4, 0.6);
      await touch('touchMove', 0.3, 0.7);
      await touch('touchMove', 0.2, 0.8);
      await touch('touchEnd');
      await waitFor(async () => (await look()).width < whole.width / 2.5, { what: 'a larger chart' });
      const larger = await look();
      expect(inDrawing(larger, 0.2)).toBeCloseTo(inDrawing(whole, 0.4), -1);
      expect(inDrawing(larger, 0.8)).toBeCloseTo(inDrawing(whole, 0.6), -1);
      expect(await phone.evaluate('visualViewport.scale')).toBe(1);
      await touch('touchStart', 0.5);
      await touch('touchMove', 0.3);
      await touch('touchEnd');
      await waitFor(async () => (await look()).x > larger.x, { what: 'the chart to be moved' });
      expect((await look()).width).toBe(larger.width);
      await phone.getByRole('button', { name: 'Fit' }).click();
      await waitFor(async () => (await look()).width === whole.width, { what: 'all of it again' });
      await context.close();
    });

    test('says so when the agent does not answer', async () => {
      await bed.close();
      await page.getByRole('alert').waitFor();
      // It would try to connect again, and fail.
      await page.close();
      problems.splice(0); // The browser says that the connection has ended.
      expect(bed.listeners.size).toBe(0);
    });
  });
});
