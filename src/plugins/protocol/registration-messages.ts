/** The messages of the kubelet's plugin registration, `pluginregistration` v1. */
import { bool, field, list, message, string } from '../../system/protobuf.ts';

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
