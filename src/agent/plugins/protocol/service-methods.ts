/** The methods of both services, as a client calls them and as a server of gRPC offers them. */
import type { MethodDefinition } from '@grpc/grpc-js';
import type { Method } from '../../../system/grpc/method.ts';
import { bool, field, list, message, type MessageType, string } from '../../../system/protobuf.ts';
import {
  activePodsRequest,
  empty,
  getTokenResponse,
  getTopEvictionPodsRequest,
  namedResponses,
  wholeResponses,
} from './eviction-plugin-messages.ts';

/** Of the kubelet's plugin registration, `pluginregistration` v1. */
export interface PluginInfo {
  /** The kind of plugin: `EvictionPlugin`. */
  readonly type: string;
  readonly name: string;
  /** The path of the socket that serves it. Empty: the socket that was asked. */
  readonly endpoint: string;
  readonly supportedVersions: readonly string[];
}

export interface RegistrationStatus {
  readonly registered: boolean;
  /** Why not. */
  readonly error: string;
}

export const pluginInfo = message<PluginInfo>({
  type: field(1, string),
  name: field(2, string),
  endpoint: field(3, string),
  supportedVersions: list(4, string),
});

export const registrationStatus = message<RegistrationStatus>({
  registered: field(1, bool),
  error: field(2, string),
});

export {
  EVICTION_PLUGIN_TYPE,
  EVICTION_PLUGIN_VERSIONS,
} from '../../policies/eviction-plugins/plugin-registration.ts';

const registration = <Q, A>(
  name: string,
  request: MessageType<Q>,
  response: MessageType<A>,
): Method<Q, A> => ({
  name,
  path: `/pluginregistration.Registration/${name}`,
  request,
  response,
});
const evictionPlugin = <Q, A>(
  name: string,
  request: MessageType<Q>,
  response: MessageType<A>,
): Method<Q, A> => ({ name, path: `/evictionplugin.v1alpha1.EvictionPlugin/${name}`, request, response });

export const GET_INFO = registration('GetInfo', empty, pluginInfo);
export const NOTIFY_REGISTRATION_STATUS = registration('NotifyRegistrationStatus', registrationStatus, empty);

export const GET_TOKEN = evictionPlugin('GetToken', empty, getTokenResponse);
export const THRESHOLD_MET = evictionPlugin('ThresholdMet', activePodsRequest, namedResponses.thresholdMet);
export const GET_TOP_EVICTION_PODS = evictionPlugin(
  'GetTopEvictionPods',
  getTopEvictionPodsRequest,
  namedResponses.getTopEvictionPods,
);
export const GET_EVICT_PODS = evictionPlugin('GetEvictPods', activePodsRequest, namedResponses.getEvictPods);

/** For `Server.addService`. */
export function served<Q, A>({ path, request, response }: Method<Q, A>): MethodDefinition<Q, A> {
  return {
    path,
    requestStream: false,
    responseStream: false,
    requestSerialize: request.encode,
    requestDeserialize: request.decode,
    responseSerialize: response.encode,
    responseDeserialize: response.decode,
  };
}

export const REGISTRATION_SERVICE = {
  getInfo: served(GET_INFO),
  notifyRegistrationStatus: served(NOTIFY_REGISTRATION_STATUS),
};

export const EVICTION_PLUGIN_SERVICE = {
  getToken: served(GET_TOKEN),
  thresholdMet: served({ ...THRESHOLD_MET, response: wholeResponses.thresholdMet }),
  getTopEvictionPods: served({ ...GET_TOP_EVICTION_PODS, response: wholeResponses.getTopEvictionPods }),
  getEvictPods: served({ ...GET_EVICT_PODS, response: wholeResponses.getEvictPods }),
};
