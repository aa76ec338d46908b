/** The arguments of a tool in short: `(city, days?)`. Empty where its schema names none. */
export function signatureOf(inputSchemaJson: string): string {
  const schema = objectOf(inputSchemaJson === '' ? undefined : JSON.parse(inputSchemaJson));
  const names = Object.keys(objectOf(schema['properties']));
  const required = schema['required'];
  const needed = new Set<unknown>(Array.isArray(required) ? required : []);
  const inOrder = [...names.filter((name) => needed.has(name)), ...names.filter((name) => !needed.has(name))];
  return inOrder.length === 0
    ? ''
    : `(${inOrder.map((name) => (needed.has(name) ? name : `${name}?`)).join(', ')})`;
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}
