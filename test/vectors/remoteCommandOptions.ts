import {
  forwardedPorts,
  remoteCommand,
  runCommand,
} from '../../src/agent/policies/server/remote-command-options.ts';
import type { Refusal } from '../../src/agent/policies/server/log-options.ts';
import type { VectorAdapter } from '../support/vectors.ts';

interface Input {
  readonly method: string;
  readonly requestTarget: string;
  readonly headers: { readonly Upgrade?: string };
  readonly body?: string;
}

/** The only pod of the vectors. */
const POD = { namespace: 'ns', name: 'pod', uid: 'uid-1', fullName: 'pod_ns' };
/** How many parts follow the first one of each path. */
const PATHS: Readonly<Record<string, readonly number[]>> = {
  exec: [3, 4],
  attach: [3, 4],
  run: [3, 4],
  portForward: [2, 3],
};

const refused = ({ status, message }: Refusal) => ({ called: null, status, body: message });

export const adapter: VectorAdapter = {
  adapt({ method, requestTarget, headers, body }: Input) {
    const [path = '', query = ''] = requestTarget.split('?', 2);
    const [action = '', ...parts] = path.split('/').filter((part) => part !== '');
    if (!PATHS[action]?.includes(parts.length))
      return refused({ status: 404, message: '404: Page Not Found' });
    if (method !== 'POST' && (method !== 'GET' || action === 'run')) {
      return refused({ status: 405, message: '405: Method Not Allowed' });
    }
    const podExists = parts[0] === POD.namespace && parts[1] === POD.name;
    if (action === 'portForward') return portForward(query, headers, parts[2] ?? '', podExists);
    const container = parts.at(-1);
    const podUID = parts.length === 4 ? parts[2] : '';
    const of = { podFullName: POD.fullName, podUID, container };
    if (action === 'run') {
      const command = runCommand(query, podExists);
      return 'message' in command
        ? refused(command)
        : { called: { ...of, command }, status: 200, body: 'out' };
    }
    const asked = remoteCommand({ query, form: body ?? '' }, podExists);
    if ('message' in asked) return refused(asked);
    const { command, ...streams } = asked;
    return { called: { ...of, ...streams, ...(action === 'exec' && { command }) } };
  },
};

function portForward(query: string, headers: Input['headers'], uid: string, podExists: boolean): unknown {
  const isWebSocket = headers.Upgrade === 'websocket';
  const ports = forwardedPorts({ query, isWebSocket, uid }, podExists ? POD.uid : undefined);
  if ('message' in ports) return refused(ports);
  return { called: { podName: POD.name, podNamespace: POD.namespace, podUID: POD.uid, ports } };
}
