/** Carries forwarded connections between a client and the runtime. */
import { createWebSocketStream } from 'ws';
import type { PortForwarder, Streaming } from '../../../runtime/service/streaming-runtime.ts';
import { askRuntime } from '../found-container.ts';
import type { StreamingLimits } from '../streaming-limits.ts';
import { acceptSpdy, acceptWebSocket, type UpgradeRequest } from '../upgrade/accept.ts';
import { isWebSocket, listed, spdyProtocol, webSocketProtocol } from '../upgrade/negotiation.ts';
import { joinSockets, proxyUpgrade } from '../upgrade/proxy-upgrade.ts';
import { askForUpgrade, refusalOf } from '../upgrade/runtime-upgrade.ts';
import type { ForwardTarget } from './forward-connection.ts';
import { FORWARD_PROTOCOL, forwardOverSpdy } from './spdy-forward.ts';
import { FORWARD_SUBPROTOCOLS, forwardOverWebSocket } from './web-socket-forward.ts';

export interface ServedForward {
  readonly ports: readonly number[];
  readonly podName: string;
  readonly podUid: string;
  start(): Promise<Streaming<PortForwarder>>;
  readonly signal: AbortSignal;
  readonly limits: StreamingLimits;
}

/** SPDY in the messages of a WebSocket. */
const TUNNEL = `SPDY/3.1+${FORWARD_PROTOCOL}`;

/** Whether the client carries SPDY in a WebSocket: then it names the port of each connection in its stream. */
export function isTunnel({ raw }: Pick<UpgradeRequest, 'raw'>): boolean {
  return isWebSocket(raw) && listed(raw, 'sec-websocket-protocol').includes(TUNNEL);
}

/** Throws a `RequestError` while the request can still be refused. Resolves when the connection is done with or handed over. */
export async function serveForward(client: UpgradeRequest, forward: ServedForward): Promise<void> {
  const serve = serving(client, forward);
  const started = await askRuntime(forward.start());
  if ('streams' in started) {
    const { podName, podUid } = forward;
    await serve({ forwarder: started.streams, podName, podUid });
  } else if (isTunnel(client)) await tunnel(client, started.url, forward.signal);
  else await proxyUpgrade(client, started.url, forward.signal);
}

/** A request that no protocol fits is refused here. */
function serving(
  client: UpgradeRequest,
  { ports, limits: { creationMs } }: ServedForward,
): (target: ForwardTarget) => Promise<void> {
  if (isTunnel(client)) {
    return async (target) => {
      const socket = await acceptWebSocket(client, TUNNEL);
      if (socket) await forwardOverSpdy(createWebSocketStream(socket), target, creationMs);
      else target.forwarder.close();
    };
  }
  if (isWebSocket(client.raw)) {
    const protocol = webSocketProtocol(client.raw, FORWARD_SUBPROTOCOLS);
    return async (target) => {
      const socket = await acceptWebSocket(client, protocol);
      if (socket) await forwardOverWebSocket(socket, protocol, ports, target);
      else target.forwarder.close();
    };
  }
  const protocol = spdyProtocol(client.raw, [FORWARD_PROTOCOL]);
  return (target) => forwardOverSpdy(acceptSpdy(client, protocol), target, creationMs);
}

/** The runtime speaks SPDY; the bytes are the same. */
async function tunnel(client: UpgradeRequest, url: URL, signal: AbortSignal): Promise<void> {
  const headers = {
    Connection: 'Upgrade',
    Upgrade: 'SPDY/3.1',
    'X-Stream-Protocol-Version': FORWARD_PROTOCOL,
  };
  const { response, socket: runtime } = await askRuntime(
    askForUpgrade({ url, method: 'POST', headers, signal }),
  );
  if (!runtime) throw await refusalOf(response);
  const socket = await acceptWebSocket(client, TUNNEL);
  if (socket) joinSockets(createWebSocketStream(socket), runtime);
  else runtime.destroy();
}
