/** `statelet hollow`: runs hollow nodes in a cluster until a signal comes, or does something with those that run. */
import { resolve } from 'node:path';
import { resolveServerSettings } from '../agent/config/load-server-settings.ts';
import { createLogger, levelOf } from '../agent/server/open-logger.ts';
import { openHollowFleet } from '../hollow/hollow-fleet.ts';
import { DEFAULT_PLAN, type HollowPlan, parseHollowPlan } from '../hollow/plan/hollow-plan.ts';
import { HOLLOW_ACTIONS, type ListedNode } from '../hollow/serve/hollow-control.ts';
import { readProvidedFile } from '../system/files/foreign-file.ts';
import { endProcess } from '../system/run-command.ts';
import { onOutputClosed, print } from '../system/terminal.ts';
import { errorMessage, invalid } from '../types/errors.ts';
import { withDaemon } from './client/daemon-connection.ts';
import { hollowConfiguration } from './hollow-configuration.ts';
import { reportDefects, stopRequest, tightenUmask } from './process-events.ts';
import { formatTable } from './table.ts';

export interface HollowFlags {
  readonly nodes: string;
  readonly kubeconfig?: string;
  readonly plan?: string;
  readonly rootDir: string;
  readonly nodeIp?: string;
  readonly v: string;
  /** Those of the server. */
  readonly [flag: string]: unknown;
}

const NODES_MAX = 10_000;

export async function hollow(action: string, names: readonly string[], flags: HollowFlags): Promise<void> {
  if (action === 'run') await runNodes(names, flags);
  else
    await withDaemon(flags, async (daemon) => {
      if (action === 'list') {
        print(nodeTable(await daemon.json<readonly ListedNode[]>('/nodes'), names));
        return;
      }
      if (!HOLLOW_ACTIONS.some((known) => known === action))
        throw invalid(`"${action}" is none of run, list, ${HOLLOW_ACTIONS.join(', ')}`);
      if (names.length === 0) throw invalid(`name the nodes to ${action}`);
      for (const name of names) {
        const path = `/nodes/${encodeURIComponent(name)}/${action}`;
        const { state } = await daemon.json<ListedNode>(path, { method: 'POST' });
        print(`${name}: ${state}\n`);
      }
    });
}

async function runNodes(names: readonly string[], flags: HollowFlags): Promise<void> {
  const { nodes, kubeconfig, plan: planFile, rootDir, nodeIp, v, ...serverFlags } = flags;
  if (names.length > 0) throw invalid('nodes are named by the plan: say how many with --nodes');
  if (kubeconfig === undefined) throw invalid('--kubeconfig is missing: hollow nodes belong to a cluster');
  const count = wholeNumber('--nodes', nodes, NODES_MAX);
  const plan = await planOf(planFile);
  const server = resolveServerSettings({ flags: serverFlags, file: {}, fileName: '' });
  tightenUmask();
  // The process goes on when its output is closed.
  onOutputClosed(() => undefined);
  const logger = await createLogger({ verbosity: wholeNumber('--v', v, 10), format: 'auto' });
  reportDefects(logger);
  const asked = stopRequest(logger, 'the hollow nodes end at once');
  const fleet = await openHollowFleet({
    plan,
    kubeconfig: resolve(kubeconfig),
    nodes: count,
    rootDir: resolve(rootDir),
    nodeIP: nodeIp,
    server,
    served: {
      ...hollowConfiguration(plan, { ...serverFlags, rootDir: resolve(rootDir) }),
      setVerbosity: (level) => {
        logger.level = levelOf(level);
      },
    },
    logger,
  });
  void fleet.start();
  const signal = await asked;
  logger.info({ signal }, 'the hollow nodes stop: their pods are not ended');
  await fleet.stop();
  endProcess(0);
}

async function planOf(file: string | undefined): Promise<HollowPlan> {
  if (file === undefined) return DEFAULT_PLAN;
  let text: string;
  try {
    text = await readProvidedFile(file);
  } catch (error) {
    throw invalid(`--plan: ${errorMessage(error)}`);
  }
  return parseHollowPlan(text, file);
}

function nodeTable(nodes: readonly ListedNode[], names: readonly string[]): string {
  const shown = nodes.filter(({ name }) => names.length === 0 || names.includes(name));
  return formatTable([
    ['NAME', 'STATE', 'PODS'],
    ...shown.map(({ name, state, pods }) => [name, state, String(pods)]),
  ]);
}

function wholeNumber(flag: string, text: string, max: number): number {
  const value = Number(text);
  if (/^\d+$/u.test(text) && value <= max) return value;
  throw invalid(`${flag}: "${text}" is not a whole number from 0 to ${String(max)}`);
}
