import type { Form, Slot } from './forms.ts';

/** What a slot gets in one set of arguments; undefined leaves it out. */
export type SlotValue = (slot: Slot) => { readonly values: readonly unknown[] } | undefined;

/** A value of a form; undefined where something that is required has no value. */
export function build(form: Form, told: SlotValue): { readonly value: unknown } | undefined {
  switch (form.kind) {
    case 'fixed':
      return { value: form.value };
    case 'slot': {
      const found = told(form.slot);
      if (found !== undefined && found.values.length > 0) return { value: found.values[0] };
      return form.nullable ? { value: null } : undefined;
    }
    case 'list':
      return buildList(form, told);
    case 'object': {
      const members: [string, unknown][] = [];
      for (const { key, required, form: inner } of form.members) {
        const built = required || isTold(inner, told) ? build(inner, told) : undefined;
        if (built === undefined && required) return undefined;
        if (built !== undefined) members.push([key, built.value]);
      }
      // Keys are data: an assignment to __proto__ would be lost (1.6).
      return { value: Object.fromEntries(members) };
    }
  }
}

function buildList(
  form: Extract<Form, { kind: 'list' }>,
  told: SlotValue,
): { readonly value: unknown } | undefined {
  if (form.item.kind === 'slot') {
    const values = told(form.item.slot)?.values ?? [];
    if (values.length < Math.max(form.minItems, 1)) return undefined;
    return { value: values.slice(0, form.maxItems) };
  }
  const item = build(form.item, told);
  return item === undefined || form.minItems > 1 ? undefined : { value: [item.value] };
}

/** Whether a text says anything for a form: what is optional and not spoken of is left out. */
function isTold(form: Form, told: SlotValue): boolean {
  switch (form.kind) {
    case 'fixed':
      return false;
    case 'slot':
      return (told(form.slot)?.values.length ?? 0) > 0;
    case 'list':
      return isTold(form.item, told);
    case 'object':
      return form.members.some((member) => isTold(member.form, told));
  }
}

/** The required slots without a value, of what has to be there or is spoken of. */
export function missingIn(form: Form, told: SlotValue): Slot[] {
  switch (form.kind) {
    case 'fixed':
      return [];
    case 'slot':
      return form.nullable || isTold(form, told) ? [] : [form.slot];
    case 'list':
      return missingIn(form.item, told);
    case 'object':
      return form.members.flatMap((member) =>
        member.required || isTold(member.form, told) ? missingIn(member.form, told) : [],
      );
  }
}
