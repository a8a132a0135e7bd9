/** `/stats/summary` and `/metrics/resource` of hollow nodes: what metrics-server reads, and with it `kubectl top` and autoscalers. */
import type { IncomingMessage } from 'node:http';
import { inKubeletOrder } from '../../agent/policies/server/summary-order.ts';
import { METRICS_TYPE, metricsText } from '../../agent/server/metrics/metric-text.ts';
import { resourceMetrics } from '../../agent/server/metrics/resource-metrics.ts';
import {
  answer,
  answerJSON,
  RequestError,
  type Route,
  type RouteRequest,
} from '../../agent/server/routes/route.ts';
import type { Summary } from '../../types/stats.ts';
import type { HollowNode } from '../node/hollow-node.ts';

/** `nodeOf`: the node at whose port a request has come. */
export function figuresRoutes(
  nodeOf: (request: IncomingMessage) => HollowNode | undefined,
): readonly Route[] {
  const summaryFor = ({ raw }: RouteRequest): Summary => {
    const node = nodeOf(raw);
    if (node?.agent === undefined) throw new RequestError(503, 'the node is dead\n');
    return node.machine.use.summary();
  };
  return [
    {
      path: '/stats/summary',
      handle: (request, response) => answerJSON(response, inKubeletOrder(summaryFor(request)), 1),
    },
    {
      path: '/metrics/resource',
      handle: (request, response) => {
        const text = metricsText(resourceMetrics(summaryFor(request)));
        answer(response, 200, text, { 'Content-Type': METRICS_TYPE });
      },
    },
  ];
}
