/** A real browser: Debian's Chromium. */
import { existsSync } from 'node:fs';
import { afterAll, beforeAll, describe } from '@jest/globals';
import { type Browser, chromium } from 'playwright-core';
import { later } from './later.ts';

const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';

/** A suite with one browser. Without Chromium it is skipped, and stderr says so. */
export function describeInBrowser(name: string, suite: (browser: Browser) => void): void {
  if (!existsSync(CHROMIUM)) {
    process.stderr.write(
      `\nSKIPPED, NOTHING PROVED: "${name}" needs a browser, and there is no ${CHROMIUM}.\n`,
    );
    describe.skip(name, () => suite(undefined as never));
    return;
  }
  describe(name, () => {
    let started: Browser | undefined;
    beforeAll(async () => {
      // As root, Chromium runs only without its sandbox. It loads nothing but pages of this machine.
      started = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-gpu'] });
    });
    suite(later('the browser', () => started));
    afterAll(() => started?.close());
  });
}
