/** `/stats/summary`, as the kubelet serves it. */
import { inKubeletOrder } from '../../policies/server/summary-order.ts';
import { answerJSON } from './answers.ts';
import { wantsOnlyCPUAndMemory } from './local-routes.ts';
import type { NodeApi } from './node-api.ts';
import type { Route } from './route.ts';

export function statsRoutes(api: Pick<NodeApi, 'summary'>): readonly Route[] {
  return [
    {
      path: '/stats/summary',
      methods: ['GET', 'POST'],
      handle: async ({ query }, response) => {
        const onlyCPUAndMemory = wantsOnlyCPUAndMemory(query);
        answerJSON(response, inKubeletOrder(await api.summary({ onlyCPUAndMemory })), 1);
      },
    },
  ];
}
