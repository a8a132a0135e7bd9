/** The flags of the command line with their values, as `/flagz` shows them: what was given, else the default; without secrets. */
import { goDuration } from '../policies/formats/duration.ts';
import { shownURL } from '../policies/formats/secret-fields.ts';
import {
  DEFAULTS,
  EMBEDDED,
  type Endpoint,
  type InspectedPod,
  type RunFlags,
  type StateletConfig,
} from './config.ts';
import { shownIdleFlags } from './kubelet/idle-flags.ts';
import { bytes, flagKey, type Setting } from './setting.ts';
import { ALL_SETTINGS } from './all-settings.ts';

type Texts = Readonly<Record<string, string>>;

export function shownFlags({ given, rootDir, nodeName }: StateletConfig): Texts {
  const { flags } = given;
  const ofTables = ALL_SETTINGS.flatMap((setting) =>
    setting.flag === undefined
      ? []
      : [[nameOf(setting.flag), shown(setting, flags[flagKey(setting.flag)])] as const],
  );
  return {
    ...Object.fromEntries(ofTables),
    ...ownFlags(flags),
    ...shownIdleFlags(flags.idle ?? {}),
    'root-dir': rootDir,
    'hostname-override': flags.hostnameOverride ?? nodeName,
  };
}

/** Flags without a row in a table. */
function ownFlags(flags: RunFlags): Texts {
  const texts = {
    config: flags.config,
    'config-dir': flags.configDir,
    pods: flags.pods?.map(shownLocation).join(','),
    'pod-manifest-path': flags.podManifestPath,
    'manifest-url': flags.manifestUrl && shownURL(flags.manifestUrl),
    'manifest-url-header': headerNames(flags.manifestUrlHeader),
    inspect: inspectText(flags.inspect),
    ui: endpointText(flags.ui, DEFAULTS.ui),
    'inspect-only': flags.inspectOnly && podText(flags.inspectOnly),
  };
  const numbers = {
    'max-pods': flags.maxPods ?? DEFAULTS.maxPods,
    'healthz-port': flags.healthzPort ?? DEFAULTS.healthzPort,
    v: flags.v ?? DEFAULTS.verbosity,
  };
  const durations = {
    'file-check-frequency': flags.fileCheckFrequency ?? DEFAULTS.fileCheckFrequencyMs,
    'http-check-frequency': flags.httpCheckFrequency ?? DEFAULTS.httpCheckFrequencyMs,
    'sync-frequency': flags.syncFrequency ?? DEFAULTS.syncFrequencyMs,
  };
  return {
    ...mapped(texts, (text) => text ?? ''),
    ...mapped(numbers, String),
    ...mapped(durations, goDuration),
    'container-runtime-endpoint': flags.containerRuntimeEndpoint ?? EMBEDDED,
    'embedded-volumes': flags.embeddedVolumes ?? DEFAULTS.embeddedVolumes,
    'healthz-bind-address': flags.healthzBindAddress ?? DEFAULTS.healthzBindAddress,
    'logging-format': flags.loggingFormat ?? 'auto',
    'flight-recorder-size': bytes.show(flags.flightRecorderSize ?? DEFAULTS.flightRecorderBytes),
    live: String(flags.live ?? false),
    'exit-with-pods': String(flags.exitWithPods ?? false),
  };
}

function inspectText(inspect: RunFlags['inspect']): string | undefined {
  if (typeof inspect === 'object' && 'namespace' in inspect) return podText(inspect);
  return endpointText(inspect, DEFAULTS.inspect);
}

function podText({ namespace, name }: InspectedPod): string {
  return `${namespace}/${name}`;
}

/** A URL without its password. */
function shownLocation(text: string): string {
  return URL.canParse(text) ? shownURL(text) : text;
}

function mapped<T>(values: Readonly<Record<string, T>>, text: (value: T) => string): Texts {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, text(value)]));
}

/** `--node-ip <IP>` is `node-ip`. */
function nameOf(flag: string): string {
  return flag.slice(2).split(' ')[0] ?? '';
}

/** Lists and durations as Go's flags print them. */
function shown({ kind, default: byDefault }: Setting, given: unknown): string {
  const value = given ?? byDefault;
  if (Array.isArray(value)) return `[${kind.show(value)}]`;
  const inFile = kind.toField?.(value);
  return typeof inFile === 'string' ? inFile : kind.show(value);
}

/** The values may be passwords. */
function headerNames(headers: RunFlags['manifestUrlHeader']): string {
  return Object.keys(headers ?? {})
    .map((name) => `${name}:<masked>`)
    .join(',');
}

function endpointText(endpoint: Endpoint | true | undefined, byDefault: Endpoint): string {
  if (endpoint === undefined) return '';
  const { host, port } = endpoint === true ? byDefault : endpoint;
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}
