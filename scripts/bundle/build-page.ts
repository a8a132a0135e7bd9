/** Builds `dist/ui`, the page: its code in two files, and the charts, laid out. */
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { machines } from '../../src/agent/machines/index.ts';
import { pageCharts } from '../picture/page-charts.ts';
import { bundle } from './bundle.ts';

/** Returns the files that went into it. */
export async function buildPage(root: string): Promise<readonly string[]> {
  const [from, to] = [join(root, 'src/page/browser'), join(root, 'dist/ui')];
  mkdirSync(to, { recursive: true });
  writeFileSync(join(to, 'charts.json'), JSON.stringify(await pageCharts(machines)));
  for (const file of ['index.html', 'icon.svg', 'page.css']) copyFileSync(join(from, file), join(to, file));
  return bundle({
    programs: { page: 'src/page/browser/page.ts', 'all-charts': 'src/page/browser/all-charts.ts' },
    dir: to,
    platform: 'browser',
    shorten: 'names',
  });
}
