/** What ajv reports, with the part of the schema and the value concerned. */
export interface SchemaError {
  readonly instancePath: string;
  readonly keyword: string;
  readonly params: Readonly<Record<string, unknown>>;
  /** Set where the name of a member, not its value, is wrong. */
  readonly propertyName?: string;
  readonly parentSchema?: { readonly properties?: object; readonly description?: string };
  readonly data?: unknown;
}
