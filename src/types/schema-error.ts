/** A part of a JSON schema. */
export interface Schema {
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, Schema>>;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
}

/** An error of ajv, with its part of the schema and the value. */
export interface SchemaError {
  readonly instancePath: string;
  readonly keyword: string;
  readonly params: Readonly<Record<string, unknown>>;
  /** Set when the name of a member is wrong, not its value. */
  readonly propertyName?: string;
  readonly parentSchema?: { readonly properties?: object; readonly description?: string };
  readonly data?: unknown;
}
