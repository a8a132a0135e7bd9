/**
 * WebSockets of present versions of kubectl, whose streams can be ended one by one. The API server translates them to SPDY for nodes. A node that
 * says that it accepts them gets them unchanged.
 */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import { createWebSocketStream } from 'ws';
import { joinCommand } from '../../../src/agent/server/streaming/command/command-session.ts';
import type { CommandStatus } from '../../../src/agent/server/streaming/command/command-status.ts';
import {
  openRuntimeCommand,
  webSocketCommand,
} from '../../../src/agent/server/streaming/command/serve-command.ts';
import { isTunnel } from '../../../src/agent/server/streaming/forward/serve-forward.ts';
import { FORWARD_PROTOCOL } from '../../../src/agent/server/streaming/forward/spdy-forward.ts';
import {
  acceptWebSocket,
  isWebSocket,
  listed,
  type UpgradeRequest,
} from '../../../src/agent/server/streaming/upgrade/accept.ts';
import { joinSockets } from '../../../src/agent/server/streaming/upgrade/proxy-upgrade.ts';
import type { AnyObject } from './context.ts';
import type { ResourceRequest } from './requests.ts';
import { internalError } from './status-error.ts';

const V5 = 'v5.channel.k8s.io';
const COMMAND_PROTOCOLS = [V5, 'v4.channel.k8s.io'];
const FEATURE = 'ExtendWebSocketsToKubelet';

/** With `socket`, the node speaks SPDY from now on. Without it, `response` says why not. */
export interface SpdyAnswer {
  readonly response: IncomingMessage;
  readonly socket?: Duplex;
}

/** Asks the node for SPDY. Rejects where it cannot be reached. */
export type AskForSpdy = (protocols: readonly string[]) => Promise<SpdyAnswer>;

export type Translation = (client: UpgradeRequest, ask: AskForSpdy) => Promise<void>;

/** Undefined: the node gets the request unchanged. A translation rejects if the client has no answer yet. */
export function translationOf(
  request: IncomingMessage,
  asked: ResourceRequest,
  node: AnyObject,
): Translation | undefined {
  const features = (node.status?.declaredFeatures ?? []) as readonly string[];
  if (features.includes(FEATURE)) return undefined;
  if (asked.subresource === 'portforward') return isTunnel({ raw: request }) ? translateForward : undefined;
  const isV5 = isWebSocket(request) && listed(request, 'sec-websocket-protocol').includes(V5);
  if (!isV5 || (asked.subresource !== 'exec' && asked.subresource !== 'attach')) return undefined;
  return (client, ask) => translateCommand(client, ask, asked);
}

/** The client is accepted before the node is asked: a refusal is the outcome of its command. */
async function translateCommand(
  client: UpgradeRequest,
  ask: AskForSpdy,
  { subresource, query }: ResourceRequest,
): Promise<void> {
  const webSocket = await acceptWebSocket(client, { protocol: V5 });
  if (webSocket === undefined) return;
  const isSet = (option: string) => /^(?:true|1)$/u.test(query.get(option) ?? '');
  const streams = {
    stdin: isSet('stdin'),
    stdout: isSet('stdout'),
    stderr: isSet('stderr'),
    tty: isSet('tty'),
  };
  const channels = webSocketCommand(webSocket, V5, streams);
  try {
    const node = await commandSocket(ask);
    await joinCommand(openRuntimeCommand(node, streams), channels, subresource as 'exec' | 'attach');
  } catch (error) {
    channels.finish(internalError((error as Error).message).body as CommandStatus);
  }
}

async function commandSocket(ask: AskForSpdy): Promise<Duplex> {
  const { response, socket } = await ask(COMMAND_PROTOCOLS).catch((error: unknown) => {
    throw new Error(`error sending request: ${(error as Error).message}`, { cause: error });
  });
  if (socket === undefined) throw new Error(`unable to upgrade connection: ${(await text(response)).trim()}`);
  return socket;
}

/** The bytes in the messages of the WebSocket are SPDY. The node is asked first: the client gets its refusal as it is. */
async function translateForward(client: UpgradeRequest, ask: AskForSpdy): Promise<void> {
  const { response, socket: node } = await ask([FORWARD_PROTOCOL]);
  if (node === undefined) {
    const { statusCode = 500, statusMessage = '' } = response;
    const body = await text(response);
    const head = [`HTTP/1.1 ${statusCode} ${statusMessage}`, 'Connection: close'];
    client.socket.end([...head, `Content-Length: ${Buffer.byteLength(body)}`, '', body].join('\r\n'));
    return;
  }
  const webSocket = await acceptWebSocket(client, { protocol: `SPDY/3.1+${FORWARD_PROTOCOL}` });
  if (webSocket === undefined) node.destroy();
  else joinSockets(createWebSocketStream(webSocket), node);
}
