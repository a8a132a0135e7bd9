/**
 * A device plugin for Statelet and every kubelet: three lamps. A container that has some finds them in $LAMPS.
 * `npm install @grpc/grpc-js protobufjs`, then `FOLDER=/var/lib/kubelet/device-plugins node device-plugin.ts`.
 */
import { existsSync, mkdirSync, rmSync, watch } from 'node:fs';
import { join } from 'node:path';
import grpc from '@grpc/grpc-js';
import protobuf from 'protobufjs';

const { FOLDER = '/var/lib/kubelet/device-plugins', RESOURCE = 'example.com/lamp' } = process.env;
const [AGENT, SOCKET] = [join(FOLDER, 'kubelet.sock'), join(FOLDER, 'lamps.sock')];

const { root } = protobuf.parse(`
  syntax = "proto3";
  message Empty {}
  message Registration { string version = 1; string endpoint = 2; string resource_name = 3; }
  message Devices { message Device { string ID = 1; string health = 2; } repeated Device devices = 1; }
  message Request { message Ids { repeated string ids = 1; } repeated Ids containers = 1; }
  message Answer { message Container { map<string, string> envs = 1; } repeated Container containers = 1; }`);

function method(path: string, request: string, answer: string, responseStream = false) {
  const encode = (name: string) => (value: object) =>
    Buffer.from(root.lookupType(name).encode(root.lookupType(name).fromObject(value)).finish());
  const decode = (name: string) => (bytes: Buffer) => root.lookupType(name).decode(bytes);
  return {
    path: `/v1beta1.${path}`,
    requestStream: false,
    responseStream,
    requestSerialize: encode(request),
    requestDeserialize: decode(request),
    responseSerialize: encode(answer),
    responseDeserialize: decode(answer),
  };
}

/** A real plugin looks at its devices, and lists all of them again when one breaks or is mended. */
const devices = ['red', 'green', 'blue'].map((ID) => ({ ID, health: 'Healthy' }));
const service = {
  options: method('DevicePlugin/GetDevicePluginOptions', 'Empty', 'Empty'),
  list: method('DevicePlugin/ListAndWatch', 'Empty', 'Devices', true),
  allocate: method('DevicePlugin/Allocate', 'Request', 'Answer'),
};
type Answer = grpc.sendUnaryData<object>;
const calls: grpc.UntypedServiceImplementation = {
  options: (_: unknown, answer: Answer) => answer(null, {}),
  list: (stream: grpc.ServerWritableStream<object, object>) => stream.write({ devices }),
  allocate: ({ request }: { request: { containers: { ids: string[] }[] } }, answer: Answer) =>
    answer(null, { containers: request.containers.map(({ ids }) => ({ envs: { LAMPS: ids.join() } })) }),
};

let server: grpc.Server | undefined;
/** An agent that starts removes all sockets of the folder: then the plugin listens and registers again. */
function serve(): void {
  if (!existsSync(AGENT) || existsSync(SOCKET)) return;
  server?.forceShutdown();
  server = new grpc.Server();
  server.addService(service, calls);
  server.bindAsync(`unix:${SOCKET}`, grpc.ServerCredentials.createInsecure(), register);
}

function register(): void {
  const { path, requestSerialize, responseDeserialize } = method(
    'Registration/Register',
    'Registration',
    'Empty',
  );
  const client = new grpc.Client(`unix:${AGENT}`, grpc.credentials.createInsecure());
  const request = { version: 'v1beta1', endpoint: 'lamps.sock', resourceName: RESOURCE };
  client.makeUnaryRequest(path, requestSerialize, responseDeserialize, request, (error) => {
    console.log(error ? `not registered yet: ${error.message}` : `registered ${RESOURCE}`);
    client.close();
    // The agent's socket is there a moment before the agent listens.
    if (error) setTimeout(register, 500);
  });
}

mkdirSync(FOLDER, { recursive: true, mode: 0o750 });
rmSync(SOCKET, { force: true });
watch(FOLDER, serve);
serve();
