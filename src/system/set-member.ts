/** Gives the object a member of that name, whatever the name: an assignment would take `__proto__` for the prototype. */
export function setMember(object: Record<string, unknown>, name: string, value: unknown): void {
  if (name === '__proto__') Object.defineProperty(object, name, { value, ...OWN_MEMBER });
  else object[name] = value;
}

const OWN_MEMBER = { enumerable: true, writable: true, configurable: true };
