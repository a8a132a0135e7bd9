/** A proxy for an object that is created later. */
export function later<T extends object>(what: string, current: () => T | undefined): T {
  const get = (_: T, key: string | symbol): unknown => {
    const object = current();
    if (object === undefined) throw new Error(`${what} is not there before the tests run`);
    const value: unknown = Reflect.get(object, key);
    return typeof value === 'function' ? (value.bind(object) as unknown) : value;
  };
  return new Proxy({} as T, { get });
}
