import type { Clock } from '../../types/clock.ts';
import type { Node, Taint } from '../../types/kubernetes.ts';
import type { SimulatedApiServer } from '../api/simulated-api-server.ts';
import { pick } from './plugins-plan.ts';
import type { PluginWorld } from './simulated-plugin.ts';

const EVERY_MS = 20_000;
const TAINTS: readonly (readonly Taint[])[] = [
  [],
  [{ key: 'example.com/mine', effect: 'NoSchedule', value: 'yes' }],
  [{ key: 'katalyst.kubewharf.io.example/other', effect: 'NoExecute' }],
];

/** Somebody who sets other taints of the node now and then, and takes all of those away that stand there. */
export class TaintedBySomebody {
  /** What changes now is changed by them. */
  isAtWork = false;

  constructor(api: SimulatedApiServer, world: PluginWorld, clock: Clock) {
    const target = { resource: 'nodes', name: api.nodeName } as const;
    let times = 0;
    const next = () => {
      if (!world.misbehaves()) return;
      const key = `taints/${String(++times)}`;
      clock.setTimeout(next, 1 + Math.floor(EVERY_MS * world.random(key)));
      if (api.store.get('nodes', target) === undefined) return;
      const node = api.store.get('nodes', target) as Node;
      const kept = (node.spec?.taints ?? []).filter(({ key: of }) => !of.includes('example'));
      const all = world.random(`${key}/all`) < 0.2 ? [] : kept;
      const taints = [...all, ...pick(TAINTS, world.random(`${key}/which`))];
      this.isAtWork = true;
      api.operations.patch(target, { spec: { taints } });
      this.isAtWork = false;
    };
    next();
  }
}
