/** Builds `dist/ui`, the page: its code in one file, and the charts, laid out. */
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build, type Metafile } from 'esbuild';
import { machines } from '../src/agent/machines/index.ts';
import { pageCharts } from './picture/page-charts.ts';

/** Returns the files that went into it. */
export async function buildPage(root: string): Promise<Metafile['inputs']> {
  const [from, to] = [join(root, 'src/page/browser'), join(root, 'dist/ui')];
  mkdirSync(to, { recursive: true });
  writeFileSync(join(to, 'charts.json'), JSON.stringify(await pageCharts(machines)));
  for (const file of ['index.html', 'icon.svg']) copyFileSync(join(from, file), join(to, file));
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: ['src/page/browser/page.ts', 'src/page/browser/all-charts.ts', 'src/page/browser/page.css'],
    outdir: to,
    bundle: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2023',
    minify: true,
    legalComments: 'linked',
    metafile: true,
    logLevel: 'warning',
  });
  return metafile.inputs;
}
