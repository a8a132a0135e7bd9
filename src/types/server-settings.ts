/** Settings of the node's own server, by the kubelet's names. */
export interface ServerSettings {
  /** Whether there are `port` and `readOnlyPort` at all. */
  readonly enableServer: boolean;
  readonly address: string;
  /** Undefined: 10250 in a cluster, and no port outside one. 0: any free port. */
  readonly port: number | undefined;
  /** 0: none. */
  readonly readOnlyPort: number;
  /** Empty: the certificate is asked for at the API server, or signed by the agent itself. */
  readonly tlsCertFile: string;
  readonly tlsPrivateKeyFile: string;
  /** Go's name, such as `VersionTLS12`. Empty: TLS 1.2. */
  readonly tlsMinVersion: string;
  /** Go's names. Empty: OpenSSL's choice. */
  readonly tlsCipherSuites: readonly string[];
  /** Go's numbers. Empty: OpenSSL's choice. */
  readonly tlsCurvePreferences: readonly number[];
  /** Empty: no client certificate is asked for. */
  readonly clientCAFile: string;
  /** Whether the API server is asked whose a bearer token is. */
  readonly tokenWebhook: boolean;
  readonly tokenCacheTTLMs: number;
  readonly anonymousAuth: boolean;
  readonly authorizationMode: string;
  readonly authorizedTTLMs: number;
  readonly unauthorizedTTLMs: number;
  readonly enableDebuggingHandlers: boolean;
  /** 0: no limit. */
  readonly streamingConnectionIdleTimeoutMs: number;
  readonly enableSystemLogHandler: boolean;
  readonly enableSystemLogQuery: boolean;
  readonly enableProfilingHandler: boolean;
  readonly enableDebugFlagsHandler: boolean;
}

/** The kubelet's port. */
export const NODE_PORT = 10_250;

/** Who sends a request to the node's server, as a SubjectAccessReview names it. */
export interface ServerUser {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}
