/** A real browser: Debian's Chromium, or its headless shell, which has the same engine and needs half the CPU time. */
import { existsSync } from 'node:fs';
import { afterAll, beforeAll, describe } from '@jest/globals';
import { type Browser, chromium } from 'playwright-core';
import { later } from './later.ts';

const PROGRAMS = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'];
const CHROMIUM = process.env.CHROMIUM ?? PROGRAMS.find((program) => existsSync(program));

/** A suite with one browser. Without Chromium it is skipped, and stderr says so. */
export function describeInBrowser(name: string, suite: (browser: Browser) => void): void {
  if (CHROMIUM === undefined || !existsSync(CHROMIUM)) {
    process.stderr.write(
      `\nSKIPPED, NOTHING PROVED: "${name}" needs a browser, and there is no ${CHROMIUM ?? PROGRAMS.join(', and no ')}.\n`,
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
