/** Runs both agents with the same manifests, and compares them. */
import type { ContainerdBed } from '../../test/support/containerd/containerd.ts';
import type { Agent } from './agent.ts';
import { differences } from './differences.ts';
import { startKubelet } from './kubelet.ts';
import { judge, type MeantDifference } from './meant.ts';
import { observe, type ObserveOptions } from './observe.ts';
import type { ComparisonReport } from './report.ts';

export interface CompareOptions extends Pick<
  ObserveOptions,
  'manifests' | 'config' | 'idleSeconds' | 'settleMs' | 'progress'
> {
  readonly bed: ContainerdBed;
  /** The path of the kubelet's binary. */
  readonly kubelet: string;
  readonly meant: readonly MeantDifference[];
  readonly keepLog?: (agent: Agent['name'], log: string) => void;
}

export async function compareAgents(options: CompareOptions): Promise<ComparisonReport> {
  // It fails at once if the daemon's build is out of date.
  const { startStatelet } = await import('./statelet.ts');
  const run = (name: Agent['name'], start: ObserveOptions['start']) =>
    observe({ ...options, name, start, keepLog: (log) => options.keepLog?.(name, log) });
  const kubelet = await run('kubelet', (own) => startKubelet(options.kubelet, own));
  const statelet = await run('statelet', startStatelet);
  const judged = judge(differences(kubelet.observation, statelet.observation), options.meant);
  const unequal = new Set(judged.unexpected.map(({ manifest }) => manifest));
  return {
    ...judged,
    manifests: options.manifests.length,
    equal: options.manifests.filter(({ name }) => !unequal.has(name)).length,
    idleCalls: { kubelet: kubelet.idleCalls, statelet: statelet.idleCalls },
    unsettled: { kubelet: kubelet.unsettled, statelet: statelet.unsettled },
  };
}
