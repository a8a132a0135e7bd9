/** `statelet charts --open`: one file with all charts, as the page draws them, which needs nothing else. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { machines } from '../../agent/machines/index.ts';
import { PAGE_FOLDER } from '../../page/server/page-files.ts';
import { isTerminal } from '../../system/terminal.ts';
import { errorMessage, StateletError } from '../../types/errors.ts';
import { ownVersion } from '../../version.ts';
import { machineOf } from '../charts.ts';
import { toXStateSource } from './xstate-source.ts';

/** Resolves with the path of the file, which is opened in a browser on a terminal. `name`: the chart that is shown first. */
export async function openCharts(file: string, name: string | undefined): Promise<string> {
  if (name !== undefined) machineOf(name);
  const path = resolve(file);
  const text = await chartsFile();
  await writeFile(path, text).catch((error: unknown) => {
    throw new StateletError(
      'FailedPrecondition',
      `--open: cannot write ${path}: ${errorMessage(error)}; name another file: --open FILE`,
      { cause: error },
    );
  });
  if (isTerminal('stdout'))
    await openInBrowser(`${pathToFileURL(path).href}${name === undefined ? '' : `#${name}`}`);
  return path;
}

export async function chartsFile(folder = PAGE_FOLDER): Promise<string> {
  const [drawn = '', style = '', script = ''] = await Promise.all(
    ['charts.json', 'page.css', 'all-charts.js'].map((name) => readFile(join(folder, name), 'utf8')),
  );
  const sources = Object.fromEntries(
    Object.entries(machines).map(([name, machine]) => [name, toXStateSource(machine)]),
  );
  const content = JSON.stringify({ version: ownVersion(), charts: JSON.parse(drawn) as unknown, sources });
  // Nothing in a script element may look like its end.
  const safe = content.replaceAll('<', '\\u003c');
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>The charts of Statelet</title>
<style>${style}</style>
</head>
<body>
<noscript>This page needs JavaScript. "statelet charts NAME" prints a chart in a terminal.</noscript>
<script type="application/json" id="charts">${safe}</script>
<script type="module">${script.replaceAll('</script', '<\\/script')}</script>
</body>
</html>
`;
}

/** Nothing is said where there is no browser: the path is printed in any case. */
async function openInBrowser(url: string): Promise<void> {
  const opener = process.platform === 'darwin' ? 'open' : 'xdg-open';
  const child = spawn(opener, [url], { stdio: 'ignore', detached: true });
  child.unref();
  await Promise.race([once(child, 'spawn'), once(child, 'error')]).catch(() => undefined);
}
