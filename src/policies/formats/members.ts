/** The object without these members. */
export function without<T extends object, Key extends keyof T>(value: T, keys: readonly Key[]): Omit<T, Key> {
  const left = Object.entries(value).filter(([key]) => !keys.includes(key as Key));
  return Object.fromEntries(left) as Omit<T, Key>;
}

/** Of the object only these members. */
export function only<T extends object, Key extends keyof T>(value: T, keys: readonly Key[]): Pick<T, Key> {
  const taken = Object.entries(value).filter(([key]) => keys.includes(key as Key));
  return Object.fromEntries(taken) as Pick<T, Key>;
}
