/** `/debug/flags/v`: changes how much is logged, until the agent ends. */
import type { IncomingMessage } from 'node:http';
import { BoundedOutput } from '../../system/run-command.ts';
import { verbosityOf } from '../../policies/server/health-report.ts';
import { errorMessage } from '../../types/errors.ts';
import { answer, NO_SNIFF } from './answers.ts';
import type { NodeApi } from './node-api.ts';
import type { Route } from './route.ts';

const HEADERS = { 'Content-Type': 'text/plain', ...NO_SNIFF };
/** More than any number; of a longer body the beginning is read, which is no number either. */
const BODY_BYTES_MAX = 1024;

export function verbosityRoutes(api: Pick<NodeApi, 'setVerbosity'>): readonly Route[] {
  return [
    {
      path: '/debug/flags/v',
      handle: async ({ raw }, response) => {
        if (raw.method !== 'PUT') {
          answer(response, 406, 'unsupported http method\n', HEADERS);
          return;
        }
        const text = await beginningOf(raw);
        try {
          api.setVerbosity(verbosityOf(text));
        } catch (error) {
          answer(response, 400, `${errorMessage(error)}\n`, HEADERS);
          return;
        }
        answer(response, 200, `successfully set klog.logging.verbosity to ${text}\n`, HEADERS);
      },
    },
  ];
}

async function beginningOf(request: IncomingMessage): Promise<string> {
  const body = new BoundedOutput(BODY_BYTES_MAX);
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    body.add(chunk as Buffer);
    if (body.isFull) break;
  }
  return body.toString();
}
