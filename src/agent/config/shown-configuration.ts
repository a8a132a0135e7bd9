/** The configuration in effect, as the kubelet shows its own at `/configz`: complete, in the order of the type, without secrets. */
import { goDuration, parseDuration } from '../policies/formats/duration.ts';
import { shownURL } from '../policies/formats/secret-fields.ts';
import type { StateletConfig } from './config.ts';
import { CONFIGURATION_DEFAULTS, ZERO_MEANS_NOT_GIVEN } from './configuration-defaults.ts';
import { API_VERSION, KIND, KUBELET_CONFIGURATION_SCHEMA, type Schema } from './kubelet-configuration.ts';
import { ALL_SETTINGS } from './all-settings.ts';
import { flagKey } from './setting.ts';

type Fields = Readonly<Record<string, unknown>>;

export function shownConfiguration(config: StateletConfig): Fields {
  const { flags, file } = config.given;
  const given: Fields = { ...withFlags({ ...file }, flags), ...ownFields(config) };
  const shown: Fields = { ...complete(KUBELET_CONFIGURATION_SCHEMA, given, CONFIGURATION_DEFAULTS) };
  return {
    kind: KIND,
    apiVersion: API_VERSION,
    ...shown,
    ...reportFrequency(given),
    ...withoutSecrets(config),
  };
}

/** The file with what flags of the tables say, in the notation of the file. */
function withFlags(file: Fields, flags: Fields): Fields {
  return ALL_SETTINGS.reduce((fields, { flag, field, kind }) => {
    const value = flag === undefined ? undefined : flags[flagKey(flag)];
    if (field === undefined || value === undefined) return fields;
    return withMember(fields, field.split('.'), kind.toField?.(value) ?? value);
  }, file);
}

function withMember(fields: Fields, [name = '', ...rest]: readonly string[], value: unknown): Fields {
  if (rest.length === 0) return { ...fields, [name]: value };
  return { ...fields, [name]: withMember((fields[name] ?? {}) as Fields, rest, value) };
}

/** Fields without a row in a table: flag, file and default are already put together. */
function ownFields(config: StateletConfig): Fields {
  const { flags, file } = config.given;
  const { staticPodPath, podLogsDir, healthz, maxPods, containerRuntimeEndpoint, logging } = config;
  return {
    podLogsDir,
    maxPods,
    featureGates: config.featureGates,
    containerRuntimeEndpoint,
    ...(staticPodPath !== undefined && { staticPodPath }),
    syncFrequency: goDuration(config.syncFrequencyMs),
    fileCheckFrequency: goDuration(config.fileCheckFrequencyMs),
    httpCheckFrequency: goDuration(config.httpCheckFrequencyMs),
    serializeImagePulls: config.node.serializeImagePulls,
    healthzPort: healthz?.port ?? 0,
    healthzBindAddress: healthz?.host ?? flags.healthzBindAddress ?? file.healthzBindAddress ?? '',
    logging: { ...file.logging, ...logging },
  };
}

/** Unless given, the period of reports follows the period of updates. */
function reportFrequency({ nodeStatusUpdateFrequency, nodeStatusReportFrequency }: Fields): Fields {
  const updateMs = msOf(nodeStatusUpdateFrequency);
  if (updateMs === 0 || msOf(nodeStatusReportFrequency) !== 0) return {};
  return { nodeStatusReportFrequency: goDuration(updateMs) };
}

function msOf(duration: unknown): number {
  return typeof duration === 'string' ? (parseDuration(duration) ?? 0) : 0;
}

/** The kubelet shows these values; they may hold passwords. */
function withoutSecrets({ staticPodURL, staticPodURLHeader }: StateletConfig): Fields {
  const names = Object.keys(staticPodURLHeader);
  return {
    ...(staticPodURL !== undefined && { staticPodURL: shownURL(staticPodURL) }),
    ...(names.length > 0 && {
      staticPodURLHeader: Object.fromEntries(names.map((name) => [name, ['<masked>']])),
    }),
  };
}

/** All fields that have a value, in the order of the schema. */
function complete(schema: Schema, given: Fields, defaults: Fields): Fields {
  const members = Object.entries(schema.properties ?? {});
  return Object.fromEntries(
    members.flatMap(([name, member]) => {
      const value = valueOf(name, member, given[name], defaults[name]);
      return value === undefined ? [] : [[name, value] as const];
    }),
  );
}

function valueOf(name: string, schema: Schema, given: unknown, byDefault: unknown): unknown {
  if (schema.properties !== undefined) {
    if (given === undefined && byDefault === undefined) return undefined;
    return complete(schema, (given ?? {}) as Fields, (byDefault ?? {}) as Fields);
  }
  const value = isGiven(name, schema, given) ? given : byDefault;
  if (value === undefined || isEmpty(value)) return undefined;
  if (isDuration(schema)) return goDuration(msOf(value));
  return schema.type === 'object' ? sorted(value as Fields) : value;
}

/** As Go writes maps. */
function sorted(map: Fields): Fields {
  return Object.fromEntries(Object.entries(map).sort(([one], [other]) => (one < other ? -1 : 1)));
}

function isGiven(name: string, schema: Schema, value: unknown): boolean {
  if (value === undefined || value === '') return false;
  if (isDuration(schema)) return msOf(value) !== 0;
  return !(ZERO_MEANS_NOT_GIVEN.has(name) && (value === 0 || value === false));
}

/** An empty list or object says that there is none: it is not shown, and the default does not count. */
function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}

function isDuration({ format }: Schema): boolean {
  return format === 'duration' || format === 'frequency' || format === 'restartPeriod';
}
