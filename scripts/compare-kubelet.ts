/**
 * `npm run compare:kubelet -- [--manifests DIR] [--only NAME]`: runs the same static pods with the kubelet and with Statelet,
 * one after the other on the same containerd, and reports where they differ. Exit code 1: a difference that is not meant;
 * 2: the comparison could not run.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { compareAgents } from './compare/compare.ts';
import { readConfig, readManifests } from './compare/manifests.ts';
import { concerns, readMeant } from './compare/meant.ts';
import { textReport } from './compare/report.ts';
import { startContainerd } from '../test/support/containerd/containerd.ts';
import { findKubelet, NO_KUBELET } from '../test/support/kubernetes-programs.ts';

const USAGE = `Usage: npm run compare:kubelet -- [options]

Gives the same static pods to the kubelet and to Statelet, one after the other on the same containerd, and compares what
both did: requests of CRI, statuses, cgroups, files, logs, events. Needs root. The kubelet is $KUBELET, or
that of the folder $KUBEBUILDER_ASSETS (or else ~/.cache/kubebuilder-assets).

  --manifests DIR     a folder of manifests of Pods, instead of those that belong to the project
  --only NAME         only the manifests whose names contain NAME
  --config FILE       fields of KubeletConfiguration that both agents get
  --meant FILE        the list of differences that are meant, instead of the project's
  --idle-seconds N    how long calls are counted when pods are at rest (10)
  --settle-seconds N  how long to wait for pods to come to rest (240)
  --logs DIR          keeps the logs of both agents in DIR
  -o json             the report as JSON

Exit code: 0 no differences except those that are meant, 1 other differences, 2 the comparison could not run.`;

const own = (path: string) => fileURLToPath(new URL(path, import.meta.url));

const OPTIONS = {
  manifests: { type: 'string', default: own('compare/manifests') },
  only: { type: 'string', default: '' },
  config: { type: 'string' },
  meant: { type: 'string', default: own('compare/meant.yaml') },
  'idle-seconds': { type: 'string', default: '10' },
  'settle-seconds': { type: 'string', default: '240' },
  logs: { type: 'string' },
  output: { type: 'string', short: 'o', default: 'text' },
  help: { type: 'boolean', short: 'h' },
} as const;

function fail(message: string): never {
  console.error(`compare: ${message}`);
  process.exit(2);
}

function attempt<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    return fail(error instanceof Error ? error.message : String(error));
  }
}

function positive(name: string, text: string): number {
  const number = Number(text);
  if (!(number >= 0)) fail(`--${name} must be a number of seconds, not "${text}"`);
  return number;
}

const { values } = attempt(() => parseArgs({ options: OPTIONS }));
if (values.help) {
  console.log(USAGE);
  process.exit(0);
}
if (!['text', 'json'].includes(values.output)) fail(`-o must be json or text, not "${values.output}"`);
const idleSeconds = positive('idle-seconds', values['idle-seconds']);
const settleMs = positive('settle-seconds', values['settle-seconds']) * 1000;
const manifests = attempt(() => readManifests(values.manifests, values.only));
if (manifests.length === 0) fail(`no manifest in ${values.manifests} has a name with "${values.only}"`);
const { config: configFile } = values;
const config = configFile === undefined ? {} : attempt(() => readConfig(configFile));
const meant = attempt(() => readMeant(values.meant));
if (process.platform !== 'linux' || process.geteuid?.() !== 0) fail('needs Linux, and root');
const kubelet = attempt(findKubelet) ?? fail(NO_KUBELET);

const bed = await startContainerd();
try {
  const found = await compareAgents({
    bed,
    kubelet,
    manifests,
    config,
    meant,
    idleSeconds,
    settleMs,
    progress: (text) => process.stderr.write(`${text}\n`),
    keepLog: (agent, log) => {
      if (values.logs !== undefined) writeFileSync(join(values.logs, `${agent}.log`), log);
    },
  });
  // With other manifests, or some of them only, most entries of the list match nothing.
  const isWhole = values.only === '' && values.manifests === OPTIONS.manifests.default;
  const names = ['node', ...manifests.map(({ name }) => name)];
  const idle = isWhole ? found.idle.filter((entry) => concerns(entry, names)) : [];
  const report = { ...found, idle };
  console.log(values.output === 'json' ? JSON.stringify(report, null, 2) : textReport(report));
  process.exitCode = report.unexpected.length > 0 ? 1 : 0;
} finally {
  await bed.stop({ leftovers: 'remove' });
}
