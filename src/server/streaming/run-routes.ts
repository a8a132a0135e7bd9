/** `/run`: a command without streams; the answer is its output. */
import { runCommand } from '../../policies/server/remote-command-options.ts';
import type { NodeApi } from '../routes/node-api.ts';
import { RequestError, type Route } from '../routes/route.ts';
import { askRuntime, runningContainer, unlessRefused } from './found-container.ts';

export function runRoutes(api: Pick<NodeApi, 'pod' | 'runtime'>): readonly Route[] {
  const route: Omit<Route, 'path'> = {
    methods: ['POST'],
    handle: async ({ params, query }, response) => {
      const { namespace = '', pod: name = '', container = '' } = params;
      const pod = api.pod(namespace, name)?.pod;
      const command = unlessRefused(runCommand(query, pod !== undefined));
      const { runtime } = api;
      const gone = new AbortController();
      response.once('close', () => gone.abort());
      const { signal } = gone;
      const id = await askRuntime(runningContainer(runtime, pod?.metadata.uid ?? '', container, { signal }));
      if (id === undefined) throw new RequestError(500, `container not found ("${container}")`);
      const { exitCode, stdout, stderr } = await askRuntime(runtime.execSync(id, command, 0, { signal }));
      if (exitCode !== 0) {
        throw new RequestError(
          500,
          `command '${command.join(' ')}' exited with ${exitCode}: ${stderr.toString()}`,
        );
      }
      const body = Buffer.concat([stdout, stderr]);
      response
        .writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': body.length })
        .end(body);
    },
  };
  const paths = [':container', ':uid/:container'];
  return paths.map((path) => ({ ...route, path: `/run/:namespace/:pod/${path}` }));
}
