/** Takes the two pictures of the page in README.md, of a daemon that runs the pods below. It takes two minutes, and needs Chromium. */
import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium, type Page } from 'playwright-core';
import { manifest, type ManifestFields, SERVE, shell } from '../test/e2e/manifests.ts';
import { DaemonBed } from '../test/support/daemon.ts';

const FOLDER = fileURLToPath(new URL('../docs/images/', import.meta.url));
const BYTES_MAX = 150_000;
const VIEWPORT = { width: 1180, height: 700 };
/** How long a pod may not be ready until it needs attention. */
const PATIENCE_MS = 180_000;

const ok = { exec: { command: ['true'] }, periodSeconds: 2 };
const refused = 'echo upstream payments.shop.svc refused the connection; exit 1';
const BUILDING = 'echo the index is being built; exit 1';
const shop = { metadata: { namespace: 'shop' } };
const proxy = shell(SERVE, { name: 'proxy', restartPolicy: 'Always' });
const migrate = shell('exit 7', { name: 'migrate' });
const PODS: Readonly<Record<string, ManifestFields>> = {
  cart: { ...shop, containers: [shell(SERVE, { readinessProbe: ok })] },
  catalog: { ...shop, containers: [shell(SERVE)], initContainers: [proxy] },
  checkout: {
    ...shop,
    containers: [
      shell(SERVE, { readinessProbe: { exec: { command: ['sh', '-c', refused] }, periodSeconds: 2 } }),
    ],
  },
  mailer: { containers: [shell('sleep 2; exit 3')] },
  nightly: { containers: [shell('exit 0')], restartPolicy: 'Never' },
  orders: { ...shop, containers: [shell(SERVE)], initContainers: [migrate] },
  report: { containers: [shell('exit 4')], restartPolicy: 'Never' },
  search: {
    containers: [
      shell(SERVE, {
        startupProbe: { exec: { command: ['sh', '-c', BUILDING] }, periodSeconds: 5, failureThreshold: 60 },
      }),
    ],
  },
  web: { containers: [shell(SERVE, { readinessProbe: ok, livenessProbe: ok })] },
};

async function take(page: Page, name: string): Promise<void> {
  const path = join(FOLDER, name);
  await page.screenshot({ path });
  const { size } = statSync(path);
  if (size > BYTES_MAX) throw new Error(`${path} has ${size} bytes; README wants at most ${BYTES_MAX}`);
}

const bed = new DaemonBed();
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu'],
});
try {
  const pods = join(bed.dir, 'pods');
  mkdirSync(pods);
  mkdirSync(FOLDER, { recursive: true });
  for (const [name, fields] of Object.entries(PODS))
    writeFileSync(join(pods, `${name}.json`), manifest(name, fields));
  const daemon = await bed.run(['--pods', pods, '--exit-with-pods', '--ui=127.0.0.1:0']);
  const line = await daemon.logged('the page', ({ msg }) => msg.startsWith('the page of this node'));
  const { url = '' } = line as { readonly url?: string };
  const page = await browser.newPage({ viewport: VIEWPORT, colorScheme: 'light' });
  page.setDefaultTimeout(PATIENCE_MS);
  await page.goto(url);
  const late = page.getByRole('row', { name: /needs attention: Running shop\/checkout / });
  await late.waitFor();
  await take(page, 'page-pods.png');
  await page.emulateMedia({ colorScheme: 'dark' });
  await page.goto(`${url}#/pod/shop/checkout`);
  await page.getByText('needs attention for').waitFor();
  await page.getByRole('img', { name: /^readiness main: .*not ready for/ }).waitFor();
  // The recorded transitions come a moment later.
  await page.locator('.transitions li', { hasText: 'ADMITTED' }).waitFor();
  await take(page, 'page-pod.png');
} finally {
  await browser.close();
  await bed.cleanUp();
}
