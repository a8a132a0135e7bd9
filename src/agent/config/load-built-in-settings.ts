/** Settings of the built-in eviction plugins. Flags and fields have Katalyst's names where it has them. */
import { DEFAULT_BUILT_IN_SETTINGS } from '../policies/eviction-plugins/built-in/built-in-settings.ts';
import type { BuiltInSettings } from '../../types/built-in-thresholds.ts';
import { CPU_ROWS } from './built-in-cpu-rows.ts';
import { RESOURCE_ROWS } from './built-in-resource-rows.ts';
import type { Row, Rows } from './built-in-rows.ts';
import { type GivenSettings, resolveSettings, type Setting } from './setting.ts';

const ROWS: Rows = { ...RESOURCE_ROWS, ...CPU_ROWS };

type Table<Group extends keyof BuiltInSettings> = {
  readonly [Name in keyof BuiltInSettings[Group]]: Setting<BuiltInSettings[Group][Name]>;
};

const GROUPS = Object.keys(ROWS) as (keyof BuiltInSettings)[];

/** The rows of a group, with their defaults. */
function tableOf<Group extends keyof BuiltInSettings>(group: Group): Table<Group> {
  const defaults = DEFAULT_BUILT_IN_SETTINGS[group];
  const rows = Object.entries(ROWS[group] as unknown as Readonly<Record<string, Row<unknown>>>);
  return Object.fromEntries(
    rows.map(([name, row]) => [name, { ...row, default: defaults[name as keyof typeof defaults] }]),
  ) as unknown as Table<Group>;
}

/** All rows, with the values that they have in `settings`. */
export function builtInRows(
  settings: BuiltInSettings,
): readonly { readonly row: Setting; readonly value: unknown }[] {
  return GROUPS.flatMap((group) => {
    const values: Readonly<Record<string, unknown>> = { ...settings[group] };
    return Object.entries<Setting>(tableOf(group) as never).map(([name, row]) => ({
      row,
      value: values[name],
    }));
  });
}

export const ALL_BUILT_IN_SETTINGS: readonly Setting[] = builtInRows(DEFAULT_BUILT_IN_SETTINGS).map(
  ({ row }) => row,
);

/** `file` has the object `evictionPlugins`. Throws `InvalidArgument`; the message names the flag or the field whose value is not valid. */
export function resolveBuiltInSettings(given: GivenSettings): BuiltInSettings {
  return Object.fromEntries(
    GROUPS.map((group) => [group, resolveSettings(tableOf(group), given)]),
  ) as unknown as BuiltInSettings;
}
