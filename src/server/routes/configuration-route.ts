/** `/configz`: the KubeletConfiguration that is in effect, as the kubelet serves it. */
import { answerJSON, NO_SNIFF } from './answers.ts';
import type { NodeApi } from './node-api.ts';
import type { Route } from './route.ts';

export function configurationRoutes(api: Pick<NodeApi, 'configuration'>): readonly Route[] {
  return [
    {
      path: '/configz',
      handle: (_request, response) =>
        answerJSON(response, { kubeletconfig: api.configuration() }, 0, NO_SNIFF),
    },
  ];
}
